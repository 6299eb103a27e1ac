//! AlterReplicaLogDirs (key 34), versions 1–2 (KIP-113).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.

use compact_str::CompactString;
use ottla_model::{ErrorCode, PartitionIndex, TopicName};

use crate::Message;

/// Replicas that move to other log directories of the broker.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 34, versions = 1..=2, flexible = 2)]
pub struct AlterReplicaLogDirsRequest {
    /// The directories.
    pub dirs: Vec<AlterReplicaLogDir>,
}

/// The replicas that move to one directory.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterReplicaLogDir {
    /// The directory's path.
    pub path: CompactString,
    /// The partitions, by topic.
    pub topics: Vec<AlterReplicaLogDirTopic>,
}

/// One topic's share of an [`AlterReplicaLogDir`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterReplicaLogDirTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions whose replicas move.
    pub partitions: Vec<PartitionIndex>,
}

/// Which replicas will move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 34, versions = 1..=2, flexible = 2)]
pub struct AlterReplicaLogDirsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub results: Vec<AlterReplicaLogDirTopicResult>,
}

/// What became of one topic's replicas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterReplicaLogDirTopicResult {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
}

/// Whether one replica will move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterReplicaLogDirPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
