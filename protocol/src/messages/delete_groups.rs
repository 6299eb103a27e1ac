//! DeleteGroups (key 42), versions 0–3 (KIP-229).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.
//! * 3: an error message, and a new error code.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use crate::Message;

/// Groups to delete.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 42, versions = 0..=3, flexible = 2)]
pub struct DeleteGroupsRequest {
    /// The groups.
    pub groups_names: Vec<GroupId>,
}

/// Which groups were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 42, versions = 0..=3, flexible = 2)]
pub struct DeleteGroupsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by group.
    pub results: Vec<DeletableGroupResult>,
}

/// What became of one group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeletableGroupResult {
    /// The group.
    pub group_id: GroupId,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(versions = 3.., nullable, ignorable)]
    pub error_message: Option<CompactString>,
}
