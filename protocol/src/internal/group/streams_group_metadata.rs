//! A streams group (KIP-1071): key type 17 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::GroupId;

use crate::Message;

/// Names a streams group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 17, versions = 0..=0)]
pub struct StreamsGroupMetadataKey {
    /// The group.
    pub group_id: GroupId,
}

/// A streams group's epoch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 17, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupMetadataValue {
    /// The group's epoch.
    pub epoch: i32,
    /// A hash of what the subscribed topics are; 0 if it is unknown.
    pub metadata_hash: i64,
    /// The version of the topology whose topics were seen to fit; −1 for none.
    #[field(tag = 0, default = -1)]
    pub validated_topology_epoch: i32,
    /// The configs that the last assignment was made with, or null.
    #[field(tag = 1, nullable, default = empty)]
    pub last_assignment_configs: Option<Vec<LastAssignmentConfig>>,
    /// The version of the topology whose description is kept; −1 for none.
    #[field(tag = 2, default = -1)]
    pub stored_description_topology_epoch: i32,
    /// The version of the topology whose description could not be kept; −1 for none.
    #[field(tag = 3, default = -1)]
    pub failed_description_topology_epoch: i32,
}

/// A config that the last assignment was made with.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct LastAssignmentConfig {
    /// The name.
    pub key: CompactString,
    /// The value.
    pub value: CompactString,
}
