//! What time does to transactions: an open one that takes longer than its client said is aborted and its producer fenced; an
//! id that nobody uses is forgotten.

use super::step::{After, Step};
use super::{Timer, TransactionMachine};
use crate::effects::AppendFailure;
use crate::machine::TOMBSTONE_BYTES_MAX;

/// What a tombstone takes beside its id, generously.
const TOMBSTONE_OVERHEAD_BYTES: usize = 64;

impl TransactionMachine {
    pub(super) fn begin_overdue(&mut self, step: &Step) {
        self.timers.set(Timer::Overdue, step.now.after(self.config.overdue_check_interval));
        if self.is_one_overdue(step) {
            self.timers.set(Timer::OverdueStep, step.now.steady_ms);
        }
    }

    fn is_one_overdue(&self, step: &Step) -> bool {
        self.open.first().is_some_and(|(deadline, _)| *deadline < step.now.wall_ms)
    }

    pub(super) fn abort_one_overdue(&mut self, step: &mut Step) {
        let Some((_, id)) = self.open.first().filter(|(deadline, _)| *deadline < step.now.wall_ms) else {
            return;
        };
        let Some(transaction) = self.transactions.get(id) else { return };
        tracing::info!(
            transactional_id = %id,
            timeout_ms = transaction.timeout_ms,
            "a transaction has taken too long: it is aborted, and its producer fenced"
        );
        step.change(id.clone(), transaction.fenced(step.now.wall_ms));
        step.after.push(After::Overdue);
    }

    /// Goes on with the next one. What could not be written waits for the next look.
    pub(super) fn after_overdue(&mut self, outcome: Result<(), AppendFailure>, step: &Step) {
        if outcome.is_ok() && self.is_one_overdue(step) {
            self.timers.set(Timer::OverdueStep, step.now.steady_ms);
        }
    }

    pub(super) fn begin_expiry(&mut self, step: &Step) {
        self.timers.set(Timer::Expiry, step.now.after(self.config.expiry_check_interval));
        let expired = self.transactions.keys().filter(|id| self.is_expired(id, step));
        self.to_expire = expired.cloned().collect();
        if !self.to_expire.is_empty() {
            self.timers.set(Timer::ExpiryStep, step.now.steady_ms);
        }
    }

    fn is_expired(&self, id: &ottla_model::TransactionalId, step: &Step) -> bool {
        let expiration_ms = i64::try_from(self.config.expiration.as_millis()).unwrap_or(i64::MAX);
        self.transactions.get(id).is_some_and(|transaction| {
            transaction.state.is_idle()
                && transaction.last_update_ms <= step.now.wall_ms.saturating_sub(expiration_ms)
        })
    }

    /// Forgets as many as one batch may.
    pub(super) fn expire_some(&mut self, step: &mut Step) {
        let mut bytes = 0;
        while bytes < TOMBSTONE_BYTES_MAX {
            let Some(id) = self.to_expire.pop_front() else { break };
            if self.is_expired(&id, step) {
                bytes += id.as_str().len() + TOMBSTONE_OVERHEAD_BYTES;
                step.changes.push((id, None));
            }
        }
        step.after.push(After::Expiry);
    }

    pub(super) fn after_expiry(&mut self, outcome: Result<(), AppendFailure>, step: &Step) {
        match outcome {
            Ok(()) if !self.to_expire.is_empty() => self.timers.set(Timer::ExpiryStep, step.now.steady_ms),
            Ok(()) => {}
            Err(_) => self.to_expire.clear(),
        }
    }
}
