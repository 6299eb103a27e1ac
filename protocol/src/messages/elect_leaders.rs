//! ElectLeaders (key 43), versions 0–2 (KIP-183).
//!
//! * 1: unclean elections, too, and an error code for the whole answer (KIP-460).
//! * 2: flexible.

use compact_str::CompactString;
use ottla_model::{ErrorCode, PartitionIndex, TopicName};

use crate::Message;

/// Partitions that are to elect a leader.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 43, versions = 0..=2, flexible = 2)]
pub struct ElectLeadersRequest {
    /// 0: the preferred leader; 1: any replica, also one that is not in sync.
    #[field(versions = 1..)]
    pub election_type: i8,
    /// The partitions, by topic; null for all.
    #[field(nullable, default = empty)]
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// How long to wait, in milliseconds.
    #[field(default = 60000)]
    pub timeout_ms: i32,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartitions {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// Which partitions have elected one.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 43, versions = 0..=2, flexible = 2)]
pub struct ElectLeadersResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    #[field(versions = 1..)]
    pub error_code: ErrorCode,
    /// The answers, by topic.
    pub replica_election_results: Vec<ReplicaElectionResult>,
}

/// What became of one topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReplicaElectionResult {
    /// The topic's name.
    pub topic: TopicName,
    /// The answers, by partition.
    pub partition_result: Vec<PartitionResult>,
}

/// Whether one partition has elected a leader.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionResult {
    /// The partition.
    pub partition_id: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
