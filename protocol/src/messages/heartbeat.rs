//! Heartbeat (key 12), versions 0–4.
//!
//! * 1: throttle time.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: static members (KIP-345).
//! * 4: flexible.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use crate::Message;

/// A member of a classic group lives.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 12, versions = 0..=4, flexible = 4)]
pub struct HeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// The round of the group.
    pub generation_id: i32,
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 3.., nullable)]
    pub group_instance_id: Option<CompactString>,
}

/// Whether the member is still one, and whether it must join anew.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 12, versions = 0..=4, flexible = 4)]
pub struct HeartbeatResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
