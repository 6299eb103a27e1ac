//! BeginQuorumEpoch (key 53), versions 0–1 (KIP-595). A new leader of a quorum says so.
//!
//! * 1: flexible; directories of the voters, and where the leader can be reached (KIP-853).

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A new leader's epoch begins.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 53, versions = 0..=1, flexible = 1)]
pub struct BeginQuorumEpochRequest {
    /// The cluster that the sender belongs to, or null.
    #[field(nullable)]
    pub cluster_id: Option<CompactString>,
    /// The voter that this is sent to; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub voter_id: NodeId,
    /// The partitions, by topic.
    pub topics: Vec<RequestTopicData>,
    /// Where the leader can be reached, by listener.
    #[field(versions = 1.., ignorable)]
    pub leader_endpoints: Vec<LeaderEndpoint>,
}

/// One topic's share of a [`BeginQuorumEpochRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestTopicData {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<RequestPartitionData>,
}

/// One partition's leader.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestPartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The directory of the log of the voter that this is sent to.
    #[field(versions = 1.., ignorable)]
    pub voter_directory_id: Uuid,
    /// The new leader.
    pub leader_id: NodeId,
    /// The new leader's epoch.
    pub leader_epoch: LeaderEpoch,
}

/// Where the leader can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct LeaderEndpoint {
    /// The listener's name.
    pub name: CompactString,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: u16,
}

/// Whether the leader is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 53, versions = 0..=1, flexible = 1)]
pub struct BeginQuorumEpochResponse {
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// The answers, by topic.
    pub topics: Vec<ResponseTopicData>,
    /// Where the leaders named in this answer can be reached.
    #[field(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's share of a [`BeginQuorumEpochResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseTopicData {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<ResponsePartitionData>,
}

/// What the voter knows of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponsePartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The leader; −1 if there is none or it is unknown.
    pub leader_id: NodeId,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
}

/// Where a node can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct NodeEndpoint {
    /// The node.
    pub node_id: NodeId,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: u16,
}
