//! A share group (KIP-932): key type 11 of `__consumer_offsets`, value version 0.

use ottla_model::GroupId;

use crate::Message;

/// Names a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 11, versions = 0..=0)]
pub struct ShareGroupMetadataKey {
    /// The group.
    pub group_id: GroupId,
}

/// A share group's epoch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 11, versions = 0..=0, flexible = 0)]
pub struct ShareGroupMetadataValue {
    /// The group's epoch.
    pub epoch: i32,
    /// A hash of what the subscribed topics are; 0 if it is unknown.
    pub metadata_hash: i64,
}
