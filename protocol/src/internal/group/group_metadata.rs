//! A classic group: key type 2 of `__consumer_offsets`, value versions 0–4.
//!
//! * 1: a rebalance timeout of its own.
//! * 2: since when the group is in its state.
//! * 3: static members (KIP-345).
//! * 4: flexible.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::GroupId;

use crate::Message;

/// Names a classic group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 2, versions = 0..=0)]
pub struct GroupMetadataKey {
    /// The group.
    pub group: GroupId,
}

/// A classic group's round and members.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 2, versions = 0..=4, flexible = 4)]
pub struct GroupMetadataValue {
    /// What kind of group it is; consumers say consumer.
    pub protocol_type: CompactString,
    /// The round of the group.
    pub generation: i32,
    /// The protocol that the group has chosen, or null.
    #[field(nullable, default = empty)]
    pub protocol: Option<CompactString>,
    /// The member that assigns, or null.
    #[field(nullable, default = empty)]
    pub leader: Option<CompactString>,
    /// Since when the group is in its state, in milliseconds; −1 if it is unknown.
    #[field(versions = 2.., default = -1, ignorable)]
    pub current_state_timestamp: i64,
    /// The members.
    pub members: Vec<MemberMetadata>,
}

/// A member of the group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct MemberMetadata {
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 3.., nullable, ignorable)]
    pub group_instance_id: Option<CompactString>,
    /// What the client calls itself.
    pub client_id: CompactString,
    /// The address that the client connects from.
    pub client_host: CompactString,
    /// How long the member may take to join anew, in milliseconds; −1 for the session timeout.
    #[field(versions = 1.., default = -1, ignorable)]
    pub rebalance_timeout: i32,
    /// How long the member may be silent, in milliseconds.
    pub session_timeout: i32,
    /// What the member said when it joined, for its protocol to read.
    pub subscription: Bytes,
    /// What the member is assigned, for its protocol to read.
    pub assignment: Bytes,
}
