//! What a machine wants done. The host does it in this order: append, `settle` with how that went (whose effects
//! come on top), then the rest. Nothing here does anything.

use bytes::Bytes;
use ottla_model::{ProducerEpoch, ProducerId};

use crate::compute::Compute;
use crate::event::Token;
use crate::reply::Reply;

/// The outcome of one event, of a group machine unless something else is said: its answers and the work that it has for
/// others are of the machine's own kinds.
#[derive(Debug)]
pub struct Effects<R = Reply, W = Compute> {
    /// What to append to the partition before anything else; the host tells the outcome by `settle`, before it gives the
    /// machine another event.
    pub append: Append,
    /// Answers, each to a token that has none yet.
    pub replies: Vec<Answer<R>>,
    /// Work for others; each comes back as an event. When it may begin, [`Machine::WORK_BEGINS`] says.
    ///
    /// [`Machine::WORK_BEGINS`]: crate::Machine::WORK_BEGINS
    pub compute: Vec<W>,
    /// When `tick` has to be called, on the steady clock, unless a later event says otherwise. Later is allowed: deadlines
    /// are soft. None while nothing waits.
    pub deadline: Option<i64>,
}

impl<R, W> Default for Effects<R, W> {
    fn default() -> Self {
        Self { append: Append::Nothing, replies: Vec::new(), compute: Vec::new(), deadline: None }
    }
}

/// One batch for the log, or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Append {
    /// Nothing to write.
    #[default]
    Nothing,
    /// One batch of these records, all or none of them.
    Records {
        /// The records in order.
        records: Vec<Record>,
        /// The producer in whose transaction they are written (a transactional batch whose sequence nobody checks, 0 in
        /// Kafka's); none for a plain batch.
        transaction: Option<(ProducerId, ProducerEpoch)>,
    },
    /// The marker of a transaction that ends.
    Marker {
        /// The producer.
        producer_id: ProducerId,
        /// Its epoch.
        producer_epoch: ProducerEpoch,
        /// The epoch of the transaction's coordinator.
        coordinator_epoch: i32,
        /// Whether what was written counts.
        committed: bool,
        /// Whether the end of the transaction raised the epoch (KIP-890).
        epoch_raised: bool,
    },
}

impl Append {
    /// Whether there is nothing to write: the host then does not call `settle`.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

/// A record as it is written; no value is a tombstone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The key, its type in front.
    pub key: Bytes,
    /// The value, its version in front.
    pub value: Option<Bytes>,
}

/// An answer, and when it may leave.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<R = Reply> {
    /// Whom it answers.
    pub token: Token,
    /// What it says.
    pub reply: R,
    /// When it may leave.
    pub leaves: Leaves,
}

/// When an answer may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// At once: it tells of nothing that was appended.
    AtOnce,
    /// Once the high watermark has passed everything that is in the log now, the batch of this event included.
    WhenCommitted,
}

/// Why a batch was not appended. The machine says which error code that is to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AppendFailure {
    /// There is no such log here now, too few replicas are in sync, or the write took too long: later it may go.
    #[error("the partition cannot be written at the moment")]
    Unavailable,
    /// This broker does not lead the partition any more, or its disk has failed.
    #[error("the partition is not led here, or its storage has failed")]
    NotLeader,
    /// The batch is larger than the topic allows.
    #[error("the batch is larger than the topic allows")]
    TooLarge,
    /// The transaction of the batch is not the producer's present one.
    #[error("the producer has been fenced")]
    ProducerFenced,
    /// The transaction of the batch has ended meanwhile.
    #[error("the transaction is not open any more")]
    NotInTransaction,
    /// The marker is of a transaction coordinator that was replaced.
    #[error("the transaction's coordinator has been replaced")]
    CoordinatorFenced,
    /// Anything else.
    #[error("the batch could not be appended")]
    Other,
}
