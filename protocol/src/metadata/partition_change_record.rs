//! Metadata record 5, versions 0–2.
//!
//! * 1: log directories (KIP-858).
//! * 2: eligible leader replicas (KIP-966).

use ottla_model::{NodeId, PartitionIndex, Uuid};

use crate::Message;

/// A partition changes: only what is set does.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 5, versions = 0..=2, flexible = 0)]
pub struct PartitionChangeRecord {
    /// The partition.
    #[field(default = -1)]
    pub partition_id: PartitionIndex,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The new in-sync replicas; null: as before.
    #[field(tag = 0, nullable)]
    pub isr: Option<Vec<NodeId>>,
    /// The new leader; −1: none; −2: as before.
    #[field(tag = 1, default = -2)]
    pub leader: NodeId,
    /// The new replicas; null: as before.
    #[field(tag = 2, nullable)]
    pub replicas: Option<Vec<NodeId>>,
    /// The new set of replicas being removed; null: as before.
    #[field(tag = 3, nullable)]
    pub removing_replicas: Option<Vec<NodeId>>,
    /// The new set of replicas being added; null: as before.
    #[field(tag = 4, nullable)]
    pub adding_replicas: Option<Vec<NodeId>>,
    /// 0: recovered; 1: recovering; −1: as before.
    #[field(tag = 5, default = -1)]
    pub leader_recovery_state: i8,
    /// The new log directory of each replica; null: as before.
    #[field(versions = 1.., tag = 8, nullable)]
    pub directories: Option<Vec<Uuid>>,
    /// The new eligible leader replicas; null: as before.
    #[field(versions = 2.., tag = 6, nullable)]
    pub eligible_leader_replicas: Option<Vec<NodeId>>,
    /// The new last known eligible leader replicas; null: as before.
    #[field(versions = 2.., tag = 7, nullable)]
    pub last_known_elr: Option<Vec<NodeId>>,
}
