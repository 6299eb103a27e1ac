//! CreateTopics (key 19), versions 2–7.
//!
//! * 2: the oldest still served: throttle time, error messages and validate-only exist.
//! * 3: nothing; the throttle time is acted on after the answer was sent.
//! * 4: partitions and replication factor may be −1, the broker's default (KIP-464).
//! * 5: flexible; the answer shows partitions, replication factor and configs (KIP-525).
//! * 6: nothing but a new error code for quotas (KIP-599).
//! * 7: the answer has the topic id (KIP-516).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// Topics to create.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 19, versions = 2..=7, flexible = 5)]
pub struct CreateTopicsRequest {
    /// The topics to create.
    pub topics: Vec<CreatableTopic>,
    /// How long to wait for the creation, in milliseconds.
    #[field(default = 60000)]
    pub timeout_ms: i32,
    /// Whether to check only, and create nothing.
    pub validate_only: bool,
}

/// A topic to create.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatableTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The number of partitions; −1 for the broker's default, or with assignments.
    pub num_partitions: i32,
    /// The number of replicas of each; −1 for the broker's default, or with assignments.
    pub replication_factor: i16,
    /// Where the replicas go, by partition; empty to leave it to the broker.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// The topic's own configs.
    pub configs: Vec<CreatableTopicConfig>,
}

/// The replicas of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatableReplicaAssignment {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The brokers of its replicas; the first is the preferred leader.
    pub broker_ids: Vec<NodeId>,
}

/// A config of a new topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatableTopicConfig {
    /// The config's name.
    pub name: CompactString,
    /// Its value; null is no valid one.
    #[field(nullable, default = empty)]
    pub value: Option<CompactString>,
}

/// What became of the topics.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 19, versions = 2..=7, flexible = 5)]
pub struct CreateTopicsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<CreatableTopicResult>,
}

/// What became of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatableTopicResult {
    /// The topic's name.
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 7.., ignorable)]
    pub topic_id: Uuid,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// Why the configs are not shown, or none.
    #[field(versions = 5.., tag = 0, ignorable)]
    pub topic_config_error_code: ErrorCode,
    /// The number of partitions; −1 if it is not shown.
    #[field(versions = 5.., default = -1, ignorable)]
    pub num_partitions: i32,
    /// The number of replicas of each; −1 if it is not shown.
    #[field(versions = 5.., default = -1, ignorable)]
    pub replication_factor: i16,
    /// The topic's configs, also those by default; null if they are not shown.
    #[field(versions = 5.., nullable, default = empty, ignorable)]
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

/// A config of the created topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatableTopicConfigs {
    /// The config's name.
    pub name: CompactString,
    /// Its value; null if it has none or is sensitive.
    #[field(nullable, default = empty)]
    pub value: Option<CompactString>,
    /// Whether it cannot be changed while the broker runs.
    pub read_only: bool,
    /// Where the value comes from: 1 topic, 2 this broker, 3 all brokers by default, 4 the properties file, 5
    /// default, 6 broker logger, 7 client metrics, 8 group; −1 if it is not said.
    #[field(default = -1)]
    pub config_source: i8,
    /// Whether the value is secret.
    pub is_sensitive: bool,
}
