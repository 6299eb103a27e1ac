//! ListPartitionReassignments (key 46), version 0, flexible (KIP-455).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, PartitionIndex, TopicName};

use crate::Message;

/// A question for partitions on the move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 46, versions = 0..=0, flexible = 0)]
pub struct ListPartitionReassignmentsRequest {
    /// How long to wait, in milliseconds.
    #[field(default = 60000)]
    pub timeout_ms: i32,
    /// The partitions asked for, by topic; null for all.
    #[field(nullable)]
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
}

/// One topic's share of a [`ListPartitionReassignmentsRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ListPartitionReassignmentsTopics {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partition_indexes: Vec<PartitionIndex>,
}

/// Partitions on the move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 46, versions = 0..=0, flexible = 0)]
pub struct ListPartitionReassignmentsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// Why the whole request failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The answers, by topic.
    pub topics: Vec<OngoingTopicReassignment>,
}

/// One topic's partitions on the move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OngoingTopicReassignment {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<OngoingPartitionReassignment>,
}

/// One partition on the move.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OngoingPartitionReassignment {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// All replicas, those on the move included.
    pub replicas: Vec<NodeId>,
    /// The replicas that the move adds.
    pub adding_replicas: Vec<NodeId>,
    /// The replicas that the move takes away.
    pub removing_replicas: Vec<NodeId>,
}
