//! DescribeProducers (key 61), version 0, flexible (KIP-664).

use compact_str::CompactString;
use ottla_model::{ErrorCode, Offset, PartitionIndex, ProducerId, TopicName};

use crate::Message;

/// A question for the producers of partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 61, versions = 0..=0, flexible = 0)]
pub struct DescribeProducersRequest {
    /// The partitions, by topic.
    pub topics: Vec<TopicRequest>,
}

/// One topic's share of a [`DescribeProducersRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicRequest {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partition_indexes: Vec<PartitionIndex>,
}

/// Producers, by partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 61, versions = 0..=0, flexible = 0)]
pub struct DescribeProducersResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<TopicResponse>,
}

/// One topic's share of a [`DescribeProducersResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicResponse {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionResponse>,
}

/// The producers of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionResponse {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The producers that are not forgotten yet.
    pub active_producers: Vec<ProducerState>,
}

/// What is known of one producer.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ProducerState {
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: i32,
    /// The last sequence number; −1 for none.
    #[field(default = -1)]
    pub last_sequence: i32,
    /// The timestamp of the last record, in milliseconds; −1 if it is unknown.
    #[field(default = -1)]
    pub last_timestamp: i64,
    /// The epoch of the transaction coordinator.
    pub coordinator_epoch: i32,
    /// Where the open transaction begins; −1 for none.
    #[field(default = -1)]
    pub current_txn_start_offset: Offset,
}
