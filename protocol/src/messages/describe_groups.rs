//! DescribeGroups (key 15), versions 0–6.
//!
//! * 1: throttle time.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: the operations that the client may do (KIP-430).
//! * 4: static members (KIP-345).
//! * 5: flexible.
//! * 6: a group that does not exist is an error, with a message (KIP-1043).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use crate::Message;

/// A question for classic groups.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 15, versions = 0..=6, flexible = 5)]
pub struct DescribeGroupsRequest {
    /// The groups.
    pub groups: Vec<GroupId>,
    /// Whether to say what the client may do on the groups.
    #[field(versions = 3..)]
    pub include_authorized_operations: bool,
}

/// Classic groups and their members.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 15, versions = 0..=6, flexible = 5)]
pub struct DescribeGroupsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribedGroup {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(versions = 6.., nullable)]
    pub error_message: Option<CompactString>,
    /// The group.
    pub group_id: GroupId,
    /// The group's state.
    pub group_state: CompactString,
    /// What kind of group it is; consumers say consumer.
    pub protocol_type: CompactString,
    /// The protocol that the group has chosen.
    pub protocol_data: CompactString,
    /// The members.
    pub members: Vec<DescribedGroupMember>,
    /// A bit for each operation the client may do on the group; −2³¹ if it did not ask.
    #[field(versions = 3.., default = i32::MIN)]
    pub authorized_operations: i32,
}

/// A member of the group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribedGroupMember {
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 4.., nullable, ignorable)]
    pub group_instance_id: Option<CompactString>,
    /// What the client calls itself.
    pub client_id: CompactString,
    /// The address that the client connects from.
    pub client_host: CompactString,
    /// What the member said when it joined, for its protocol to read.
    pub member_metadata: Bytes,
    /// What the member is assigned, for its protocol to read.
    pub member_assignment: Bytes,
}
