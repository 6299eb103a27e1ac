//! Partitions that join a transaction, and the question whether they have (KIP-98, KIP-890).

use ottla_model::ErrorCode;

use super::TransactionMachine;
use super::event::Identity;
use super::reply::TransactionReply;
use super::state::{Partitions, Transaction, TransactionState};
use super::step::Step;
use crate::event::Token;

impl TransactionMachine {
    pub(super) fn add_partitions(
        &mut self,
        by: Identity,
        partitions: Partitions,
        client_version: i16,
        token: Token,
        step: &mut Step,
    ) {
        let code = match self.writable_by(&by) {
            Ok(transaction) if transaction.has_all(&partitions) => ErrorCode::NONE,
            Ok(transaction) => {
                let after = transaction.with_partitions(partitions, client_version, step.now.wall_ms);
                step.change(by.id, after);
                ErrorCode::NONE
            }
            Err(code) => code,
        };
        step.answer(token, TransactionReply::Added(code));
    }

    pub(super) fn verify(&mut self, by: &Identity, partitions: Partitions, token: Token, step: &mut Step) {
        let found = self.writable_by(by);
        let code = |topic, index| match found {
            Err(code) => code,
            Ok(transaction) if transaction.has(topic, index) => ErrorCode::NONE,
            Ok(_) => ErrorCode::TRANSACTION_ABORTABLE,
        };
        let verified =
            partitions.iter().flat_map(|(topic, indexes)| indexes.iter().map(move |index| (topic, *index)));
        let verified = verified.map(|(topic, index)| (topic.clone(), index, code(topic, index))).collect();
        step.answer(token, TransactionReply::Verified(verified));
    }

    /// The transaction, if this producer may write in it now.
    fn writable_by(&self, by: &Identity) -> Result<&Transaction, ErrorCode> {
        let transaction = self.transactions.get(&by.id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        if transaction.producer_id != by.producer_id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if transaction.producer_epoch != by.producer_epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        if transaction.state.is_prepared() {
            return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        }
        Ok(transaction)
    }
}

impl Transaction {
    /// Whether the open transaction has this partition.
    #[must_use]
    pub fn has(&self, topic: &ottla_model::TopicName, index: ottla_model::PartitionIndex) -> bool {
        self.state == TransactionState::Ongoing
            && self.partitions.get(topic).is_some_and(|indexes| indexes.contains(&index))
    }

    fn has_all(&self, partitions: &Partitions) -> bool {
        self.state == TransactionState::Ongoing
            && partitions
                .iter()
                .all(|(topic, indexes)| self.partitions.get(topic).is_some_and(|own| indexes.is_subset(own)))
    }
}
