//! DescribeTransactions (key 65), version 0, flexible (KIP-664).

use compact_str::CompactString;
use ottla_model::{ErrorCode, PartitionIndex, ProducerEpoch, ProducerId, TopicName, TransactionalId};

use crate::Message;

/// A question for transactions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 65, versions = 0..=0, flexible = 0)]
pub struct DescribeTransactionsRequest {
    /// The transactions.
    pub transactional_ids: Vec<TransactionalId>,
}

/// Transactions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 65, versions = 0..=0, flexible = 0)]
pub struct DescribeTransactionsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The transactions.
    pub transaction_states: Vec<TransactionState>,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TransactionState {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The transaction's id.
    pub transactional_id: TransactionalId,
    /// The transaction's state.
    pub transaction_state: CompactString,
    /// When the transaction is aborted, in milliseconds from its start.
    pub transaction_timeout_ms: i32,
    /// When the transaction began, in milliseconds; −1 if it has not.
    pub transaction_start_time_ms: i64,
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The partitions in the transaction, by topic.
    pub topics: Vec<TopicData>,
}

/// One topic's partitions in the transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicData {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}
