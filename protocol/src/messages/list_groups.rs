//! ListGroups (key 16), versions 0–5.
//!
//! * 1: throttle time.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: flexible.
//! * 4: the groups' states, and a filter for them (KIP-518).
//! * 5: the groups' types, and a filter for them (KIP-848).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use crate::Message;

/// A question for the groups that a broker coordinates.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 16, versions = 0..=5, flexible = 3)]
pub struct ListGroupsRequest {
    /// The states asked for; none for all.
    #[field(versions = 4..)]
    pub states_filter: Vec<CompactString>,
    /// The types asked for; none for all.
    #[field(versions = 5..)]
    pub types_filter: Vec<CompactString>,
}

/// Groups.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 16, versions = 0..=5, flexible = 3)]
pub struct ListGroupsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The groups.
    pub groups: Vec<ListedGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ListedGroup {
    /// The group.
    pub group_id: GroupId,
    /// What kind of group it is; consumers say consumer.
    pub protocol_type: CompactString,
    /// The group's state.
    #[field(versions = 4.., ignorable)]
    pub group_state: CompactString,
    /// classic, consumer, share or streams.
    #[field(versions = 5.., ignorable)]
    pub group_type: CompactString,
}
