//! ListOffsets (key 2), versions 1–11.
//!
//! * 1: one offset and its timestamp for each time asked for.
//! * 2: isolation level; throttle time.
//! * 3: nothing; the throttle time is acted on after the answer was sent.
//! * 4: leader epochs (KIP-320).
//! * 5: nothing but a new error code.
//! * 6: flexible.
//! * 7: time −3, the record with the largest timestamp (KIP-734).
//! * 8: time −4, the earliest local offset (KIP-405).
//! * 9: time −5, the latest tiered offset (KIP-1005).
//! * 10: a timeout for offsets in remote storage (KIP-1075).
//! * 11: time −6, the earliest offset that waits for its upload (KIP-1023).

use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName};

use crate::Message;

/// A question for offsets by time.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 2, versions = 1..=11, flexible = 6)]
pub struct ListOffsetsRequest {
    /// The replica that asks; −1 for a consumer.
    pub replica_id: NodeId,
    /// 0: everything up to the high watermark; 1: only what is committed, up to the last stable offset.
    #[field(versions = 2..)]
    pub isolation_level: i8,
    /// The partitions asked for, by topic.
    pub topics: Vec<ListOffsetsTopic>,
    /// How long to wait for offsets in remote storage, in milliseconds.
    #[field(versions = 10.., ignorable)]
    pub timeout_ms: i32,
}

/// One topic's share of a [`ListOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ListOffsetsTopic {
    /// The name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<ListOffsetsPartition>,
}

/// The time asked for in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ListOffsetsPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader epoch that the client knows of, to be fenced if it is stale; −1 if it knows none.
    #[field(versions = 4.., default = -1, ignorable)]
    pub current_leader_epoch: LeaderEpoch,
    /// The time, in milliseconds, or −1 latest, −2 earliest, −3 largest timestamp, −4 earliest local, −5 latest
    /// tiered, −6 earliest pending upload.
    pub timestamp: i64,
}

/// Offsets by time.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 2, versions = 1..=11, flexible = 6)]
pub struct ListOffsetsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<ListOffsetsTopicResponse>,
}

/// One topic's share of a [`ListOffsetsResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ListOffsetsTopicResponse {
    /// The name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

/// The offset found in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ListOffsetsPartitionResponse {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The timestamp of the record found, in milliseconds; −1 for none.
    #[field(default = -1)]
    pub timestamp: i64,
    /// The offset found; −1 for none.
    #[field(default = -1)]
    pub offset: Offset,
    /// The leader epoch of the record found; −1 for none.
    #[field(versions = 4.., default = -1)]
    pub leader_epoch: LeaderEpoch,
}
