//! What a member of a streams group is to have (KIP-1071): key type 21 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, PartitionIndex};

use crate::Message;

/// Names a member of a streams group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 21, versions = 0..=0)]
pub struct StreamsGroupTargetAssignmentMemberKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// The tasks that the member is to have.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 21, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTargetAssignmentMemberValue {
    /// The tasks to run.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks to keep a copy of.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks to prepare for.
    pub warmup_tasks: Vec<TaskIds>,
}

/// Tasks of one subtopology.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TaskIds {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The partitions that the tasks work on.
    pub partitions: Vec<PartitionIndex>,
}
