//! A member of a share group (KIP-932): key type 10 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, TopicName};

use crate::Message;

/// Names a member of a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 10, versions = 0..=0)]
pub struct ShareGroupMemberMetadataKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// What the member said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 10, versions = 0..=0, flexible = 0)]
pub struct ShareGroupMemberMetadataValue {
    /// The member's rack, or null.
    #[field(nullable, default = empty)]
    pub rack_id: Option<CompactString>,
    /// What the client calls itself.
    pub client_id: CompactString,
    /// The address that the client connects from.
    pub client_host: CompactString,
    /// The topics that the member subscribes to.
    pub subscribed_topic_names: Vec<TopicName>,
}
