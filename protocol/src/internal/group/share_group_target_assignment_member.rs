//! What a member of a share group is to have (KIP-932): key type 13 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, PartitionIndex, Uuid};

use crate::Message;

/// Names a member of a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 13, versions = 0..=0)]
pub struct ShareGroupTargetAssignmentMemberKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// What the member is to have.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 13, versions = 0..=0, flexible = 0)]
pub struct ShareGroupTargetAssignmentMemberValue {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TopicPartition>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartition {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}
