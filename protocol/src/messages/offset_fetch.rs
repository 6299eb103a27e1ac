//! OffsetFetch (key 9), versions 1–10.
//!
//! * 1: nothing; version 0 asked ZooKeeper.
//! * 2: null for all topics, and an error code for the whole answer.
//! * 3: throttle time.
//! * 4: nothing; the throttle time is acted on after the answer was sent.
//! * 5: the leader epoch of the last record consumed (KIP-320).
//! * 6: flexible.
//! * 7: only offsets that no open transaction may change (KIP-447).
//! * 8: several groups in one request (KIP-709).
//! * 9: the member that asks, and its epoch (KIP-848).
//! * 10: topics by id, no longer by name.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A question for a group's committed offsets.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 9, versions = 1..=10, flexible = 6)]
pub struct OffsetFetchRequest {
    /// The group asked for.
    #[field(versions = ..=7)]
    pub group_id: GroupId,
    /// The partitions asked for, by topic; null for all.
    #[field(versions = ..=7, nullable = 2..=7, default = empty)]
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// The groups asked for.
    #[field(versions = 8..)]
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// Whether to fail for offsets that an open transaction may change.
    #[field(versions = 7..)]
    pub require_stable: bool,
}

/// One topic's share of an [`OffsetFetchRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchRequestTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partition_indexes: Vec<PartitionIndex>,
}

/// One group asked for.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchRequestGroup {
    /// The group.
    pub group_id: GroupId,
    /// The member that asks, or null.
    #[field(versions = 9.., nullable, ignorable)]
    pub member_id: Option<CompactString>,
    /// The epoch of the member that asks; −1 for none.
    #[field(versions = 9.., default = -1, ignorable)]
    pub member_epoch: i32,
    /// The partitions asked for, by topic; null for all.
    #[field(nullable, default = empty)]
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

/// One topic's share of an [`OffsetFetchRequestGroup`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchRequestTopics {
    /// The topic's name; empty where the id says it.
    #[field(versions = 8..=9, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partition_indexes: Vec<PartitionIndex>,
}

/// Committed offsets.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 9, versions = 1..=10, flexible = 6)]
pub struct OffsetFetchResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The offsets, by topic.
    #[field(versions = ..=7)]
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// Why the whole request failed, or none.
    #[field(versions = 2..=7, ignorable)]
    pub error_code: ErrorCode,
    /// The offsets, by group.
    #[field(versions = 8..)]
    pub groups: Vec<OffsetFetchResponseGroup>,
}

/// One topic's share of an [`OffsetFetchResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchResponseTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

/// One partition's offset.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The offset of the next record to consume; −1 for none.
    pub committed_offset: Offset,
    /// The leader epoch of the last record consumed; −1 if it is unknown.
    #[field(versions = 5..=7, default = -1, ignorable)]
    pub committed_leader_epoch: LeaderEpoch,
    /// What the consumer added for itself.
    #[field(nullable, default = empty)]
    pub metadata: Option<CompactString>,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}

/// The offsets of one group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchResponseGroup {
    /// The group.
    pub group_id: GroupId,
    /// The offsets, by topic.
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// Why the whole group failed, or none.
    pub error_code: ErrorCode,
}

/// One topic's share of an [`OffsetFetchResponseGroup`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchResponseTopics {
    /// The topic's name; empty where the id says it.
    #[field(versions = 8..=9, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

/// One partition's offset.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetFetchResponsePartitions {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The offset of the next record to consume; −1 for none.
    pub committed_offset: Offset,
    /// The leader epoch of the last record consumed; −1 if it is unknown.
    #[field(default = -1)]
    pub committed_leader_epoch: LeaderEpoch,
    /// What the consumer added for itself.
    #[field(nullable, default = empty)]
    pub metadata: Option<CompactString>,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
