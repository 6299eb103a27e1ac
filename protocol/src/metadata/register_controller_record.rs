//! Metadata record 27, version 0 (KIP-919).

use compact_str::CompactString;
use ottla_model::{NodeId, Uuid};

use crate::Message;

/// A controller is registered.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 27, versions = 0..=0, flexible = 0)]
pub struct RegisterControllerRecord {
    /// The controller.
    pub controller_id: NodeId,
    /// Drawn anew at each start of the process.
    pub incarnation_id: Uuid,
    /// Whether a migration from ZooKeeper may begin; never, since 4.0.
    pub zk_migration_ready: bool,
    /// Where it can be reached, by listener.
    pub end_points: Vec<ControllerEndpoint>,
    /// The features it supports, with their levels.
    pub features: Vec<ControllerFeature>,
}

/// Where the controller can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ControllerEndpoint {
    /// The listener's name.
    pub name: CompactString,
    /// The host that clients connect to.
    pub host: CompactString,
    /// The port that clients connect to.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

/// A feature that the controller supports.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ControllerFeature {
    /// The feature's name.
    pub name: CompactString,
    /// The lowest level it supports.
    pub min_supported_version: i16,
    /// The highest level it supports.
    pub max_supported_version: i16,
}
