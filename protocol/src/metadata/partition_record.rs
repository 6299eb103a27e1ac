//! Metadata record 3, versions 0–2.
//!
//! * 1: log directories (KIP-858).
//! * 2: eligible leader replicas (KIP-966).

use ottla_model::{LeaderEpoch, NodeId, PartitionIndex, Uuid};

use crate::Message;

/// A partition is made.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 3, versions = 0..=2, flexible = 0)]
pub struct PartitionRecord {
    /// The partition.
    #[field(default = -1)]
    pub partition_id: PartitionIndex,
    /// The topic's id.
    pub topic_id: Uuid,
    /// All replicas; the first is the preferred leader.
    pub replicas: Vec<NodeId>,
    /// The in-sync replicas.
    pub isr: Vec<NodeId>,
    /// The replicas that a reassignment takes away.
    pub removing_replicas: Vec<NodeId>,
    /// The replicas that a reassignment adds.
    pub adding_replicas: Vec<NodeId>,
    /// The leader; −1 for none.
    #[field(default = -1)]
    pub leader: NodeId,
    /// 0: recovered; 1: the leader was elected uncleanly and has not caught up.
    #[field(tag = 0)]
    pub leader_recovery_state: i8,
    /// The leader's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// How often the partition's record changed.
    #[field(default = -1)]
    pub partition_epoch: i32,
    /// The log directory of each replica, in the order of the replicas.
    #[field(versions = 1..)]
    pub directories: Vec<Uuid>,
    /// Replicas outside the in-sync set that hold everything committed, or null.
    #[field(versions = 2.., tag = 1, nullable)]
    pub eligible_leader_replicas: Option<Vec<NodeId>>,
    /// The last in-sync or eligible replicas before none were left, or null.
    #[field(versions = 2.., tag = 2, nullable)]
    pub last_known_elr: Option<Vec<NodeId>>,
}
