//! DescribeTopicPartitions (key 75), version 0, flexible (KIP-966): what Metadata says of topics, page by page and with
//! eligible leader replicas.

use ottla_model::{ErrorCode, LeaderEpoch, NodeId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A question for topics and their partitions, a page at a time.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 75, versions = 0..=0, flexible = 0)]
pub struct DescribeTopicPartitionsRequest {
    /// The topics asked for.
    pub topics: Vec<TopicRequest>,
    /// The most partitions in the answer.
    #[field(default = 2000)]
    pub response_partition_limit: i32,
    /// Where to go on, or null to begin.
    #[field(nullable)]
    pub cursor: Option<Cursor>,
}

/// A topic asked for.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicRequest {
    /// The topic's name.
    pub name: TopicName,
}

/// Where a page ends and the next begins.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Cursor {
    /// The topic to go on with.
    pub topic_name: TopicName,
    /// The partition to go on with.
    pub partition_index: PartitionIndex,
}

/// One page of topics and their partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 75, versions = 0..=0, flexible = 0)]
pub struct DescribeTopicPartitionsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The topics, by name.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// Where the next request goes on, or null at the end.
    #[field(nullable)]
    pub next_cursor: Option<Cursor>,
}

/// A topic and its partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// Why the topic cannot be described, or none.
    pub error_code: ErrorCode,
    /// The topic's name, or null.
    #[field(nullable, default = empty)]
    pub name: Option<TopicName>,
    /// The topic's id; zero where it is named instead, or unknown.
    pub topic_id: Uuid,
    /// Whether it is one of Kafka's own topics.
    pub is_internal: bool,
    /// The partitions.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// A bit for each operation the client may do on the topic; −2³¹ if it did not ask.
    #[field(default = i32::MIN)]
    pub topic_authorized_operations: i32,
}

/// A partition's leader and replicas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeTopicPartitionsResponsePartition {
    /// What is wrong with the partition, or none.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader; −1 if there is none or it is unknown.
    pub leader_id: NodeId,
    /// The leader's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// All replicas; the first is the preferred leader.
    pub replica_nodes: Vec<NodeId>,
    /// The in-sync replicas.
    pub isr_nodes: Vec<NodeId>,
    /// Replicas outside the in-sync set that hold everything committed, or null.
    #[field(nullable)]
    pub eligible_leader_replicas: Option<Vec<NodeId>>,
    /// The last in-sync or eligible replicas before none were left, or null.
    #[field(nullable)]
    pub last_known_elr: Option<Vec<NodeId>>,
    /// The replicas that are not online.
    pub offline_replicas: Vec<NodeId>,
}
