//! One transactional id's state, and the steps that it can take. Which event leads to which step is not decided here.

use std::collections::{BTreeMap, BTreeSet};

use ottla_model::{PartitionIndex, ProducerEpoch, ProducerId, TopicName};

/// Partitions by topic.
pub type Partitions = BTreeMap<TopicName, BTreeSet<PartitionIndex>>;

/// From this epoch on, a producer id is used up: one more is kept for whoever has to be fenced.
const EPOCH_LAST: i16 = i16::MAX - 1;
/// Since this client version, each end of a transaction raises the epoch (KIP-890).
const RAISES_EPOCH_SINCE: i16 = 2;

/// Where a transactional id stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionState {
    /// It has a producer and no transaction yet.
    Empty,
    /// Its transaction is open.
    Ongoing,
    /// Its transaction is committed; markers are being written.
    PrepareCommit,
    /// Its transaction is aborted; markers are being written.
    PrepareAbort,
    /// Its last transaction was committed.
    CompleteCommit,
    /// Its last transaction was aborted.
    CompleteAbort,
    /// It is being forgotten. Never seen here, where that is one step.
    Dead,
    /// Its producer is being fenced. Never seen here, where that is one step.
    PrepareEpochFence,
}

impl TransactionState {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Empty, "Empty"),
        (Self::Ongoing, "Ongoing"),
        (Self::PrepareCommit, "PrepareCommit"),
        (Self::PrepareAbort, "PrepareAbort"),
        (Self::CompleteCommit, "CompleteCommit"),
        (Self::CompleteAbort, "CompleteAbort"),
        (Self::Dead, "Dead"),
        (Self::PrepareEpochFence, "PrepareEpochFence"),
    ];

    /// Its name, as tools show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    /// The state of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
    }

    /// Its number in records.
    #[must_use]
    pub fn number(self) -> i8 {
        let place = Self::ALL.iter().position(|(state, _)| *state == self);
        place.and_then(|place| i8::try_from(place).ok()).unwrap_or(-1)
    }

    /// The state of this number.
    #[must_use]
    pub fn from_number(number: i8) -> Option<Self> {
        let place = usize::try_from(number).ok()?;
        Self::ALL.get(place).map(|(state, _)| *state)
    }

    /// Whether it is decided how the transaction ends, and markers are to be written.
    #[must_use]
    pub const fn is_prepared(self) -> bool {
        matches!(self, Self::PrepareCommit | Self::PrepareAbort)
    }

    /// Whether there is no transaction that would have to end.
    #[must_use]
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Empty | Self::CompleteCommit | Self::CompleteAbort)
    }
}

/// A transactional id's producer and transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The producer.
    pub producer_id: ProducerId,
    /// The producer before the last change.
    pub previous_producer_id: ProducerId,
    /// The producer once the transaction has ended, where this one's epochs are used up.
    pub next_producer_id: ProducerId,
    /// The producer's epoch; that of the markers while they are written.
    pub producer_epoch: ProducerEpoch,
    /// The epoch before the last one that a client asked for by naming it: its retry is known by that. Not in the record.
    pub last_epoch: ProducerEpoch,
    /// When an open transaction is aborted, from its start.
    pub timeout_ms: i32,
    /// Where it stands.
    pub state: TransactionState,
    /// What the transaction has written to, and has not ended yet.
    pub partitions: Partitions,
    /// When this was last changed.
    pub last_update_ms: i64,
    /// When the transaction began; −1 if none has.
    pub start_ms: i64,
    /// What the client of the transaction knows: 2 where each end raises the epoch.
    pub client_version: i16,
}

impl Transaction {
    /// A new id with its first producer, whose first epoch is still to come.
    pub(super) fn new(producer_id: ProducerId, timeout_ms: i32) -> Self {
        Self {
            producer_id,
            previous_producer_id: producer_id,
            next_producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            last_epoch: ProducerEpoch::NONE,
            timeout_ms,
            state: TransactionState::Empty,
            partitions: Partitions::new(),
            last_update_ms: -1,
            start_ms: -1,
            client_version: 0,
        }
    }

