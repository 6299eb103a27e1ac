//! What a member of a share group has (KIP-932): key type 14 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, PartitionIndex, Uuid};

use crate::Message;

/// Names a member of a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 14, versions = 0..=0)]
pub struct ShareGroupCurrentMemberAssignmentKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// What the member has.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 14, versions = 0..=0, flexible = 0)]
pub struct ShareGroupCurrentMemberAssignmentValue {
    /// The group epoch that the member has reached.
    pub member_epoch: i32,
    /// The epoch that the member had before.
    pub previous_member_epoch: i32,
    /// The member's state, by Kafka's number.
    pub state: i8,
    /// The partitions that the member has, by topic.
    pub assigned_partitions: Vec<TopicPartitions>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}
