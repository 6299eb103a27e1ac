//! CreatePartitions (key 37), versions 0–3 (KIP-195).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.
//! * 3: nothing but a new error code for quotas (KIP-599).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, TopicName};

use crate::Message;

/// Topics that get more partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 37, versions = 0..=3, flexible = 2)]
pub struct CreatePartitionsRequest {
    /// The partitions, by topic.
    pub topics: Vec<CreatePartitionsTopic>,
    /// How long to wait, in milliseconds.
    pub timeout_ms: i32,
    /// Whether to check only, and change nothing.
    pub validate_only: bool,
}

/// A topic that gets more partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatePartitionsTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The number of partitions that the topic is to have.
    pub count: i32,
    /// The replicas of each new partition, or null to leave them to the controller.
    #[field(nullable, default = empty)]
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

/// The replicas of one new partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatePartitionsAssignment {
    /// The brokers of its replicas; the first is the preferred leader.
    pub broker_ids: Vec<NodeId>,
}

/// What became of the topics.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 37, versions = 0..=3, flexible = 2)]
pub struct CreatePartitionsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub results: Vec<CreatePartitionsTopicResult>,
}

/// What became of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatePartitionsTopicResult {
    /// The topic's name.
    pub name: TopicName,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
}
