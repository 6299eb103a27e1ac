//! AddPartitionsToTxn (key 24), versions 0–5.
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: a fenced producer has its own error code (KIP-588).
//! * 3: flexible.
//! * 4: several transactions in one request, and verification alone; for brokers (KIP-890).
//! * 5: a transaction that must be aborted has its own error code (KIP-890).

use ottla_model::{ErrorCode, PartitionIndex, ProducerEpoch, ProducerId, TopicName, TransactionalId};

use crate::Message;

/// Partitions that join a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 24, versions = 0..=5, flexible = 3)]
pub struct AddPartitionsToTxnRequest {
    /// The transactions.
    #[field(versions = 4..)]
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// The transaction's id.
    #[field(versions = ..=3)]
    pub v3_and_below_transactional_id: TransactionalId,
    /// The producer's id.
    #[field(versions = ..=3)]
    pub v3_and_below_producer_id: ProducerId,
    /// The producer's epoch.
    #[field(versions = ..=3)]
    pub v3_and_below_producer_epoch: i16,
    /// The partitions that join, by topic.
    #[field(versions = ..=3)]
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
}

/// The partitions that join one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AddPartitionsToTxnTransaction {
    /// The transaction's id.
    pub transactional_id: TransactionalId,
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// Whether to check only that the partitions are part of the transaction.
    pub verify_only: bool,
    /// The partitions that join, by topic.
    pub topics: Vec<AddPartitionsToTxnTopic>,
}

/// One topic's partitions that join.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AddPartitionsToTxnTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// Which partitions have joined.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 24, versions = 0..=5, flexible = 3)]
pub struct AddPartitionsToTxnResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    #[field(versions = 4.., ignorable)]
    pub error_code: ErrorCode,
    /// The answers, by transaction.
    #[field(versions = 4..)]
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// The answers, by topic.
    #[field(versions = ..=3)]
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
}

/// What became of one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AddPartitionsToTxnResult {
    /// The transaction's id.
    pub transactional_id: TransactionalId,
    /// The answers, by topic.
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
}

/// What became of one topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AddPartitionsToTxnTopicResult {
    /// The topic's name.
    pub name: TopicName,
    /// The answers, by partition.
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
}

/// Whether one partition has joined.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AddPartitionsToTxnPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the partition has not joined, or none.
    pub partition_error_code: ErrorCode,
}
