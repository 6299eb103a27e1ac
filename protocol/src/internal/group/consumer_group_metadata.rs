//! A consumer group (KIP-848): key type 3 of `__consumer_offsets`, value version 0.

use ottla_model::GroupId;

use crate::Message;

/// Names a consumer group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 3, versions = 0..=0)]
pub struct ConsumerGroupMetadataKey {
    /// The group.
    pub group_id: GroupId,
}

/// A consumer group's epoch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 3, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupMetadataValue {
    /// The group's epoch.
    pub epoch: i32,
    /// A hash of what the subscribed topics are; 0 if it is unknown.
    #[field(tag = 0)]
    pub metadata_hash: i64,
}
