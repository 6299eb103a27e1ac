//! One machine behind its lock, with the partition that it lives in and those who wait for its answers.
//!
//! Life: loading → serving → gone. While it loads, news of the cluster is kept for it; requests are refused by those who
//! ask (`group.rs`). Gone is for good: who becomes leader again gets a new shard.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use ottla_coordinator::{Answer, AppendFailure, Effects, Leaves, Machine, Now, Token};
use ottla_model::compression::Compression;
use ottla_model::{ErrorCode, LeaderEpoch, Offset};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::append::append;
use super::deadlines::NEVER;
use crate::partition::Partition;

/// So many things that are due are done at one go; then others get at the machine.
const TICKS_PER_TURN: usize = 256;

/// An answer on its way.
#[derive(Debug)]
pub(crate) struct Delivery<R> {
    pub(crate) reply: R,
    /// It may not leave before the high watermark is here; none if it may.
    pub(crate) after: Option<Uncommitted>,
}

/// What an answer waits for.
#[derive(Debug, Clone)]
pub(crate) struct Uncommitted {
    pub(crate) partition: Arc<Partition>,
    /// The log end when the answer was made.
    pub(crate) end: Offset,
}

/// What became of an event that asks something.
#[derive(Debug)]
pub(crate) enum Asked<R> {
    /// The answer.
    Answered(Delivery<R>),
    /// The answer will come; an error if it never does, since the broker stops.
    Parked(oneshot::Receiver<Delivery<R>>),
}

/// An answer with whoever waits for it.
pub(super) type Late<R> = (oneshot::Sender<Delivery<R>>, Delivery<R>);
/// Work, and what has to be committed before it may begin.
pub(crate) type Work<M> = (<M as Machine>::Work, Option<Uncommitted>);

/// What is to be done once the lock is let go.
#[derive(Debug)]
pub(super) struct Outbox<M: Machine> {
    /// Whoever asks now and is not parked yet, and the answer to it.
    asker: Option<Token>,
    own: Option<Delivery<M::Reply>>,
    deliveries: Vec<Late<M::Reply>>,
    work: Vec<Work<M>>,
}

impl<M: Machine> Outbox<M> {
    /// The answers to others with those who wait for them, and the work for others.
    pub(super) fn into_parts(self) -> (Vec<Late<M::Reply>>, Vec<Work<M>>) {
        (self.deliveries, self.work)
    }
}

impl<M: Machine> Default for Outbox<M> {
    fn default() -> Self {
        Self { asker: None, own: None, deliveries: Vec::new(), work: Vec::new() }
    }
}

/// One partition's machine.
#[derive(Debug)]
pub(crate) struct Shard<M: Machine> {
    pub(super) partition: Arc<Partition>,
    /// The epoch in which this broker began to lead.
    pub(super) epoch: LeaderEpoch,
    compression: Compression,
    /// When something of the machine's is due.
    deadline_ms: AtomicI64,
    /// The machine panicked: what it was in the middle of is not known.
    is_broken: AtomicBool,
    state: Mutex<State<M>>,
}

#[derive(Debug)]
enum State<M: Machine> {
    Loading { news: Vec<M::Event> },
    Serving(Box<Serving<M>>),
    Gone,
}

#[derive(Debug)]
struct Serving<M: Machine> {
    machine: M,
    waiting: HashMap<Token, oneshot::Sender<Delivery<M::Reply>>>,
}

impl<M: Machine> Shard<M> {
    pub(super) fn loading(partition: Arc<Partition>, epoch: LeaderEpoch, compression: Compression) -> Self {
        Self {
            partition,
            epoch,
            compression,
            deadline_ms: AtomicI64::new(NEVER),
            is_broken: AtomicBool::new(false),
            state: Mutex::new(State::Loading { news: Vec::new() }),
        }
    }

