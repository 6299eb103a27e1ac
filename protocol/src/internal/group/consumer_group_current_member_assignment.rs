//! What a member of a consumer group has (KIP-848): key type 8 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, PartitionIndex, Uuid};

use crate::Message;

/// Names a member of a consumer group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 8, versions = 0..=0)]
pub struct ConsumerGroupCurrentMemberAssignmentKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// What the member has, and where it stands on the way to its target.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 8, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// The group epoch that the member has reached.
    pub member_epoch: i32,
    /// The epoch that the member had before.
    pub previous_member_epoch: i32,
    /// 0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown.
    pub state: i8,
    /// The partitions that the member has, by topic.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// The partitions that the member has to give up, by topic.
    pub partitions_pending_revocation: Vec<TopicPartitions>,
}

/// One topic's partitions, and when they were assigned.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
    /// The epoch in which each was assigned, in the order of the list; null if it is unknown.
    #[field(tag = 0, nullable, default = empty)]
    pub assignment_epochs: Option<Vec<i32>>,
}
