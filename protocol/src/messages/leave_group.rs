//! LeaveGroup (key 13), versions 0–5.
//!
//! * 1: throttle time.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: several members in one request, static ones too (KIP-345).
//! * 4: flexible.
//! * 5: a reason (KIP-800).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use crate::Message;

/// Members that leave a classic group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 13, versions = 0..=5, flexible = 4)]
pub struct LeaveGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member that leaves.
    #[field(versions = ..=2)]
    pub member_id: CompactString,
    /// The members that leave.
    #[field(versions = 3..)]
    pub members: Vec<MemberIdentity>,
}

/// A member that leaves.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct MemberIdentity {
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(nullable)]
    pub group_instance_id: Option<CompactString>,
    /// Why, in words, or null.
    #[field(versions = 5.., nullable, ignorable)]
    pub reason: Option<CompactString>,
}

/// Which members have left.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 13, versions = 0..=5, flexible = 4)]
pub struct LeaveGroupResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// The answers, by member.
    #[field(versions = 3..)]
    pub members: Vec<MemberResponse>,
}

/// Whether one member has left.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct MemberResponse {
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(nullable, default = empty)]
    pub group_instance_id: Option<CompactString>,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
