//! A world in memory for one transaction machine: its log, the partitions that transactions write to, and a process that
//! can die after any append. Partitions know as much of producers as a real log does.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_coordinator::{
    Append, AppendFailure, Begun, Identity, Machine as _, MarkerOrder, MarkerOutcome, Now, Partitions,
    Record, Token, Transaction, TransactionConfig, TransactionEffects, TransactionEvent, TransactionMachine,
    TransactionReply,
};
use ottla_model::{ErrorCode, LeaderEpoch, PartitionIndex, ProducerEpoch, ProducerId};

pub(crate) const TOPIC: &str = "t";

/// The process is dead: what was appended stays, everything else is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Died;

/// What lies in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A record of the transaction with this number.
    Data {
        producer_id: ProducerId,
        transaction: u64,
    },
    Marker {
        producer_id: ProducerId,
        epoch: ProducerEpoch,
        committed: bool,
    },
}

/// What a partition knows of a producer.
#[derive(Debug, Clone, Copy)]
struct Known {
    epoch: ProducerEpoch,
    is_open: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Partition {
    pub(crate) entries: Vec<Entry>,
    producers: BTreeMap<i64, Known>,
    /// Markers cannot be written at the moment.
    pub(crate) is_away: bool,
}

impl Partition {
    fn is_open(&self, producer_id: ProducerId, epoch: ProducerEpoch) -> bool {
        self.producers.get(&producer_id.get()).is_some_and(|known| known.is_open && known.epoch == epoch)
    }

    pub(crate) fn has_open(&self) -> bool {
        self.producers.values().any(|known| known.is_open)
    }

    /// How each transaction with records here has ended, as far as it has.
    pub(crate) fn outcomes(&self) -> Vec<(u64, bool)> {
        let mut outcomes = Vec::new();
        for (place, entry) in self.entries.iter().enumerate() {
            let Entry::Data { producer_id: of, transaction } = *entry else { continue };
            let end = self.entries[place..].iter().find_map(|entry| match entry {
                Entry::Marker { producer_id, committed, .. } if *producer_id == of => Some(*committed),
                _ => None,
            });
            outcomes.extend(end.map(|committed| (transaction, committed)));
        }
        outcomes
    }
}

pub(crate) struct World {
    pub(crate) machine: TransactionMachine,
    pub(crate) log: Vec<Record>,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) now_ms: i64,
    pub(crate) config: TransactionConfig,
    /// What every append to the machine's log answers, if not success.
    pub(crate) failure: Option<AppendFailure>,
    /// After so many more appends, anywhere, the process dies.
    pub(crate) appends_left: Option<u64>,
    pub(crate) appends: u64,
    lives: i32,
    asked: u64,
    next_producer_id: i64,
    deadline: Option<i64>,
}

impl World {
    pub(crate) fn new(partitions: usize) -> Self {
        let config = TransactionConfig::default();
        let machine = TransactionMachine::new(Arc::new(config.clone()), LeaderEpoch::new(0));
        let mut world = Self {
            machine,
            log: Vec::new(),
            partitions: (0..partitions).map(|_| Partition::default()).collect(),
            now_ms: 1_000_000,
            config,
            failure: None,
            appends_left: None,
            appends: 0,
            lives: 0,
            asked: 0,
            next_producer_id: 100,
            deadline: None,
        };
        world.start().expect("nothing is to be done in an empty log");
        world
    }

    fn now(&self) -> Now {
        Now::same(self.now_ms)
    }

    /// Another process begins with what is in the log.
    pub(crate) fn start(&mut self) -> Result<(), Died> {
        let epoch = LeaderEpoch::new(self.lives);
        self.lives += 1;
        self.machine = TransactionMachine::new(Arc::new(self.config.clone()), epoch);
        for record in &self.log {
            let (key, value) = (record.key.clone(), record.value.clone());
            self.machine.replay(key, value, None).expect("what was written can be read");
        }
        let effects = self.machine.loaded(self.now());
        self.carry_out(effects, None).map(drop)
    }