    /// Whether the producer cannot be given another epoch.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        Self::is_last(self.producer_epoch)
    }

    /// Whether an epoch is the last that a producer is given.
    pub(super) const fn is_last(epoch: ProducerEpoch) -> bool {
        epoch.get() >= EPOCH_LAST
    }

    /// Whether each end raises the epoch, by what the client knows.
    #[must_use]
    pub const fn raises_epoch(&self) -> bool {
        raises_epoch(self.client_version)
    }

    /// When it is aborted for having taken too long; none where no transaction is open.
    pub(super) fn deadline_ms(&self) -> Option<i64> {
        let is_open = self.state == TransactionState::Ongoing;
        is_open.then(|| self.start_ms.saturating_add(i64::from(self.timeout_ms)))
    }

    /// The same with nothing open, for a producer that begins anew in this epoch.
    pub(super) fn begun(
        &self,
        producer: (ProducerId, ProducerEpoch),
        last_epoch: ProducerEpoch,
        timeout_ms: i32,
        now_ms: i64,
    ) -> Self {
        let (producer_id, producer_epoch) = producer;
        Self {
            producer_id,
            producer_epoch,
            last_epoch,
            timeout_ms,
            state: TransactionState::Empty,
            partitions: Partitions::new(),
            start_ms: -1,
            ..self.changed(now_ms)
        }
    }

    /// The same with more partitions in an open transaction.
    pub(super) fn with_partitions(&self, partitions: Partitions, client_version: i16, now_ms: i64) -> Self {
        let mut after = self.changed(now_ms);
        if self.state.is_idle() {
            after.start_ms = now_ms;
            after.partitions.clear();
        }
        for (topic, indexes) in partitions {
            after.partitions.entry(topic).or_default().extend(indexes);
        }
        Self { state: TransactionState::Ongoing, client_version, ..after }
    }

    /// The same with its end decided. In TV2 the end raises the epoch, and `next` is the producer after it where there is
    /// no epoch left.
    pub(super) fn prepared(
        &self,
        committed: bool,
        client_version: i16,
        next: Option<ProducerId>,
        now_ms: i64,
    ) -> Self {
        let after = self.decided(committed, now_ms);
        if !raises_epoch(client_version) {
            return Self { client_version, ..after };
        }
        Self {
            client_version,
            producer_epoch: raised(self.producer_epoch),
            last_epoch: self.producer_epoch,
            next_producer_id: next.unwrap_or(ProducerId::NONE),
            ..after
        }
    }

    /// The same, aborted in an epoch that no client has: whoever had the producer is fenced.
    pub(super) fn fenced(&self, now_ms: i64) -> Self {
        Self {
            producer_epoch: raised(self.producer_epoch),
            last_epoch: ProducerEpoch::NONE,
            ..self.decided(false, now_ms)
        }
    }

    fn decided(&self, committed: bool, now_ms: i64) -> Self {
        let state = if committed { TransactionState::PrepareCommit } else { TransactionState::PrepareAbort };
        let start_ms = if self.state.is_idle() { now_ms } else { self.start_ms };
        Self { state, start_ms, ..self.changed(now_ms) }
    }

    /// The same once all markers are written.
    pub(super) fn completed(&self, now_ms: i64) -> Self {
        let state = match self.state {
            TransactionState::PrepareCommit => TransactionState::CompleteCommit,
            _ => TransactionState::CompleteAbort,
        };
        let mut after = Self { state, partitions: Partitions::new(), ..self.changed(now_ms) };
        if self.next_producer_id.is_some() {
            after.producer_id = self.next_producer_id;
            after.producer_epoch = ProducerEpoch::new(0);
            after.next_producer_id = ProducerId::NONE;
        }
        after
    }

    fn changed(&self, now_ms: i64) -> Self {
        Self { previous_producer_id: self.producer_id, last_update_ms: now_ms, ..self.clone() }
    }
}

/// Whether each end raises the epoch where the client knows so much.
pub(super) const fn raises_epoch(client_version: i16) -> bool {
    client_version >= RAISES_EPOCH_SINCE
}

/// The epoch after this one. The largest has none, and nobody but a fence ever comes to it.
pub(super) fn raised(epoch: ProducerEpoch) -> ProducerEpoch {
    ProducerEpoch::new(epoch.get().saturating_add(1))
}