    /// Whether another shard should take this one's place, with a machine that is loaded anew.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    pub(super) fn deadline_ms(&self) -> i64 {
        self.deadline_ms.load(Ordering::SeqCst)
    }

    /// The machine is loaded: it serves from now on, unless the partition is gone meanwhile.
    pub(super) fn serve(&self, machine: M, now: Now, outbox: &mut Outbox<M>) {
        self.contained(outbox, |state, outbox| self.begin_serving(machine, now, state, outbox));
    }

    fn begin_serving(&self, mut machine: M, now: Now, state: &mut State<M>, outbox: &mut Outbox<M>) {
        let State::Loading { news } = state else { return };
        let news = std::mem::take(news);
        let effects = machine.loaded(now);
        let mut serving = Box::new(Serving { machine, waiting: HashMap::new() });
        let mut kept = serving.carry_out(self, effects, now, outbox);
        for event in news {
            // Nobody waits for an answer to news, so the token is never used.
            let effects = serving.machine.handle(event, Token(0), now);
            kept = kept.and(serving.carry_out(self, effects, now, outbox));
        }
        *state = State::Serving(serving);
        if kept.is_err() {
            self.leave(state, outbox);
        }
    }

    /// The partition could not be loaded, or is led elsewhere: everybody who waits is told, and so is who asks later.
    pub(super) fn unload(&self, outbox: &mut Outbox<M>) {
        self.leave(&mut self.state.lock(), outbox);
    }

    /// Gives the machine an event that asks something.
    pub(super) fn ask(
        &self,
        event: M::Event,
        token: Token,
        now: Now,
        outbox: &mut Outbox<M>,
    ) -> Asked<M::Reply> {
        let asked =
            self.contained(outbox, |state, outbox| self.ask_machine(event, token, now, state, outbox));
        // A channel that nobody sends to: the connection is closed.
        asked.unwrap_or_else(|| Asked::Parked(oneshot::channel().1))
    }

    fn ask_machine(
        &self,
        event: M::Event,
        token: Token,
        now: Now,
        state: &mut State<M>,
        outbox: &mut Outbox<M>,
    ) -> Asked<M::Reply> {
        let serving = match state {
            State::Serving(_) if self.partition.check_writable().is_err() => {
                self.leave(state, outbox);
                return refused::<M>(&event, ErrorCode::NOT_COORDINATOR);
            }
            State::Serving(serving) => serving,
            State::Loading { .. } => return refused::<M>(&event, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
            State::Gone => return refused::<M>(&event, ErrorCode::NOT_COORDINATOR),
        };
        let effects = serving.machine.handle(event, token, now);
        outbox.asker = Some(token);
        let kept = serving.carry_out(self, effects, now, outbox);
        let asked = match outbox.own.take() {
            Some(delivery) => Asked::Answered(delivery),
            None => {
                let (sender, receiver) = oneshot::channel();
                serving.waiting.insert(token, sender);
                Asked::Parked(receiver)
            }
        };
        if kept.is_err() {
            self.leave(state, outbox);
        }
        asked
    }

    /// Looks at the machine, which stands still meanwhile; none while it does not serve.
    pub(super) fn look<T>(&self, look: impl FnOnce(&M) -> T) -> Option<T> {
        match &*self.state.lock() {
            State::Serving(serving) => Some(look(&serving.machine)),
            State::Loading { .. } | State::Gone => None,
        }
    }

    /// Gives the machine an event that has no answer.
    pub(super) fn tell(&self, event: M::Event, now: Now, outbox: &mut Outbox<M>) {
        self.contained(outbox, |state, outbox| match state {
            State::Serving(serving) => {
                let effects = serving.machine.handle(event, Token(0), now);
                if serving.carry_out(self, effects, now, outbox).is_err() {
                    self.leave(state, outbox);
                }
            }
            State::Loading { news } => news.push(event),
            State::Gone => {}
        });
    }

    /// Does what is due. A partition that cannot be written any more is given up.
    pub(super) fn tick(&self, now: impl Fn() -> Now, outbox: &mut Outbox<M>) {
        self.contained(outbox, |state, outbox| self.tick_machine(now, state, outbox));
    }

    fn tick_machine(&self, now: impl Fn() -> Now, state: &mut State<M>, outbox: &mut Outbox<M>) {
        let State::Serving(serving) = state else { return };
        let mut kept = self.partition.check_writable().map_err(|_| AppendFailure::NotLeader);
        for _ in 0..TICKS_PER_TURN {
            let now = now();
            if kept.is_err() || self.deadline_ms() > now.steady_ms {
                break;
            }
            let effects = serving.machine.tick(now);
            kept = serving.carry_out(self, effects, now, outbox);
        }
        if kept.is_err() {
            self.leave(state, outbox);
        }
    }

    /// Runs what touches the machine. A panic there ends the machine and nothing else: its waiters' connections are
    /// closed, and another one is loaded from the log, where everything is that was acknowledged.
    fn contained<T>(
        &self,
        outbox: &mut Outbox<M>,
        run: impl FnOnce(&mut State<M>, &mut Outbox<M>) -> T,
    ) -> Option<T> {
        let mut state = self.state.lock();
        let done = catch_unwind(AssertUnwindSafe(|| run(&mut state, outbox)));
        if done.is_err() {
            tracing::error!(partition = %self.partition.name(), "a coordinator panicked: it is loaded anew");
            self.deadline_ms.store(NEVER, Ordering::SeqCst);
            *state = State::Gone;
            *outbox = Outbox::default();
            self.is_broken.store(true, Ordering::Release);
        }
        done.ok()
    }

    fn leave(&self, state: &mut State<M>, outbox: &mut Outbox<M>) {
        let State::Serving(serving) = std::mem::replace(state, State::Gone) else { return };
        let Serving { machine, mut waiting } = *serving;
        self.deadline_ms.store(NEVER, Ordering::SeqCst);
        for Answer { token, reply, .. } in machine.unload() {
            if let Some(sender) = waiting.remove(&token) {
                outbox.deliveries.push((sender, Delivery { reply, after: None }));
            }
        }
    }
}

