//! AssignReplicasToDirs (key 73), version 0, flexible (KIP-858). A broker tells its controller where its replicas
//! are.

use ottla_model::{ErrorCode, NodeId, PartitionIndex, Uuid};

use crate::Message;

/// Where a broker's replicas are.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 73, versions = 0..=0, flexible = 0)]
pub struct AssignReplicasToDirsRequest {
    /// The broker.
    pub broker_id: NodeId,
    /// The broker's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub broker_epoch: i64,
    /// The directories.
    pub directories: Vec<RequestDirectoryData>,
}

/// The replicas in one directory.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestDirectoryData {
    /// The directory's id.
    pub id: Uuid,
    /// The partitions, by topic.
    pub topics: Vec<RequestTopicData>,
}

/// One topic's replicas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestTopicData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<RequestPartitionData>,
}

/// One replica.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestPartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
}

/// Whether the controller knows it now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 73, versions = 0..=0, flexible = 0)]
pub struct AssignReplicasToDirsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The directories.
    pub directories: Vec<ResponseDirectoryData>,
}

/// What became of one directory's replicas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseDirectoryData {
    /// The directory's id.
    pub id: Uuid,
    /// The partitions, by topic.
    pub topics: Vec<ResponseTopicData>,
}

/// What became of one topic's replicas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseTopicData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<ResponsePartitionData>,
}

/// Whether the controller knows where one replica is.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponsePartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
