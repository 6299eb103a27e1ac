//! BrokerRegistration (key 62), versions 0–4, all flexible (KIP-631). A broker asks its controller for it.
//!
//! * 1: whether it is a migrating ZooKeeper broker.
//! * 2: log directories (KIP-858).
//! * 3: the epoch before a clean shutdown (KIP-966).
//! * 4: features may have 0 as their lowest level.

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, Uuid};

use crate::Message;

/// A broker that has started.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 62, versions = 0..=4, flexible = 0)]
pub struct BrokerRegistrationRequest {
    /// The broker.
    pub broker_id: NodeId,
    /// The cluster that the broker belongs to.
    pub cluster_id: CompactString,
    /// Drawn anew at each start of the process.
    pub incarnation_id: Uuid,
    /// Where it can be reached, by listener.
    pub listeners: Vec<Listener>,
    /// The features it supports, with their levels.
    pub features: Vec<Feature>,
    /// The rack it stands in, or null.
    #[field(nullable, default = empty)]
    pub rack: Option<CompactString>,
    /// Whether it is a ZooKeeper broker on its way to KRaft; never, since 4.0.
    #[field(versions = 1..)]
    pub is_migrating_zk_broker: bool,
    /// The ids of its log directories that are online.
    #[field(versions = 2.., ignorable)]
    pub log_dirs: Vec<Uuid>,
    /// The epoch before a clean shutdown; −1 if there was none.
    #[field(versions = 3.., default = -1, ignorable)]
    pub previous_broker_epoch: i64,
}

/// Where the broker can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Listener {
    /// The listener's name.
    pub name: CompactString,
    /// The host that clients connect to.
    pub host: CompactString,
    /// The port that clients connect to.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

/// A feature that the broker supports.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Feature {
    /// The feature's name.
    pub name: CompactString,
    /// The lowest level it supports.
    pub min_supported_version: i16,
    /// The highest level it supports.
    pub max_supported_version: i16,
}

/// The epoch of a broker that has started.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 62, versions = 0..=4, flexible = 0)]
pub struct BrokerRegistrationResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The broker's new epoch; −1 with an error.
    #[field(default = -1)]
    pub broker_epoch: i64,
}
