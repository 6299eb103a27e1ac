//! JoinGroup (key 11), versions 0–9. The way into a classic group.
//!
//! * 1: a rebalance timeout of its own.
//! * 2: throttle time.
//! * 3: nothing; the throttle time is acted on after the answer was sent.
//! * 4: a member without an id is given one and has to ask again (KIP-394).
//! * 5: static members (KIP-345).
//! * 6: flexible.
//! * 7: the answer names the protocol type, and the protocol may be null (KIP-559).
//! * 8: a reason (KIP-800).
//! * 9: a leader may be told not to assign anything (KIP-814).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use crate::Message;

/// A wish to be a member of a classic group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 11, versions = 0..=9, flexible = 6)]
pub struct JoinGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// How long the member may be silent, in milliseconds.
    pub session_timeout_ms: i32,
    /// How long the member may take to join anew, in milliseconds; −1 for the session timeout.
    #[field(versions = 1.., default = -1, ignorable)]
    pub rebalance_timeout_ms: i32,
    /// The member; empty for a new one.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 5.., nullable)]
    pub group_instance_id: Option<CompactString>,
    /// What kind of group it is; consumers say consumer.
    pub protocol_type: CompactString,
    /// The protocols that the member speaks, the best first.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// Why, in words, or null.
    #[field(versions = 8.., nullable, ignorable)]
    pub reason: Option<CompactString>,
}

/// A protocol that the member speaks.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct JoinGroupRequestProtocol {
    /// The protocol's name.
    pub name: CompactString,
    /// What it says of itself, for its protocol to read.
    pub metadata: Bytes,
}

/// The round that the member has joined.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 11, versions = 0..=9, flexible = 6)]
pub struct JoinGroupResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The round of the group; −1 with an error.
    #[field(default = -1)]
    pub generation_id: i32,
    /// What kind of group it is, or null.
    #[field(versions = 7.., nullable, ignorable)]
    pub protocol_type: Option<CompactString>,
    /// The protocol that the group has chosen; null for none.
    #[field(nullable = 7.., default = empty)]
    pub protocol_name: Option<CompactString>,
    /// The member that assigns.
    pub leader: CompactString,
    /// Whether the leader must not assign anything: what there is, stays.
    #[field(versions = 9..)]
    pub skip_assignment: bool,
    /// The member's id; a new one has to come back with it.
    pub member_id: CompactString,
    /// All members for the leader, none for the others.
    pub members: Vec<JoinGroupResponseMember>,
}

/// A member, for the leader to assign to.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct JoinGroupResponseMember {
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 5.., nullable, ignorable)]
    pub group_instance_id: Option<CompactString>,
    /// What it says of itself, for its protocol to read.
    pub metadata: Bytes,
}
