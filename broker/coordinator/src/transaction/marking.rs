//! The markers of prepared transactions: ordered once the record that prepares them is committed, asked for again until
//! each partition has its own, and only then is the transaction complete. Where partitions lie and how a marker is
//! appended is the host's.

use std::time::Duration;

use ottla_model::{ProducerEpoch, ProducerId, TransactionalId};

use super::state::{Partitions, TransactionState};
use super::step::{After, Step};
use super::{Timer, TransactionMachine};
use crate::effects::AppendFailure;

/// How long after a failure markers are asked for again.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Markers to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerOrder {
    /// Whose transaction ends.
    pub id: TransactionalId,
    /// The producer in the marker.
    pub producer_id: ProducerId,
    /// Its epoch in the marker.
    pub producer_epoch: ProducerEpoch,
    /// Whether the transaction is committed.
    pub committed: bool,
    /// The epoch of the coordinator in the marker.
    pub coordinator_epoch: i32,
    /// Whether the end raised the epoch.
    pub epoch_raised: bool,
    /// The partitions that need one.
    pub partitions: Partitions,
    /// Some of them may have theirs: a coordinator before this one, or an order before, may have come so far.
    pub may_be_written: bool,
}

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerOutcome {
    /// Whose transaction ends.
    pub id: TransactionalId,
    /// The producer in the marker.
    pub producer_id: ProducerId,
    /// Its epoch in the marker.
    pub producer_epoch: ProducerEpoch,
    /// The partitions that still need a marker.
    pub unwritten: Partitions,
    /// A newer coordinator has this transaction: nothing more is to be tried here.
    pub superseded: bool,
}

/// What is known of one transaction's markers.
#[derive(Debug)]
pub(super) struct Marking {
    unwritten: Partitions,
}

impl TransactionMachine {
    /// Orders the markers of every prepared transaction that was loaded.
    pub(super) fn resume_marking(&mut self, step: &mut Step) {
        let prepared = self.transactions.iter().filter(|(_, transaction)| transaction.state.is_prepared());
        let mut prepared: Vec<TransactionalId> = prepared.map(|(id, _)| id.clone()).collect();
        prepared.sort_unstable();
        for id in prepared {
            self.begin_marking(&id, true, step);
        }
    }

    /// Orders all markers of a prepared transaction.
    pub(super) fn begin_marking(&mut self, id: &TransactionalId, may_be_written: bool, step: &mut Step) {
        let Some(transaction) = self.transactions.get(id) else { return };
        let unwritten = transaction.partitions.clone();
        self.marking.insert(id.clone(), Marking { unwritten });
        self.order(id, may_be_written, step);
    }

    fn order(&self, id: &TransactionalId, may_be_written: bool, step: &mut Step) {
        let (Some(transaction), Some(marking)) = (self.transactions.get(id), self.marking.get(id)) else {
            return;
        };
        step.orders.push(MarkerOrder {
            id: id.clone(),
            producer_id: transaction.producer_id,
            producer_epoch: transaction.producer_epoch,
            committed: transaction.state == TransactionState::PrepareCommit,
            coordinator_epoch: self.coordinator_epoch.get(),
            epoch_raised: transaction.raises_epoch(),
            partitions: marking.unwritten.clone(),
            may_be_written,
        });
    }

    /// What became of an order.
    pub(super) fn marked(&mut self, outcome: MarkerOutcome, step: &mut Step) {
        let MarkerOutcome { id, producer_id, producer_epoch, unwritten, superseded } = outcome;
        let is_present = self.transactions.get(&id).is_some_and(|transaction| {
            transaction.state.is_prepared()
                && (transaction.producer_id, transaction.producer_epoch) == (producer_id, producer_epoch)
        });
        let Some(marking) = self.marking.get_mut(&id).filter(|_| is_present) else { return };
        if superseded {
            tracing::warn!(transactional_id = %id, "a newer coordinator ends this transaction");
            return;
        }
        marking.unwritten = unwritten;
        if marking.unwritten.is_empty() {
            self.complete(&id, step);
        } else {
            self.timers.set(Timer::Marking(id), step.now.after(RETRY_AFTER));
        }
    }

    /// Asks again for what is missing.
    pub(super) fn go_on_marking(&mut self, id: &TransactionalId, step: &mut Step) {
        match self.marking.get(id) {
            Some(marking) if marking.unwritten.is_empty() => self.complete(id, step),
            Some(_) => self.order(id, true, step),
            None => {}
        }
    }

    fn complete(&self, id: &TransactionalId, step: &mut Step) {
        let Some(transaction) = self.transactions.get(id) else { return };
        step.change(id.clone(), transaction.completed(step.now.wall_ms));
        step.after.push(After::Completed(id.clone()));
    }

    /// A completion that was not written is tried again.
    pub(super) fn after_completion(
        &mut self,
        id: &TransactionalId,
        outcome: Result<(), AppendFailure>,
        step: &mut Step,
    ) {
        if outcome.is_err() {
            self.timers.set(Timer::Marking(id.clone()), step.now.after(RETRY_AFTER));
        }
    }
}
