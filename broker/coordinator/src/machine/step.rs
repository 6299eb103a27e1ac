//! What handling one event collects before it becomes [`Effects`](crate::Effects): typed records, answers, follow-ups.

use ottla_model::{ProducerEpoch, ProducerId};
use ottla_protocol::internal::ConsumerOffsetsRecord;

use crate::compute::Compute;
use crate::effects::{Answer, AppendFailure, Leaves};
use crate::event::Token;
use crate::group::classic::ClassicAfter;
use crate::group::consumer::{ConsumerAfter, Task};
use crate::reply::Reply;
use crate::time::Now;

/// What one event leads to. While it is made, durable state stays as it is: [`Step::records`] change it, once they are
/// appended.
#[derive(Debug)]
pub(crate) struct Step {
    /// When the event happened.
    pub(crate) now: Now,
    /// To be appended as one batch, then replayed.
    pub(crate) records: Vec<ConsumerOffsetsRecord>,
    /// In whose transaction they are written.
    pub(crate) transaction: Option<(ProducerId, ProducerEpoch)>,
    /// To be appended as a transaction's marker, then replayed.
    pub(crate) marker: Option<EndOfTransaction>,
    /// Answers. Those that leave when committed become refusals if the append fails.
    pub(crate) answers: Vec<Answer>,
    /// Work for the pool.
    pub(crate) compute: Vec<Compute>,
    /// What else is to be done once the outcome of the append is known, in order; without an append at once.
    pub(crate) after: Vec<After>,
}

/// A transaction that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndOfTransaction {
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) coordinator_epoch: i32,
    pub(crate) committed: bool,
    pub(crate) epoch_raised: bool,
}

/// A follow-up, which is told whether the records of its step were appended (and replayed before).
#[derive(Debug)]
pub(crate) enum After {
    /// Of a classic group.
    Classic(ClassicAfter),
    /// Of a consumer group.
    Consumer(ConsumerAfter),
}

/// How the append of a step's records went.
pub(crate) type Outcome = Result<(), AppendFailure>;

impl Step {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            now,
            records: Vec::new(),
            transaction: None,
            marker: None,
            answers: Vec::new(),
            compute: Vec::new(),
            after: Vec::new(),
        }
    }

    /// An answer that tells of records, this step's or earlier ones.
    pub(crate) fn answer(&mut self, token: Token, reply: Reply) {
        self.answers.push(Answer { token, reply, leaves: Leaves::WhenCommitted });
    }

    /// An answer that depends on nothing that was written.
    pub(crate) fn answer_at_once(&mut self, token: Token, reply: Reply) {
        self.answers.push(Answer { token, reply, leaves: Leaves::AtOnce });
    }

    /// Work for the pool.
    pub(crate) fn compute(&mut self, task: Task) {
        self.compute.push(Compute(task));
    }
}
