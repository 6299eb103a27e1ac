//! DescribeShareGroupOffsets (key 90), versions 0–1, all flexible (KIP-932).
//!
//! * 1: the lag (KIP-1226).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A question for the start offsets of share groups.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 90, versions = 0..=1, flexible = 0)]
pub struct DescribeShareGroupOffsetsRequest {
    /// The groups.
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
}

/// One group asked for.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    /// The group.
    pub group_id: GroupId,
    /// The partitions asked for, by topic; null for all.
    #[field(nullable, default = empty)]
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
}

/// One topic's share of a [`DescribeShareGroupOffsetsRequestGroup`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// Start offsets of share groups.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 90, versions = 0..=1, flexible = 0)]
pub struct DescribeShareGroupOffsetsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
}

/// The start offsets of one group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    /// The group.
    pub group_id: GroupId,
    /// The answers, by topic.
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
}

/// One topic's share of a [`DescribeShareGroupOffsetsResponseGroup`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
}

/// The start offset of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The first offset that is not done with.
    pub start_offset: Offset,
    /// The leader epoch of the record at the start offset.
    pub leader_epoch: LeaderEpoch,
    /// How many records are not done with; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub lag: i64,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
}