    fn note_append(&mut self) -> Result<(), Died> {
        self.appends += 1;
        match &mut self.appends_left {
            Some(0) => panic!("a dead process appends nothing"),
            Some(left) => {
                *left -= 1;
                if *left == 0 {
                    self.appends_left = None;
                    return Err(Died);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(crate) fn ask(&mut self, event: TransactionEvent) -> Result<TransactionReply, Died> {
        self.asked += 1;
        let token = Token(self.asked);
        let effects = self.machine.handle(event, token, self.now());
        Ok(self.carry_out(effects, Some(token))?.expect("it is answered at once"))
    }

    fn carry_out(
        &mut self,
        effects: TransactionEffects,
        token: Option<Token>,
    ) -> Result<Option<TransactionReply>, Died> {
        let TransactionEffects { append, mut replies, mut compute, mut deadline } = effects;
        if let Append::Records { records, transaction } = append {
            assert_eq!(transaction, None, "nobody writes to this log within a transaction");
            let outcome = self.failure.map_or(Ok(()), Err);
            if outcome.is_ok() {
                self.log.extend(records);
                self.note_append()?;
            }
            let settled = self.machine.settle(outcome, self.now());
            assert!(settled.append.is_nothing(), "settling asks for no append");
            replies.extend(settled.replies);
            compute.extend(settled.compute);
            deadline = settled.deadline;
        }
        self.deadline = deadline;
        for order in compute {
            let outcome = self.mark(&order)?;
            let effects = self.machine.handle(TransactionEvent::Marked(outcome), Token(0), self.now());
            self.carry_out(effects, None)?;
        }
        Ok(replies.into_iter().find(|answer| Some(answer.token) == token).map(|answer| answer.reply))
    }

    fn mark(&mut self, order: &MarkerOrder) -> Result<MarkerOutcome, Died> {
        let mut unwritten = Partitions::new();
        for (topic, indexes) in &order.partitions {
            for index in indexes {
                let place = usize::try_from(index.get()).expect("a partition's number");
                if self.partitions[place].is_away {
                    unwritten.entry(topic.clone()).or_default().insert(*index);
                } else {
                    self.mark_one(place, order)?;
                }
            }
        }
        Ok(MarkerOutcome {
            id: order.id.clone(),
            producer_id: order.producer_id,
            producer_epoch: order.producer_epoch,
            unwritten,
            superseded: false,
        })
    }

    fn mark_one(&mut self, place: usize, order: &MarkerOrder) -> Result<(), Died> {
        let partition = &mut self.partitions[place];
        let epoch = order.producer_epoch;
        let known = partition.producers.get(&order.producer_id.get()).copied();
        if order.may_be_written && known.is_some_and(|known| !known.is_open && known.epoch >= epoch) {
            return Ok(());
        }
        if let Some(known) = known {
            assert!(epoch >= known.epoch, "a marker of an epoch that is over: {order:?}");
            assert!(!(order.epoch_raised && known.is_open && epoch == known.epoch), "not raised: {order:?}");
        }
        partition.producers.insert(order.producer_id.get(), Known { epoch, is_open: false });
        let (producer_id, committed) = (order.producer_id, order.committed);
        partition.entries.push(Entry::Marker { producer_id, epoch, committed });
        self.note_append()
    }

    /// Lets time pass, doing on the way what is due.
    pub(crate) fn advance(&mut self, ms: i64) -> Result<(), Died> {
        let end = self.now_ms + ms;
        while let Some(due) = self.deadline.filter(|due| *due <= end) {
            self.now_ms = self.now_ms.max(due);
            let effects = self.machine.tick(self.now());
            self.carry_out(effects, None)?;
        }
        self.now_ms = end;
        Ok(())
    }

    pub(crate) fn transaction(&self, id: &str) -> &Transaction {
        self.machine.transaction(&id.into()).expect("it is known")
    }

    /// InitProducerId, with a new producer id where it takes one.
    pub(crate) fn init(
        &mut self,
        id: &str,
        timeout_ms: i32,
        expected: Option<Begun>,
    ) -> Result<Result<Begun, ErrorCode>, Died> {
        let expected = expected.map(|begun| (begun.producer_id, begun.producer_epoch));
        let event = |fresh| TransactionEvent::InitProducerId { id: id.into(), timeout_ms, expected, fresh };
        match self.ask(event(None))? {
            TransactionReply::Begun(begun) => Ok(begun),
            TransactionReply::NeedsProducerId => {
                let fresh = self.fresh();
                match self.ask(event(Some(fresh)))? {
                    TransactionReply::Begun(begun) => Ok(begun),
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn fresh(&mut self) -> ProducerId {
        self.next_producer_id += 1;
        ProducerId::new(self.next_producer_id)
    }

    pub(crate) fn add(
        &mut self,
        by: &Identity,
        partition: usize,
        client_version: i16,
    ) -> Result<ErrorCode, Died> {
        let event =
            TransactionEvent::AddPartitions { by: by.clone(), partitions: one(partition), client_version };
        match self.ask(event)? {
            TransactionReply::Added(code) => Ok(code),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn verify(&mut self, by: &Identity, partition: usize) -> Result<ErrorCode, Died> {
        match self.ask(TransactionEvent::Verify { by: by.clone(), partitions: one(partition) })? {
            TransactionReply::Verified(verified) => Ok(verified[0].2),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn end(
        &mut self,
        by: &Identity,
        committed: bool,
        client_version: i16,
    ) -> Result<Result<Option<Begun>, ErrorCode>, Died> {
        let event = |fresh| TransactionEvent::End { by: by.clone(), committed, client_version, fresh };
        match self.ask(event(None))? {
            TransactionReply::Ended(ended) => Ok(ended),
            TransactionReply::NeedsProducerId => {
                let fresh = self.fresh();
                match self.ask(event(Some(fresh)))? {
                    TransactionReply::Ended(ended) => Ok(ended),
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    /// A record, with the question that a partition asks first. The transaction is the writer's own number for it.
    pub(crate) fn write(
        &mut self,
        by: &Identity,
        partition: usize,
        client_version: i16,
        transaction: u64,
    ) -> Result<ErrorCode, Died> {
        let (producer_id, epoch) = (by.producer_id, by.producer_epoch);
        if !self.partitions[partition].is_open(producer_id, epoch) {
            let code = match client_version {
                0 => self.verify(by, partition)?,
                _ => self.add(by, partition, client_version)?,
            };
            if !code.is_none() {
                return Ok(code);
            }
        }
        let known = &mut self.partitions[partition].producers;
        if known.get(&producer_id.get()).is_some_and(|known| known.epoch > epoch) {
            return Ok(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        known.insert(producer_id.get(), Known { epoch, is_open: true });
        self.partitions[partition].entries.push(Entry::Data { producer_id, transaction });
        self.note_append()?;
        Ok(ErrorCode::NONE)
    }
}

fn one(partition: usize) -> Partitions {
    let index = PartitionIndex::new(i32::try_from(partition).expect("a partition's number"));
    Partitions::from([(TOPIC.into(), [index].into())])
}

pub(crate) fn identity(id: &str, begun: Begun) -> Identity {
    Identity { id: id.into(), producer_id: begun.producer_id, producer_epoch: begun.producer_epoch }
}
