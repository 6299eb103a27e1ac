//! AlterShareGroupOffsets (key 91), version 0, flexible (KIP-932).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// New start offsets of a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 91, versions = 0..=0, flexible = 0)]
pub struct AlterShareGroupOffsetsRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
}

/// One topic's share of an [`AlterShareGroupOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterShareGroupOffsetsRequestTopic {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
}

/// One partition's new start offset.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterShareGroupOffsetsRequestPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The first offset to deliver.
    pub start_offset: Offset,
}

/// Which start offsets were set.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 91, versions = 0..=0, flexible = 0)]
pub struct AlterShareGroupOffsetsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The answers, by topic.
    pub responses: Vec<AlterShareGroupOffsetsResponseTopic>,
}

/// One topic's share of an [`AlterShareGroupOffsetsResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
}

/// Whether one partition's start offset was set.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
}
