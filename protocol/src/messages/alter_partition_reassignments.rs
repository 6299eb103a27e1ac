//! AlterPartitionReassignments (key 45), versions 0–1, all flexible (KIP-455).
//!
//! * 1: whether the number of replicas may change.

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, PartitionIndex, TopicName};

use crate::Message;

/// Partitions that move to other brokers.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 45, versions = 0..=1, flexible = 0)]
pub struct AlterPartitionReassignmentsRequest {
    /// How long to wait, in milliseconds.
    #[field(default = 60000)]
    pub timeout_ms: i32,
    /// Whether a partition may get another number of replicas.
    #[field(versions = 1.., default = true)]
    pub allow_replication_factor_change: bool,
    /// The partitions, by topic.
    pub topics: Vec<ReassignableTopic>,
}

/// One topic's share of an [`AlterPartitionReassignmentsRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReassignableTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<ReassignablePartition>,
}

/// Where one partition goes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReassignablePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The brokers that it goes to; null to stay after all.
    #[field(nullable)]
    pub replicas: Option<Vec<NodeId>>,
}

/// Which partitions will move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 45, versions = 0..=1, flexible = 0)]
pub struct AlterPartitionReassignmentsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Whether a partition may get another number of replicas.
    #[field(versions = 1.., default = true, ignorable)]
    pub allow_replication_factor_change: bool,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// Why the whole request failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The answers, by topic.
    pub responses: Vec<ReassignableTopicResponse>,
}

/// One topic's share of an [`AlterPartitionReassignmentsResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReassignableTopicResponse {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<ReassignablePartitionResponse>,
}

/// Whether one partition will move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReassignablePartitionResponse {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