impl<M: Machine> Serving<M> {
    /// Does what the machine wants done: the append first, then the answers. Fails when the partition cannot be kept.
    fn carry_out(
        &mut self,
        shard: &Shard<M>,
        effects: Effects<M::Reply, M::Work>,
        now: Now,
        outbox: &mut Outbox<M>,
    ) -> Result<(), AppendFailure> {
        let Effects { append: wanted, mut replies, mut compute, mut deadline } = effects;
        let mut kept = Ok(());
        if !wanted.is_nothing() {
            let appended = append(&shard.partition, &wanted, shard.compression, now.wall_ms);
            if appended == Err(AppendFailure::NotLeader) {
                kept = appended;
            }
            let settled = self.machine.settle(appended, now);
            replies.extend(settled.replies);
            compute.extend(settled.compute);
            deadline = settled.deadline;
        }
        shard.deadline_ms.store(deadline.unwrap_or(NEVER), Ordering::SeqCst);
        let positions = shard.partition.positions();
        let waits = |leaves| {
            let waits = leaves == Leaves::WhenCommitted && positions.high_watermark < positions.log_end;
            waits.then(|| Uncommitted { partition: Arc::clone(&shard.partition), end: positions.log_end })
        };
        outbox.work.extend(compute.into_iter().map(|work| (work, waits(M::WORK_BEGINS))));
        for Answer { token, reply, leaves } in replies {
            let delivery = Delivery { reply, after: waits(leaves) };
            if outbox.asker == Some(token) {
                outbox.own = Some(delivery);
            } else if let Some(sender) = self.waiting.remove(&token) {
                outbox.deliveries.push((sender, delivery));
            }
        }
        kept
    }
}

/// The answer where there is no machine.
pub(super) fn refused<M: Machine>(event: &M::Event, code: ErrorCode) -> Asked<M::Reply> {
    let reply = M::refusal(event, code).expect("an event that asks something has an answer");
    Asked::Answered(Delivery { reply, after: None })
}

#[cfg(test)]
pub(super) mod tests {
    use ottla_coordinator::{Client, Event, GroupConfig, GroupMachine, Reply, TopicTable};
    use ottla_model::batch::BatchRules;
    use ottla_model::{NodeId, Uuid};
    use ottla_protocol::messages::heartbeat::HeartbeatRequest;
    use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
    use ottla_protocol::messages::offset_commit::{
        OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
    };
    use ottla_protocol::messages::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
    use ottla_storage::{LogConfig, LogDir, TopicPartition};
    use tempfile::TempDir;

