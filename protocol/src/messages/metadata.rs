//! Metadata (key 3), versions 0–13.
//!
//! * 0: an empty list of topics asks for all of them.
//! * 1: null asks for all, an empty list for none; racks, the controller, internal topics.
//! * 2: the cluster id.
//! * 3: throttle time.
//! * 4: the client says whether topics may be created.
//! * 5: offline replicas.
//! * 6: nothing; the throttle time is acted on after the answer was sent.
//! * 7: leader epochs (KIP-320).
//! * 8: authorised operations (KIP-430).
//! * 9: flexible.
//! * 10: topic ids (KIP-516).
//! * 11: authorised operations on the cluster are DescribeCluster's from here on (KIP-700).
//! * 12: topics may be asked for by id, and names be null.
//! * 13: an error code for the whole answer (KIP-1102).

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A question for brokers, topics and leaders.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 3, versions = 0..=13, flexible = 9)]
pub struct MetadataRequest {
    /// The topics asked for. Null: all of them; in version 0 an empty list is all of them.
    #[field(nullable = 1.., default = empty)]
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Whether a topic that does not exist may be created, if the broker is configured to.
    #[field(versions = 4.., default = true)]
    pub allow_auto_topic_creation: bool,
    /// Whether to say what the client may do on the cluster.
    #[field(versions = 8..=10)]
    pub include_cluster_authorized_operations: bool,
    /// Whether to say what the client may do on the topics.
    #[field(versions = 8..)]
    pub include_topic_authorized_operations: bool,
}

/// A topic asked for, by name or by id.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct MetadataRequestTopic {
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// The topic's name, or null where it is asked for by id.
    #[field(nullable = 10.., default = empty)]
    pub name: Option<TopicName>,
}

/// Brokers, topics and leaders.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 3, versions = 0..=13, flexible = 9)]
pub struct MetadataResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The brokers.
    pub brokers: Vec<MetadataResponseBroker>,
    /// The cluster's id.
    #[field(versions = 2.., nullable, ignorable)]
    pub cluster_id: Option<CompactString>,
    /// The controller; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub controller_id: NodeId,
    /// The topics.
    pub topics: Vec<MetadataResponseTopic>,
    /// A bit for each operation the client may do on the cluster; −2³¹ if it did not ask.
    #[field(versions = 8..=10, default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// Why the whole request failed, or none.
    #[field(versions = 13.., ignorable)]
    pub error_code: ErrorCode,
}

/// Where a broker can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct MetadataResponseBroker {
    /// The node.
    pub node_id: NodeId,
    /// The host that clients connect to.
    pub host: CompactString,
    /// The port that clients connect to.
    pub port: i32,
    /// The rack it stands in, or null.
    #[field(versions = 1.., nullable, ignorable)]
    pub rack: Option<CompactString>,
}

/// A topic and its partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct MetadataResponseTopic {
    /// Why the topic cannot be described, or none.
    pub error_code: ErrorCode,
    /// The topic's name, or null where an id is unknown.
    #[field(nullable = 12.., default = empty)]
    pub name: Option<TopicName>,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 10.., ignorable)]
    pub topic_id: Uuid,
    /// Whether it is one of Kafka's own topics.
    #[field(versions = 1.., ignorable)]
    pub is_internal: bool,
    /// The partitions.
    pub partitions: Vec<MetadataResponsePartition>,
    /// A bit for each operation the client may do on the topic; −2³¹ if it did not ask.
    #[field(versions = 8.., default = i32::MIN)]
    pub topic_authorized_operations: i32,
}

/// A partition's leader and replicas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct MetadataResponsePartition {
    /// What is wrong with the partition, or none.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader; −1 if there is none or it is unknown.
    pub leader_id: NodeId,
    /// The leader's epoch; −1 if it is unknown.
    #[field(versions = 7.., default = -1, ignorable)]
    pub leader_epoch: LeaderEpoch,
    /// All replicas; the first is the preferred leader.
    pub replica_nodes: Vec<NodeId>,
    /// The in-sync replicas.
    pub isr_nodes: Vec<NodeId>,
    /// The replicas that are not online.
    #[field(versions = 5.., ignorable)]
    pub offline_replicas: Vec<NodeId>,
}
