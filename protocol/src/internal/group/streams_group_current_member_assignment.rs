//! What a member of a streams group has (KIP-1071): key type 22 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, PartitionIndex};

use crate::Message;

/// Names a member of a streams group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 22, versions = 0..=0)]
pub struct StreamsGroupCurrentMemberAssignmentKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// The tasks that the member has, and where it stands on the way to its target.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 22, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupCurrentMemberAssignmentValue {
    /// The group epoch that the member has reached.
    pub member_epoch: i32,
    /// The epoch that the member had before.
    pub previous_member_epoch: i32,
    /// The member's state, by Kafka's number.
    pub state: i8,
    /// The tasks to run.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks to keep a copy of.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks to prepare for.
    pub warmup_tasks: Vec<TaskIds>,
    /// The tasks to run no longer.
    pub active_tasks_pending_revocation: Vec<TaskIds>,
    /// The tasks to keep no copy of any longer.
    pub standby_tasks_pending_revocation: Vec<TaskIds>,
    /// The tasks to prepare for no longer.
    pub warmup_tasks_pending_revocation: Vec<TaskIds>,
}

/// Tasks of one subtopology, and when they were assigned.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TaskIds {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The partitions that the tasks work on.
    pub partitions: Vec<PartitionIndex>,
    /// The epoch in which each was assigned, in the order of the list; null if it is unknown.
    #[field(tag = 0, nullable, default = empty)]
    pub assignment_epochs: Option<Vec<i32>>,
}
