//! BrokerHeartbeat (key 63), versions 0–2, all flexible (KIP-631). A broker tells its controller that it lives.
//!
//! * 1: log directories that are not online (KIP-858).
//! * 2: log directories that take no new replicas (KIP-1066).

use ottla_model::{ErrorCode, NodeId, Offset, Uuid};

use crate::Message;

/// A broker lives.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 63, versions = 0..=2, flexible = 0)]
pub struct BrokerHeartbeatRequest {
    /// The broker.
    pub broker_id: NodeId,
    /// The broker's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub broker_epoch: i64,
    /// The last offset of the metadata log that the broker has applied.
    pub current_metadata_offset: Offset,
    /// Whether the broker wants to be fenced.
    pub want_fence: bool,
    /// Whether the broker wants to shut down.
    pub want_shut_down: bool,
    /// The log directories that are not online.
    #[field(versions = 1.., tag = 0)]
    pub offline_log_dirs: Vec<Uuid>,
    /// The log directories that take no new replicas, or null if the broker does not say.
    #[field(versions = 2.., tag = 1, nullable)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

/// What the controller wants of the broker.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 63, versions = 0..=2, flexible = 0)]
pub struct BrokerHeartbeatResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Whether the broker has nearly all of the metadata log.
    pub is_caught_up: bool,
    /// Whether the broker is fenced.
    #[field(default = true)]
    pub is_fenced: bool,
    /// Whether the broker may shut down now.
    pub should_shut_down: bool,
}
