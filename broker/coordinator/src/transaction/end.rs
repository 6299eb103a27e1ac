//! EndTxn: how a transaction ends. Decided once its record is written; the markers come after (`marking.rs`).
//!
//! Two protocols. In the first, a producer keeps its epoch, and an end that comes again is known by the state. In the
//! second (KIP-890) each end raises the epoch, so the state tells nothing: an end that comes again is one epoch behind, and
//! aborting where nothing is open is allowed, since a client does not know what a lost produce has added.

use ottla_model::{ErrorCode, ProducerEpoch, ProducerId};

use super::TransactionMachine;
use super::event::Identity;
use super::reply::{Begun, TransactionReply};
use super::state::{Transaction, TransactionState, raised, raises_epoch};
use super::step::Step;
use crate::event::Token;

/// What an end leads to.
enum Verdict {
    /// It is decided now.
    Decide,
    /// It was decided, and has been carried out: the request came again.
    Repeated,
}

impl TransactionMachine {
    pub(super) fn end(
        &mut self,
        by: Identity,
        committed: bool,
        client_version: i16,
        fresh: Option<ProducerId>,
        token: Token,
        step: &mut Step,
    ) {
        let raises = raises_epoch(client_version);
        let judged = self.transactions.get(&by.id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        let judged = judged.and_then(|known| {
            let verdict =
                if raises { known.judge_raising(&by, committed) } else { known.judge(&by, committed) };
            verdict.map(|verdict| (known, verdict))
        });
        let reply = match judged {
            Err(code) => TransactionReply::Ended(Err(code)),
            Ok((known, Verdict::Repeated)) => TransactionReply::Ended(Ok(raises.then(|| known.producer()))),
            Ok((known, Verdict::Decide)) if raises && known.is_exhausted() && fresh.is_none() => {
                TransactionReply::NeedsProducerId
            }
            Ok((known, Verdict::Decide)) => {
                let next = fresh.filter(|_| known.is_exhausted());
                let after = known.prepared(committed, client_version, next, step.now.wall_ms);
                let begun = after.producer_after_end();
                step.change(by.id, after);
                TransactionReply::Ended(Ok(raises.then_some(begun)))
            }
        };
        step.answer(token, reply);
    }
}

impl Transaction {
    /// The producer as its client goes on with it.
    fn producer(&self) -> Begun {
        Begun { producer_id: self.producer_id, producer_epoch: self.producer_epoch }
    }

    fn producer_after_end(&self) -> Begun {
        match self.next_producer_id.is_some() {
            true => Begun { producer_id: self.next_producer_id, producer_epoch: ProducerEpoch::new(0) },
            false => self.producer(),
        }
    }

    /// An end of a client that keeps its epoch.
    fn judge(&self, by: &Identity, committed: bool) -> Result<Verdict, ErrorCode> {
        if self.producer_id != by.producer_id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if self.producer_epoch != by.producer_epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match (self.state, committed) {
            (TransactionState::Ongoing, _) => Ok(Verdict::Decide),
            (TransactionState::CompleteCommit, true) | (TransactionState::CompleteAbort, false) => {
                Ok(Verdict::Repeated)
            }
            (TransactionState::PrepareCommit, true) | (TransactionState::PrepareAbort, false) => {
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            _ => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    /// An end of a client whose epoch it raises.
    fn judge_raising(&self, by: &Identity, committed: bool) -> Result<Verdict, ErrorCode> {
        let is_behind = raises_epoch(self.client_version) && raised(by.producer_epoch) == self.producer_epoch;
        // The end used up the producer's last epoch, and another producer has taken its place.
        let was_last = raises_epoch(self.client_version)
            && self.previous_producer_id == by.producer_id
            && self.producer_id != by.producer_id
            && Self::is_last(by.producer_epoch)
            && self.producer_epoch == ProducerEpoch::new(0);
        if self.producer_id != by.producer_id && !was_last {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let is_repeated = is_behind || was_last;
        let is_current = self.producer_id == by.producer_id && self.producer_epoch == by.producer_epoch;
        match (self.state, committed) {
            (TransactionState::Ongoing, _) if is_current => Ok(Verdict::Decide),
            (TransactionState::Empty, false) if is_current => Ok(Verdict::Decide),
            (TransactionState::Empty, true) if is_current => Err(ErrorCode::INVALID_TXN_STATE),
            (TransactionState::PrepareCommit, true) | (TransactionState::PrepareAbort, false)
                if is_repeated =>
            {
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            (TransactionState::PrepareCommit, false) | (TransactionState::PrepareAbort, true)
                if is_repeated =>
            {
                Err(ErrorCode::INVALID_TXN_STATE)
            }
            (TransactionState::CompleteCommit, true) | (TransactionState::CompleteAbort, false)
                if is_repeated =>
            {
                Ok(Verdict::Repeated)
            }
            (TransactionState::CompleteCommit | TransactionState::CompleteAbort, false) if is_current => {
                Ok(Verdict::Decide)
            }
            (TransactionState::CompleteCommit | TransactionState::CompleteAbort, _)
                if is_current || is_repeated =>
            {
                Err(ErrorCode::INVALID_TXN_STATE)
            }
            _ => Err(ErrorCode::PRODUCER_FENCED),
        }
    }
}
