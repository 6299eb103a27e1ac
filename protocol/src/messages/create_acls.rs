//! CreateAcls (key 30), versions 1–3.
//!
//! * 1: pattern types (KIP-290).
//! * 2: flexible.
//! * 3: users as a kind of resource (KIP-373).

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// Access control entries to create.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 30, versions = 1..=3, flexible = 2)]
pub struct CreateAclsRequest {
    /// The entries to create.
    pub creations: Vec<AclCreation>,
}

/// An entry to create.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AclCreation {
    /// The kind of resource, by Kafka's number.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// 3: the name itself; 4: all names that begin so.
    #[field(default = 3)]
    pub resource_pattern_type: i8,
    /// The principal: type, colon, name.
    pub principal: CompactString,
    /// The host, or * for any.
    pub host: CompactString,
    /// The operation, by Kafka's number.
    pub operation: i8,
    /// 2 deny, 3 allow.
    pub permission_type: i8,
}

/// What became of the entries, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 30, versions = 1..=3, flexible = 2)]
pub struct CreateAclsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, in the order of the entries.
    pub results: Vec<AclCreationResult>,
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AclCreationResult {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
