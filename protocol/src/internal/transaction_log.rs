//! Transactions: the records of `__transaction_state`, key type 0, value versions 0–1.
//!
//! * 1: flexible; the producer's ids and epochs before and after, and its version, as tagged fields (KIP-890).

use ottla_model::{PartitionIndex, ProducerEpoch, ProducerId, TopicName, TransactionalId};

use crate::Message;

/// Names a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 0..=0)]
pub struct TransactionLogKey {
    /// The transaction's id.
    pub transactional_id: TransactionalId,
}

/// A transaction's producer, state and partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 0..=1, flexible = 1)]
pub struct TransactionLogValue {
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The id that the producer had before; −1 for none.
    #[field(versions = 1.., tag = 0, default = -1)]
    pub previous_producer_id: ProducerId,
    /// The id that the producer will have; −1 for none.
    #[field(versions = 1.., tag = 1, default = -1)]
    pub next_producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The epoch that the producer will have; −1 for none.
    #[field(versions = 1.., tag = 3, default = -1)]
    pub next_producer_epoch: ProducerEpoch,
    /// When the transaction is aborted, in milliseconds from its start.
    pub transaction_timeout_ms: i32,
    /// 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5 complete abort, 6 dead, 7 prepare
    /// epoch fence.
    pub transaction_status: i8,
    /// The partitions in the transaction, by topic; null while there are none.
    #[field(nullable, default = empty)]
    pub transaction_partitions: Option<Vec<PartitionsSchema>>,
    /// When this was last changed, in milliseconds.
    pub transaction_last_update_timestamp_ms: i64,
    /// When the transaction began, in milliseconds; −1 if it has not.
    pub transaction_start_timestamp_ms: i64,
    /// The version of transactions that the producer speaks.
    #[field(versions = 1.., tag = 2)]
    pub client_transaction_version: i16,
}

/// One topic's partitions in the transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionsSchema {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partition_ids: Vec<PartitionIndex>,
}
