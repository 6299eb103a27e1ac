//! A member of a consumer group (KIP-848): key type 5 of `__consumer_offsets`, value version 0.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{GroupId, TopicName};

use crate::Message;

/// Names a member of a consumer group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 5, versions = 0..=0)]
pub struct ConsumerGroupMemberMetadataKey {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
}

/// What the member said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 5, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupMemberMetadataValue {
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
    /// The topics that the member subscribes to.
    pub subscribed_topic_names: Vec<TopicName>,
    /// The regular expression of the topics that the member subscribes to, or null.
    #[field(nullable, default = empty)]
    pub subscribed_topic_regex: Option<CompactString>,
    /// How long the member may take to give partitions up, in milliseconds; −1 if it is unknown.
    #[field(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The assignor that the member wants, or null.
    #[field(nullable, default = empty)]
    pub server_assignor: Option<CompactString>,
    /// What the member said in the classic protocol; null if it speaks the newer one.
    #[field(tag = 0, nullable, default = empty)]
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
}

/// What a member of the classic protocol said when it joined.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ClassicMemberMetadata {
    /// How long the member may be silent, in milliseconds.
    pub session_timeout_ms: i32,
    /// The protocols that the member speaks.
    pub supported_protocols: Vec<ClassicProtocol>,
}

/// A protocol that the member speaks.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ClassicProtocol {
    /// The protocol's name.
    pub name: CompactString,
    /// What it says of itself, for its protocol to read.
    pub metadata: Bytes,
}