    use super::super::load;
    use super::*;
    use crate::partition::settings::PartitionSettings;
    use crate::partition::waiters::ReadyLists;
    use crate::partition::{Leadership, PartitionParts};

    const NOW: Now = Now::same(1_000);

    /// A partition of groups in a directory of its own.
    pub(in super::super) struct World {
        pub(in super::super) partition: Arc<Partition>,
        _folder: TempDir,
    }

    impl World {
        pub(in super::super) fn new() -> Self {
            let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
            let directory = Arc::new(LogDir::open(folder.path()).expect("an empty folder opens"));
            directory.load(1, 0, &|_| LogConfig::default()).expect("an empty folder loads");
            let name = TopicPartition { topic: "__consumer_offsets".into(), partition: 0.into() };
            let config = LogConfig::default();
            let log =
                directory.create_log(&name, Uuid::ONE, config.clone(), 0).expect("there is room for a log");
            let settings = PartitionSettings {
                log: config,
                rules: BatchRules::default(),
                min_insync_replicas: 1,
                flush_interval: None,
            };
            let parts = PartitionParts {
                name,
                topic_id: Uuid::ONE,
                log,
                directory,
                flush: Arc::default(),
                settings: Arc::new(settings),
                high_watermark: Offset::ZERO,
                ready: ReadyLists::new(1),
            };
            let leadership = Leadership {
                leader: NodeId::new(1),
                epoch: LeaderEpoch::new(0),
                replicas: 1,
                in_sync: 1,
                here: true,
            };
            Self { partition: Partition::new(parts, leadership), _folder: folder }
        }

        fn shard(&self) -> Shard<GroupMachine> {
            Shard::loading(Arc::clone(&self.partition), LeaderEpoch::new(0), Compression::NONE)
        }

        /// A shard whose machine is what the log says.
        fn serving(&self) -> Shard<GroupMachine> {
            let shard = self.shard();
            let mut machine =
                GroupMachine::new(Arc::new(GroupConfig::default()), Arc::new(TopicTable::default()));
            load::load(&self.partition, &mut machine, 64).expect("the log loads");
            shard.serve(machine, NOW, &mut Outbox::default());
            shard
        }
    }

    fn ask(shard: &Shard<GroupMachine>, event: Event, token: u64) -> Asked<Reply> {
        shard.ask(event, Token(token), NOW, &mut Outbox::default())
    }

    pub(in super::super) fn commit(offset: i64) -> Event {
        let partition = OffsetCommitRequestPartition {
            partition_index: 0.into(),
            committed_offset: Offset::new(offset),
            ..OffsetCommitRequestPartition::default()
        };
        let topic =
            OffsetCommitRequestTopic { name: "t".into(), topic_id: Uuid::ONE, partitions: vec![partition] };
        let request = OffsetCommitRequest {
            group_id: "g".into(),
            topics: vec![topic],
            ..OffsetCommitRequest::default()
        };
        Event::OffsetCommit { client: Client::default(), request }
    }

