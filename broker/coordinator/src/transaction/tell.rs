//! DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152).

use ottla_model::{ErrorCode, TransactionalId};
use ottla_protocol::messages::describe_transactions::{TopicData, TransactionState as Described};
use ottla_protocol::messages::list_transactions::TransactionState as Listed;

use super::TransactionMachine;
use super::event::ListFilter;
use super::reply::TransactionReply;
use super::state::Transaction;
use super::step::Step;
use crate::event::Token;

impl TransactionMachine {
    pub(super) fn describe(&self, ids: Vec<TransactionalId>, token: Token, step: &mut Step) {
        let described = ids.into_iter().map(|id| match self.transactions.get(&id) {
            Some(transaction) => transaction.describe(id),
            None => Described {
                error_code: ErrorCode::TRANSACTIONAL_ID_NOT_FOUND,
                transactional_id: id,
                ..Described::default()
            },
        });
        step.answer(token, TransactionReply::Described(described.collect()));
    }

    pub(super) fn list(&self, filter: &ListFilter, token: Token, step: &mut Step) {
        let now_ms = step.now.wall_ms;
        let asked = self.transactions.iter().filter(|(id, it)| filter.takes(id, it, now_ms));
        let listed = asked.map(|(id, it)| Listed {
            transactional_id: id.clone(),
            producer_id: it.producer_id,
            transaction_state: it.state.name().into(),
        });
        step.answer(token, TransactionReply::Listed(Ok(listed.collect())));
    }
}

impl ListFilter {
    fn takes(&self, id: &TransactionalId, transaction: &Transaction, now_ms: i64) -> bool {
        let duration_ms = now_ms.saturating_sub(transaction.start_ms);
        self.states.as_ref().is_none_or(|states| states.contains(&transaction.state))
            && (self.producer_ids.is_empty() || self.producer_ids.contains(&transaction.producer_id))
            && (self.duration_ms < 0 || duration_ms > self.duration_ms)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(id.as_str()))
    }
}

impl Transaction {
    fn describe(&self, id: TransactionalId) -> Described {
        let topics = self.partitions.iter().map(|(topic, indexes)| TopicData {
            topic: topic.clone(),
            partitions: indexes.iter().copied().collect(),
        });
        Described {
            error_code: ErrorCode::NONE,
            transactional_id: id,
            transaction_state: self.state.name().into(),
            transaction_timeout_ms: self.timeout_ms,
            transaction_start_time_ms: self.start_ms,
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            topics: topics.collect(),
        }
    }
}
