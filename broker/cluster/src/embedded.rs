//! The controller of a single node, inside the broker's process: a thread of its own around the state machine and the
//! metadata log. A request is a message to that thread, its reply leaves after the fsync; there is no port and no
//! heartbeat.

use std::path::PathBuf;
use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{Clock, NodeId, Uuid};

use crate::controller::ControllerSettings;
use crate::feed::MetadataFeed;
use crate::image::Endpoint;
use crate::link::ControllerLink;

/// Where random identifiers come from: 16 fresh random bytes a call.
pub type Entropy = Arc<dyn Fn() -> [u8; 16] + Send + Sync>;

/// Who this node is, from `meta.properties` and the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    /// `cluster.id`.
    pub cluster_id: CompactString,
    /// `node.id`.
    pub node_id: NodeId,
    /// `directory.id` of the log directory that holds the metadata log.
    pub directory_id: Uuid,
}

/// What the embedded controller needs.
#[derive(Clone)]
pub struct EmbeddedConfig {
    /// The log directory that holds `__cluster_metadata-0`; it exists and is locked by the caller.
    pub log_dir: PathBuf,
    /// Who this node is.
    pub identity: NodeIdentity,
    /// The address that the voter set names for this node. Nothing listens there: it is for the Kafka that takes the
    /// directory over.
    pub voter_endpoint: Endpoint,
    /// Defaults and rules for topics.
    pub controller: ControllerSettings,
    /// A snapshot is written when the log has grown by so much since the last one
    /// (`metadata.log.max.record.bytes.between.snapshots`, 20 MiB in Kafka).
    pub snapshot_after_bytes: u64,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes.
    pub entropy: Entropy,
}

/// A running controller with its two ends.
pub struct Embedded {
    /// Ends the controller; keep it as long as the broker runs.
    pub controller: EmbeddedController,
    /// For requests.
    pub link: Arc<dyn ControllerLink>,
    /// For the broker's one consumer of metadata. The replayed image is in it already.
    pub feed: Box<dyn MetadataFeed>,
}
