//! AlterPartition (key 56), versions 2–3, all flexible (KIP-497). A leader asks its controller for another in-sync
//! set.
//!
//! * 2: topics by id, no longer by name.
//! * 3: the broker epoch of each in-sync replica, so that a restarted one is told from itself (KIP-903).

use ottla_model::{ErrorCode, LeaderEpoch, NodeId, PartitionIndex, Uuid};

use crate::Message;

/// In-sync replicas that a leader wants to change.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 56, versions = 2..=3, flexible = 0)]
pub struct AlterPartitionRequest {
    /// The broker.
    pub broker_id: NodeId,
    /// The broker's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub broker_epoch: i64,
    /// The partitions, by topic.
    pub topics: Vec<RequestTopicData>,
}

/// One topic's share of an [`AlterPartitionRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestTopicData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<RequestPartitionData>,
}

/// The in-sync replicas that one partition's leader wants.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestPartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The in-sync replicas that it wants.
    #[field(versions = ..=2)]
    pub new_isr: Vec<NodeId>,
    /// The in-sync replicas that it wants, with their brokers' epochs.
    #[field(versions = 3..)]
    pub new_isr_with_epochs: Vec<BrokerState>,
    /// 0: recovered; 1: the leader was elected uncleanly and has not caught up.
    pub leader_recovery_state: i8,
    /// How often the partition's record changed.
    pub partition_epoch: i32,
}

/// An in-sync replica and the epoch of its broker.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct BrokerState {
    /// The replica's broker.
    pub broker_id: NodeId,
    /// The broker's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub broker_epoch: i64,
}

/// The partitions as the controller has them now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 56, versions = 2..=3, flexible = 0)]
pub struct AlterPartitionResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// The answers, by topic.
    pub topics: Vec<ResponseTopicData>,
}

/// One topic's share of an [`AlterPartitionResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseTopicData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<ResponsePartitionData>,
}

/// One partition as the controller has it now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponsePartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the set was not changed, or none.
    pub error_code: ErrorCode,
    /// The leader; −1 if there is none or it is unknown.
    pub leader_id: NodeId,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The in-sync replicas.
    pub isr: Vec<NodeId>,
    /// 0: recovered; 1: the leader was elected uncleanly and has not caught up.
    pub leader_recovery_state: i8,
    /// How often the partition's record changed.
    pub partition_epoch: i32,
}
