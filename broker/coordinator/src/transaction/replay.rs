//! From the records of the log to state, and the machine as a host sees any machine.

use bytes::Bytes;
use ottla_model::{ErrorCode, ProducerId};
use ottla_protocol::internal::CoordinatorRecordError;

use super::event::TransactionEvent;
use super::marking::MarkerOrder;
use super::reply::{TransactionReply, refusal};
use super::{TransactionEffects, TransactionMachine, records};
use crate::contract::Machine;
use crate::effects::{Answer, AppendFailure, Leaves};
use crate::event::Token;
use crate::machine::{ReplayError, Replayed};
use crate::time::Now;

/// Why a record of `__transaction_state` cannot be part of the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransactionRecordError {
    /// Its bytes are damaged, or its value is of a version that is not known here.
    #[error(transparent)]
    Record(#[from] CoordinatorRecordError),
    /// Its transaction is in a state that is not known here.
    #[error("state {number} of a transaction is not known")]
    State {
        /// The state's number.
        number: i8,
    },
}

impl Machine for TransactionMachine {
    type Event = TransactionEvent;
    type Reply = TransactionReply;
    type Work = MarkerOrder;

    /// Readers see what a marker ends: the decision must not be lost any more.
    const WORK_BEGINS: Leaves = Leaves::WhenCommitted;

    fn replay(
        &mut self,
        key: Bytes,
        value: Option<Bytes>,
        _transaction: Option<ProducerId>,
    ) -> Result<Replayed, ReplayError> {
        match records::decode(key, value) {
            Ok((id, transaction)) => {
                self.put(id, transaction);
                Ok(Replayed::Applied)
            }
            Err(error) if records::is_unknown_type(&error) => Ok(Replayed::Ignored),
            Err(error) => Err(error.into()),
        }
    }

    fn replay_end_of_transaction(&mut self, _producer_id: ProducerId, _committed: bool) {
        // Nobody writes to this topic within a transaction.
    }

    fn loaded(&mut self, now: Now) -> TransactionEffects {
        self.loaded(now)
    }

    fn handle(&mut self, event: TransactionEvent, token: Token, now: Now) -> TransactionEffects {
        self.handle(event, token, now)
    }

    fn tick(&mut self, now: Now) -> TransactionEffects {
        self.tick(now)
    }

    fn settle(&mut self, outcome: Result<(), AppendFailure>, now: Now) -> TransactionEffects {
        self.settle(outcome, now)
    }

    fn unload(self) -> Vec<Answer<TransactionReply>> {
        self.unload()
    }

    fn refusal(event: &TransactionEvent, error: ErrorCode) -> Option<TransactionReply> {
        refusal(event, error)
    }

    fn refuse(reply: &mut TransactionReply, error: ErrorCode) {
        reply.refuse(error);
    }
}
