//! The target assignment of a share group (KIP-932): key type 12 of `__consumer_offsets`, value version 0.

use ottla_model::GroupId;

use crate::Message;

/// Names a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 12, versions = 0..=0)]
pub struct ShareGroupTargetAssignmentMetadataKey {
    /// The group.
    pub group_id: GroupId,
}

/// For which epoch the assignment was made.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 12, versions = 0..=0, flexible = 0)]
pub struct ShareGroupTargetAssignmentMetadataValue {
    /// The group epoch for which the target assignment was made.
    pub assignment_epoch: i32,
    /// When the assignment was made, in milliseconds; 0 if it is unknown.
    #[field(tag = 0)]
    pub assignment_timestamp: i64,
}
