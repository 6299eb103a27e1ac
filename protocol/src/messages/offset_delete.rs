//! OffsetDelete (key 47), version 0, never flexible (KIP-496).

use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName};

use crate::Message;

/// Committed offsets to delete.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 47, versions = 0..=0)]
pub struct OffsetDeleteRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

/// One topic's share of an [`OffsetDeleteRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetDeleteRequestTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

/// A partition whose offset goes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetDeleteRequestPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
}

/// Which offsets were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 47, versions = 0..=0)]
pub struct OffsetDeleteResponse {
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

/// One topic's share of an [`OffsetDeleteResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetDeleteResponseTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

/// Whether one offset was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetDeleteResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
