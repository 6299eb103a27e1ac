//! DescribeAcls (key 29), versions 1–3.
//!
//! * 1: pattern types (KIP-290).
//! * 2: flexible.
//! * 3: users as a kind of resource (KIP-373).

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// A question for access control entries.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 29, versions = 1..=3, flexible = 2)]
pub struct DescribeAclsRequest {
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

/// Access control entries.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 29, versions = 1..=3, flexible = 2)]
pub struct DescribeAclsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The resources.
    pub resources: Vec<DescribeAclsResource>,
}

/// The entries of one resource pattern.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeAclsResource {
    /// The kind of resource, by Kafka's number.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// 3: the name itself; 4: all names that begin so.
    #[field(default = 3)]
    pub pattern_type: i8,
    /// The entries.
    pub acls: Vec<AclDescription>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AclDescription {
    /// The principal: type, colon, name.
    pub principal: CompactString,
    /// The host, or * for any.
    pub host: CompactString,
    /// The operation, by Kafka's number.
    pub operation: i8,
    /// 2 deny, 3 allow.
    pub permission_type: i8,
}
