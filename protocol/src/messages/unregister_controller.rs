//! UnregisterController (key 94), version 0, flexible.

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId};

use crate::Message;

/// A controller to forget.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 94, versions = 0..=0, flexible = 0)]
pub struct UnregisterControllerRequest {
    /// The controller.
    pub controller_id: NodeId,
}

/// Whether the controller is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 94, versions = 0..=0, flexible = 0)]
pub struct UnregisterControllerResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
