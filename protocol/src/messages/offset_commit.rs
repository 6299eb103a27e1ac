//! OffsetCommit (key 8), versions 2–10.
//!
//! * 2: one retention time for all offsets.
//! * 3: throttle time.
//! * 4: nothing; the throttle time is acted on after the answer was sent.
//! * 5: no retention time any more.
//! * 6: the leader epoch of the last record consumed (KIP-320).
//! * 7: static members (KIP-345).
//! * 8: flexible.
//! * 9: the member epoch of the newer groups, where the generation stood (KIP-848).
//! * 10: topics by id, no longer by name.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// Offsets to commit for a group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 8, versions = 2..=10, flexible = 8)]
pub struct OffsetCommitRequest {
    /// The group.
    pub group_id: GroupId,
    /// The round of a classic group, or the member's epoch; −1 for an offset from outside.
    #[field(default = -1)]
    pub generation_id_or_member_epoch: i32,
    /// The member that commits; empty for an offset from outside.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 7.., nullable)]
    pub group_instance_id: Option<CompactString>,
    /// How long to keep the offsets, in milliseconds; −1 for the broker's default.
    #[field(versions = ..=4, default = -1, ignorable)]
    pub retention_time_ms: i64,
    /// The offsets, by topic.
    pub topics: Vec<OffsetCommitRequestTopic>,
}

/// One topic's share of an [`OffsetCommitRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetCommitRequestTopic {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=9, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

/// One partition's offset.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The offset of the next record to consume.
    pub committed_offset: Offset,
    /// The leader epoch of the last record consumed; −1 if it is unknown.
    #[field(versions = 6.., default = -1, ignorable)]
    pub committed_leader_epoch: LeaderEpoch,
    /// What the consumer adds for itself, or null.
    #[field(nullable, default = empty)]
    pub committed_metadata: Option<CompactString>,
}

/// Which offsets were committed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 8, versions = 2..=10, flexible = 8)]
pub struct OffsetCommitResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<OffsetCommitResponseTopic>,
}

/// One topic's share of an [`OffsetCommitResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetCommitResponseTopic {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=9, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

/// Whether one offset was committed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
