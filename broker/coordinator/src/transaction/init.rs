//! InitProducerId: a producer for a transactional id. Whoever had one before is fenced, by its epoch or by a new id where
//! epochs are used up (KIP-98, KIP-360).

use ottla_model::{ErrorCode, ProducerEpoch, ProducerId, TransactionalId};

use super::TransactionMachine;
use super::reply::{Begun, TransactionReply};
use super::state::{Transaction, TransactionState, raised};
use super::step::Step;
use crate::event::Token;

/// What becomes of the request.
enum Next {
    Begins(Transaction),
    NeedsProducerId,
    /// An open transaction is aborted first; the client comes again.
    Aborts(Transaction),
}

impl TransactionMachine {
    pub(super) fn init(
        &mut self,
        id: TransactionalId,
        timeout_ms: i32,
        expected: Option<(ProducerId, ProducerEpoch)>,
        fresh: Option<ProducerId>,
        token: Token,
        step: &mut Step,
    ) {
        let reply = match self.next_producer(&id, timeout_ms, expected, fresh, step.now.wall_ms) {
            Ok(Next::Begins(after)) => {
                let begun = Begun { producer_id: after.producer_id, producer_epoch: after.producer_epoch };
                step.change(id, after);
                TransactionReply::Begun(Ok(begun))
            }
            Ok(Next::NeedsProducerId) => TransactionReply::NeedsProducerId,
            Ok(Next::Aborts(after)) => {
                step.change(id, after);
                TransactionReply::Begun(Err(ErrorCode::CONCURRENT_TRANSACTIONS))
            }
            Err(code) => TransactionReply::Begun(Err(code)),
        };
        step.answer(token, reply);
    }

    fn next_producer(
        &self,
        id: &TransactionalId,
        timeout_ms: i32,
        expected: Option<(ProducerId, ProducerEpoch)>,
        fresh: Option<ProducerId>,
        now_ms: i64,
    ) -> Result<Next, ErrorCode> {
        if timeout_ms <= 0 || timeout_ms > self.config.timeout_ms_max {
            return Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
        }
        let Some(known) = self.transactions.get(id) else {
            let Some(fresh) = fresh else { return Ok(Next::NeedsProducerId) };
            let new = Transaction::new(fresh, timeout_ms);
            let first = (fresh, raised(new.producer_epoch));
            return Ok(Next::Begins(new.begun(first, ProducerEpoch::NONE, timeout_ms, now_ms)));
        };
        if known.state.is_prepared() {
            return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        }
        if expected.is_some_and(|expected| !known.had(expected)) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match known.state {
            TransactionState::Ongoing => Ok(Next::Aborts(known.fenced(now_ms))),
            _ => known.rebegun(timeout_ms, expected, fresh, now_ms),
        }
    }
}

impl Transaction {
    /// Whether a client can have this producer: the present one, or the one before where its epochs were used up.
    fn had(&self, (producer_id, epoch): (ProducerId, ProducerEpoch)) -> bool {
        producer_id == self.producer_id || producer_id == self.previous_producer_id && Self::is_last(epoch)
    }

    fn rebegun(
        &self,
        timeout_ms: i32,
        expected: Option<(ProducerId, ProducerEpoch)>,
        fresh: Option<ProducerId>,
        now_ms: i64,
    ) -> Result<Next, ErrorCode> {
        let expected = expected.map(|(_, epoch)| epoch);
        if self.is_exhausted() && expected.is_none_or(|epoch| epoch == self.producer_epoch) {
            let Some(fresh) = fresh else { return Ok(Next::NeedsProducerId) };
            let last = expected.map_or(ProducerEpoch::NONE, |_| self.producer_epoch);
            let producer = (fresh, ProducerEpoch::new(0));
            return Ok(Next::Begins(self.begun(producer, last, timeout_ms, now_ms)));
        }
        let (epoch, last) = match expected {
            None => (raised(self.producer_epoch), ProducerEpoch::NONE),
            Some(epoch) if epoch == self.producer_epoch => (raised(epoch), epoch),
            // The same request again: its answer was lost.
            Some(epoch) if epoch == self.last_epoch => (self.producer_epoch, self.last_epoch),
            Some(_) => return Err(ErrorCode::PRODUCER_FENCED),
        };
        Ok(Next::Begins(self.begun((self.producer_id, epoch), last, timeout_ms, now_ms)))
    }
}
