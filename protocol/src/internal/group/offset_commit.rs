//! Committed offsets: key types 0 and 1 of `__consumer_offsets`, value versions 0–4. Type 0, with version 0 alone, is
//! that of Kafka 0.8.
//!
//! * 1: when the offset is to be forgotten.
//! * 2: that is gone again.
//! * 3: the leader epoch of the last record consumed (KIP-320).
//! * 4: flexible; the topic's id as a tagged field.

use compact_str::CompactString;
use ottla_model::{GroupId, LeaderEpoch, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// Names a partition that a group consumes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 0..=0)]
pub struct LegacyOffsetCommitKey {
    /// The group.
    pub group: GroupId,
    /// The topic's name.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
}

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 0..=0)]
pub struct LegacyOffsetCommitValue {
    /// The offset of the next record to consume.
    pub offset: Offset,
    /// What the consumer added for itself.
    pub metadata: CompactString,
    /// When it was committed, in milliseconds.
    pub commit_timestamp: i64,
}

/// Names a partition that a group consumes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 1, versions = 0..=0)]
pub struct OffsetCommitKey {
    /// The group.
    pub group: GroupId,
    /// The topic's name.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
}

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 1, versions = 0..=4, flexible = 4)]
pub struct OffsetCommitValue {
    /// The offset of the next record to consume.
    pub offset: Offset,
    /// The leader epoch of the last record consumed; −1 if it is unknown.
    #[field(versions = 3.., default = -1, ignorable)]
    pub leader_epoch: LeaderEpoch,
    /// What the consumer added for itself.
    pub metadata: CompactString,
    /// When it was committed, in milliseconds.
    pub commit_timestamp: i64,
    /// When it is to be forgotten, in milliseconds; −1 for the broker's default.
    #[field(versions = 1, default = -1, ignorable)]
    pub expire_timestamp: i64,
    /// The topic's id; zero if it is unknown.
    #[field(versions = 4.., tag = 0, ignorable)]
    pub topic_id: Uuid,
}
