//! IncrementalAlterConfigs (key 44), versions 0–1 (KIP-339).
//!
//! * 1: flexible.

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// Changes to single configs of resources.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 44, versions = 0..=1, flexible = 1)]
pub struct IncrementalAlterConfigsRequest {
    /// The resources.
    pub resources: Vec<AlterConfigsResource>,
    /// Whether to check only, and change nothing.
    pub validate_only: bool,
}

/// The changes for one resource.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterConfigsResource {
    /// The kind of resource: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// The configs.
    pub configs: Vec<AlterableConfig>,
}

/// A change of one config.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterableConfig {
    /// The config's name.
    pub name: CompactString,
    /// 0 set, 1 delete, 2 append, 3 subtract.
    pub config_operation: i8,
    /// The config's value, or null.
    #[field(nullable, default = empty)]
    pub value: Option<CompactString>,
}

/// What became of the resources.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 44, versions = 0..=1, flexible = 1)]
pub struct IncrementalAlterConfigsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by resource.
    pub responses: Vec<AlterConfigsResourceResponse>,
}

/// What became of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterConfigsResourceResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The kind of resource: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
}
