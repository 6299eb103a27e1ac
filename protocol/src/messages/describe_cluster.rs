//! DescribeCluster (key 60), versions 0–2, all flexible (KIP-700).
//!
//! * 1: brokers or controllers may be asked for (KIP-919).
//! * 2: fenced brokers may be listed (KIP-1073).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId};

use crate::Message;

/// A question for the cluster's nodes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 60, versions = 0..=2, flexible = 0)]
pub struct DescribeClusterRequest {
    /// Whether to say what the client may do on the cluster.
    pub include_cluster_authorized_operations: bool,
    /// 1: the brokers; 2: the controllers.
    #[field(versions = 1.., default = 1)]
    pub endpoint_type: i8,
    /// Whether fenced brokers are listed.
    #[field(versions = 2..)]
    pub include_fenced_brokers: bool,
}

/// The cluster's nodes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 60, versions = 0..=2, flexible = 0)]
pub struct DescribeClusterResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// 1: the brokers; 2: the controllers.
    #[field(versions = 1.., default = 1)]
    pub endpoint_type: i8,
    /// The cluster's id.
    pub cluster_id: CompactString,
    /// The controller; −1 if it is unknown.
    #[field(default = -1)]
    pub controller_id: NodeId,
    /// The brokers.
    pub brokers: Vec<DescribeClusterBroker>,
    /// A bit for each operation the client may do on the cluster; −2³¹ if it did not ask.
    #[field(default = i32::MIN)]
    pub cluster_authorized_operations: i32,
}

/// Where a node can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeClusterBroker {
    /// The broker.
    pub broker_id: NodeId,
    /// The host that clients connect to.
    pub host: CompactString,
    /// The port that clients connect to.
    pub port: i32,
    /// The rack it stands in, or null.
    #[field(nullable)]
    pub rack: Option<CompactString>,
    /// Whether it is fenced: known, but not to be used.
    #[field(versions = 2..)]
    pub is_fenced: bool,
}
