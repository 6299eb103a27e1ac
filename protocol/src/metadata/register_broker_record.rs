//! Metadata record 0, versions 0–4.
//!
//! * 1: controlled shutdown.
//! * 2: migration from ZooKeeper.
//! * 3: log directories (KIP-858).
//! * 4: cordoned log directories.

use compact_str::CompactString;
use ottla_model::{NodeId, Uuid};

use crate::Message;

/// A broker is registered.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 0..=4, flexible = 0)]
pub struct RegisterBrokerRecord {
    /// The broker.
    pub broker_id: NodeId,
    /// Whether it is a ZooKeeper broker on its way to KRaft; never, since 4.0.
    #[field(versions = 2..)]
    pub is_migrating_zk_broker: bool,
    /// Drawn anew at each start of the process.
    pub incarnation_id: Uuid,
    /// The broker's epoch: the offset of its registration record.
    pub broker_epoch: i64,
    /// Where it can be reached, by listener.
    pub end_points: Vec<BrokerEndpoint>,
    /// The features it supports, with their levels.
    pub features: Vec<BrokerFeature>,
    /// The rack it stands in, or null.
    #[field(nullable, default = empty)]
    pub rack: Option<CompactString>,
    /// Whether it is fenced: known, but not to be used.
    #[field(default = true)]
    pub fenced: bool,
    /// Whether it is shutting down in good order.
    #[field(versions = 1..)]
    pub in_controlled_shutdown: bool,
    /// The ids of its log directories that are online.
    #[field(versions = 3.., tag = 0)]
    pub log_dirs: Vec<Uuid>,
    /// The ids of its log directories that take no new partitions, or null if that is not said.
    #[field(versions = 4.., tag = 1, nullable)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

/// Where the broker can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct BrokerEndpoint {
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
pub struct BrokerFeature {
    /// The feature's name.
    pub name: CompactString,
    /// The lowest level it supports.
    pub min_supported_version: i16,
    /// The highest level it supports.
    pub max_supported_version: i16,
}
