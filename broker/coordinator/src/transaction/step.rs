//! What handling one event collects before it becomes effects.

use ottla_model::TransactionalId;

use super::marking::MarkerOrder;
use super::reply::TransactionReply;
use super::state::Transaction;
use crate::effects::{Answer, Leaves};
use crate::event::Token;
use crate::time::Now;

/// What one event leads to. While it is made, durable state stays as it is: [`Step::changes`] change it, once they are
/// appended.
#[derive(Debug)]
pub(super) struct Step {
    /// When the event happened.
    pub(super) now: Now,
    /// What transactions become, each a record; none is a tombstone.
    pub(super) changes: Vec<(TransactionalId, Option<Transaction>)>,
    /// Answers. They become refusals if the append fails.
    pub(super) answers: Vec<Answer<TransactionReply>>,
    /// Markers to be written, once what prepares them is committed.
    pub(super) orders: Vec<MarkerOrder>,
    /// What else is to be done once the outcome of the append is known; without an append at once.
    pub(super) after: Vec<After>,
}

/// A follow-up.
#[derive(Debug)]
pub(super) enum After {
    /// The next transaction that has taken too long.
    Overdue,
    /// The next ids that are not used any more.
    Expiry,
    /// The end of a transaction whose markers are written.
    Completed(TransactionalId),
}

impl Step {
    pub(super) fn new(now: Now) -> Self {
        Self { now, changes: Vec::new(), answers: Vec::new(), orders: Vec::new(), after: Vec::new() }
    }

    /// An answer, which leaves once everything that is in the log is committed: nobody is told of what could be lost.
    pub(super) fn answer(&mut self, token: Token, reply: TransactionReply) {
        self.answers.push(Answer { token, reply, leaves: Leaves::WhenCommitted });
    }

    /// Appends what a transaction becomes.
    pub(super) fn change(&mut self, id: TransactionalId, after: Transaction) {
        self.changes.push((id, Some(after)));
    }
}