    /// In its oldest version, in which a member need not come back with an id.
    pub(in super::super) fn join() -> Event {
        let request = JoinGroupRequest {
            group_id: "g".into(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 10_000,
            protocol_type: "consumer".into(),
            protocols: vec![JoinGroupRequestProtocol { name: "range".into(), ..Default::default() }],
            ..JoinGroupRequest::default()
        };
        Event::JoinGroup { client: Client::default(), request, random: [7; 16] }
    }

    pub(in super::super) fn fetch() -> Event {
        let topic = OffsetFetchRequestTopics {
            name: "t".into(),
            topic_id: Uuid::ONE,
            partition_indexes: vec![0.into()],
        };
        let request = OffsetFetchRequestGroup {
            group_id: "g".into(),
            topics: Some(vec![topic]),
            ..OffsetFetchRequestGroup::default()
        };
        Event::OffsetFetch { client: Client::default(), request, require_stable: false }
    }

    /// The error of an answer that is there, and the offset of a fetch.
    pub(in super::super) fn told(asked: Asked<Reply>) -> (ErrorCode, Option<i64>) {
        let Asked::Answered(Delivery { reply, after: None }) = asked else {
            panic!("an answer that may leave, not {asked:?}")
        };
        match reply {
            Reply::OffsetCommit(response) => (response.topics[0].partitions[0].error_code, None),
            Reply::OffsetFetch(group) => {
                let offset = group.topics.first().map(|topic| topic.partitions[0].committed_offset.get());
                (group.error_code, offset)
            }
            Reply::Heartbeat(response) => (response.error_code, None),
            other => panic!("not asked for: {other:?}"),
        }
    }

    #[test]
    fn a_shard_that_loads_says_so_and_one_that_is_gone_sends_elsewhere() {
        let world = World::new();
        let shard = world.shard();
        assert_eq!(told(ask(&shard, commit(1), 1)).0, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        let heartbeat = Event::Heartbeat { client: Client::default(), request: HeartbeatRequest::default() };
        assert_eq!(told(ask(&shard, heartbeat, 2)).0, ErrorCode::NONE, "a member is to go on");
        shard.unload(&mut Outbox::default());
        assert_eq!(told(ask(&shard, commit(1), 3)).0, ErrorCode::NOT_COORDINATOR);
    }

    #[test]
    fn what_was_committed_is_there_for_the_next_machine_of_the_log() {
        let world = World::new();
        let shard = world.serving();
        for offset in 1..=20 {
            assert_eq!(told(ask(&shard, commit(offset), 2)).0, ErrorCode::NONE);
        }
        assert_eq!(told(ask(&shard, fetch(), 3)), (ErrorCode::NONE, Some(20)));
        assert_eq!(told(ask(&world.serving(), fetch(), 4)), (ErrorCode::NONE, Some(20)));
    }

    #[test]
    fn whoever_waits_when_the_partition_leaves_is_told() {
        let world = World::new();
        let shard = world.serving();
        let Asked::Parked(mut parked) = ask(&shard, join(), 1) else {
            panic!("the first round waits for more")
        };
        assert!(shard.deadline_ms() < NEVER, "it ends by itself");
        let mut outbox = Outbox::default();
        shard.unload(&mut outbox);
        for (sender, delivery) in outbox.into_parts().0 {
            sender.send(delivery).expect("somebody waits");
        }
        let Ok(Delivery { reply: Reply::JoinGroup(response), after: None }) = parked.try_recv() else {
            panic!("the waiter is answered")
        };
        assert_eq!(response.error_code, ErrorCode::NOT_COORDINATOR);
    }

    #[test]
    fn a_partition_that_takes_no_records_any_more_is_given_up_and_nothing_is_half_done() {
        let world = World::new();
        let shard = world.serving();
        assert_eq!(told(ask(&shard, commit(1), 1)).0, ErrorCode::NONE);
        world.partition.set_removed();
        assert_eq!(told(ask(&shard, commit(2), 2)).0, ErrorCode::NOT_COORDINATOR);
        assert_eq!(told(ask(&shard, fetch(), 3)).0, ErrorCode::NOT_COORDINATOR);
        assert_eq!(shard.deadline_ms(), NEVER);
    }

    #[test]
    fn a_deadline_that_has_passed_ends_a_round() {
        let world = World::new();
        let shard = world.serving();
        let Asked::Parked(mut parked) = ask(&shard, join(), 1) else {
            panic!("the first round waits for more")
        };
        let mut outbox = Outbox::default();
        shard.tick(|| NOW, &mut outbox);
        assert!(outbox.into_parts().0.is_empty(), "nothing is due yet");
        // A newcomer may put the end off once.
        let joined = (0..3).find_map(|_| {
            let due = shard.deadline_ms();
            let mut outbox = Outbox::default();
            shard.tick(|| Now::same(due), &mut outbox);
            for (sender, delivery) in outbox.into_parts().0 {
                sender.send(delivery).expect("somebody waits");
            }
            parked.try_recv().ok()
        });
        let Some(Delivery { reply: Reply::JoinGroup(response), .. }) = joined else {
            panic!("the round has ended")
        };
        assert_eq!((response.error_code, response.generation_id), (ErrorCode::NONE, 1));
    }
}
