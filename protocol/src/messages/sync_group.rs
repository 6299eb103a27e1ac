//! SyncGroup (key 14), versions 0–5.
//!
//! * 1: throttle time.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: static members (KIP-345).
//! * 4: flexible.
//! * 5: protocol type and name, both ways (KIP-559).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use crate::Message;

/// What the leader of a round assigns; nothing from the other members.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 14, versions = 0..=5, flexible = 4)]
pub struct SyncGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// The round of the group.
    pub generation_id: i32,
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 3.., nullable)]
    pub group_instance_id: Option<CompactString>,
    /// What kind of group it is, or null.
    #[field(versions = 5.., nullable, ignorable)]
    pub protocol_type: Option<CompactString>,
    /// The protocol that the group has chosen, or null.
    #[field(versions = 5.., nullable, ignorable)]
    pub protocol_name: Option<CompactString>,
    /// What each member is assigned, from the leader; none from the others.
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

/// What one member is assigned.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct SyncGroupRequestAssignment {
    /// The member.
    pub member_id: CompactString,
    /// What the member is assigned, for its protocol to read.
    pub assignment: Bytes,
}

/// What is assigned to the member.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 14, versions = 0..=5, flexible = 4)]
pub struct SyncGroupResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// What kind of group it is, or null.
    #[field(versions = 5.., nullable, ignorable)]
    pub protocol_type: Option<CompactString>,
    /// The protocol that the group has chosen, or null.
    #[field(versions = 5.., nullable, ignorable)]
    pub protocol_name: Option<CompactString>,
    /// What the member is assigned, for its protocol to read.
    pub assignment: Bytes,
}
