//! DeleteRecords (key 21), versions 0–2 (KIP-107).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.

use ottla_model::{ErrorCode, Offset, PartitionIndex, TopicName};

use crate::Message;

/// Partitions whose oldest records go.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 21, versions = 0..=2, flexible = 2)]
pub struct DeleteRecordsRequest {
    /// The partitions, by topic.
    pub topics: Vec<DeleteRecordsTopic>,
    /// How long to wait, in milliseconds.
    pub timeout_ms: i32,
}

/// One topic's share of a [`DeleteRecordsRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteRecordsTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<DeleteRecordsPartition>,
}

/// How much goes of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteRecordsPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The first offset that stays; −1 for the high watermark.
    pub offset: Offset,
}

/// The partitions' new start offsets.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 21, versions = 0..=2, flexible = 2)]
pub struct DeleteRecordsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<DeleteRecordsTopicResult>,
}

/// One topic's share of a [`DeleteRecordsResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteRecordsTopicResult {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

/// Where one partition begins now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteRecordsPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The log start offset now; −1 with an error.
    pub low_watermark: Offset,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
