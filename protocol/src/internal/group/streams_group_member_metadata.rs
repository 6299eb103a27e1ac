//! A member of a streams group (KIP-1071): key type 19 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::GroupId;

use crate::Message;

/// Names a member of a streams group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 19, versions = 0..=0)]
pub struct StreamsGroupMemberMetadataKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// What the member said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 19, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupMemberMetadataValue {
    /// The static member's id, or null.
    #[field(nullable, default = empty)]
    pub instance_id: Option<CompactString>,
    /// The member's rack, or null.
    #[field(nullable, default = empty)]
    pub rack_id: Option<CompactString>,
    /// What the client calls itself.
    pub client_id: CompactString,
    /// The address that the client connects from.
    pub client_host: CompactString,
    /// How long the member may take to give tasks up, in milliseconds; −1 if it is unknown.
    #[field(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The version of the topology.
    pub topology_epoch: i32,
    /// The process that the member runs in.
    pub process_id: CompactString,
    /// Where the application can be reached, or null.
    #[field(nullable)]
    pub user_endpoint: Option<Endpoint>,
    /// Names and values that the rack-aware assignment looks at.
    pub client_tags: Vec<KeyValue>,
}

/// Where a member's application can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Endpoint {
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: u16,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct KeyValue {
    /// The name.
    pub key: CompactString,
    /// The value.
    pub value: CompactString,
}
