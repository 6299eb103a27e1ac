//! DeleteAcls (key 31), versions 1–3.
//!
//! * 1: pattern types (KIP-290).
//! * 2: flexible.
//! * 3: users as a kind of resource (KIP-373).

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// Access control entries to delete.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 31, versions = 1..=3, flexible = 2)]
pub struct DeleteAclsRequest {
    /// The filters.
    pub filters: Vec<DeleteAclsFilter>,
}

/// Which entries to delete: all that match.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteAclsFilter {
    /// The kind of resource, by Kafka's number; 1 for any.
    pub resource_type_filter: i8,
    /// The resource's name, or null for any.
    #[field(nullable, default = empty)]
    pub resource_name_filter: Option<CompactString>,
    /// 1: any; 2: all that apply to the name; 3: the name itself; 4: all names that begin so.
    #[field(default = 3)]
    pub pattern_type_filter: i8,
    /// The principal, or null for any.
    #[field(nullable, default = empty)]
    pub principal_filter: Option<CompactString>,
    /// The host, or null for any.
    #[field(nullable, default = empty)]
    pub host_filter: Option<CompactString>,
    /// The operation, by Kafka's number; 1 for any.
    pub operation: i8,
    /// 1 any, 2 deny, 3 allow.
    pub permission_type: i8,
}

/// Which entries were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 31, versions = 1..=3, flexible = 2)]
pub struct DeleteAclsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by filter.
    pub filter_results: Vec<DeleteAclsFilterResult>,
}

/// What became of one filter's entries.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteAclsFilterResult {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The entries that matched.
    pub matching_acls: Vec<DeleteAclsMatchingAcl>,
}

/// One entry that matched.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteAclsMatchingAcl {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The kind of resource, by Kafka's number.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// 3: the name itself; 4: all names that begin so.
    #[field(default = 3)]
    pub pattern_type: i8,
    /// The principal: type, colon, name.
    pub principal: CompactString,
    /// The host, or * for any.
    pub host: CompactString,
    /// The operation, by Kafka's number.
    pub operation: i8,
    /// 2 deny, 3 allow.
    pub permission_type: i8,
}
