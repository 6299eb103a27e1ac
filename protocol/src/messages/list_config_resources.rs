//! ListConfigResources (key 74), versions 0–1, all flexible.
//!
//! * 0: only the names of client metrics subscriptions (KIP-714).
//! * 1: all types of resources (KIP-1142).

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// A question for the resources that have configs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 74, versions = 0..=1, flexible = 0)]
pub struct ListConfigResourcesRequest {
    /// The kinds of resources asked for; none for all.
    #[field(versions = 1..)]
    pub resource_types: Vec<i8>,
}

/// Resources that have configs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 74, versions = 0..=1, flexible = 0)]
pub struct ListConfigResourcesResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The resources.
    pub config_resources: Vec<ConfigResource>,
}

/// A resource that has configs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ConfigResource {
    /// The resource's name.
    pub resource_name: CompactString,
    /// The kind of resource: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    #[field(versions = 1.., default = 16, ignorable)]
    pub resource_type: i8,
}
