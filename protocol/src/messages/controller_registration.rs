//! ControllerRegistration (key 70), version 0, flexible (KIP-919). A controller that has started tells the active
//! one.

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, Uuid};

use crate::Message;

/// A controller that has started.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 70, versions = 0..=0, flexible = 0)]
pub struct ControllerRegistrationRequest {
    /// The controller.
    pub controller_id: NodeId,
    /// Drawn anew at each start of the process.
    pub incarnation_id: Uuid,
    /// Whether it is ready to take metadata over from ZooKeeper; never, since 4.0.
    pub zk_migration_ready: bool,
    /// Where it can be reached, by listener.
    pub listeners: Vec<Listener>,
    /// The features it supports, with their levels.
    pub features: Vec<Feature>,
}

/// Where the node can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Listener {
    /// The listener's name.
    pub name: CompactString,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

/// A feature that the node supports.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Feature {
    /// The feature's name.
    pub name: CompactString,
    /// The lowest level it supports.
    pub min_supported_version: i16,
    /// The highest level it supports.
    pub max_supported_version: i16,
}

/// Whether the controller is registered.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 70, versions = 0..=0, flexible = 0)]
pub struct ControllerRegistrationResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
