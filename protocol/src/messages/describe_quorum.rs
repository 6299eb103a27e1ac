//! DescribeQuorum (key 55), versions 0–2, all flexible (KIP-595).
//!
//! * 1: when each replica last fetched and last had everything (KIP-836).
//! * 2: directories, the nodes' endpoints and error messages (KIP-853).

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A question for the state of a quorum.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 55, versions = 0..=2, flexible = 0)]
pub struct DescribeQuorumRequest {
    /// The partitions, by topic.
    pub topics: Vec<RequestTopicData>,
}

/// One topic's share of a [`DescribeQuorumRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestTopicData {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<RequestPartitionData>,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestPartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
}

/// The state of a quorum.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 55, versions = 0..=2, flexible = 0)]
pub struct DescribeQuorumResponse {
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// Why the whole request failed, in words; null if there is nothing to say.
    #[field(versions = 2.., nullable, default = empty, ignorable)]
    pub error_message: Option<CompactString>,
    /// The answers, by topic.
    pub topics: Vec<ResponseTopicData>,
    /// Where the voters can be reached.
    #[field(versions = 2..)]
    pub nodes: Vec<Node>,
}

/// One topic's share of a [`DescribeQuorumResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseTopicData {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<ResponsePartitionData>,
}

/// The state of one partition's quorum.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponsePartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(versions = 2.., nullable, default = empty, ignorable)]
    pub error_message: Option<CompactString>,
    /// The leader; −1 if there is none or it is unknown.
    pub leader_id: NodeId,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The high watermark.
    pub high_watermark: Offset,
    /// The voters.
    pub current_voters: Vec<ReplicaState>,
    /// The replicas without a vote.
    pub observers: Vec<ReplicaState>,
}

/// How far one replica is.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReplicaState {
    /// The replica.
    pub replica_id: NodeId,
    /// The directory of the replica's log.
    #[field(versions = 2..)]
    pub replica_directory_id: Uuid,
    /// The first offset that the replica does not have; −1 if it is unknown.
    pub log_end_offset: Offset,
    /// When the replica last fetched, in milliseconds; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub last_fetch_timestamp: i64,
    /// When the replica last had everything, in milliseconds; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub last_caught_up_timestamp: i64,
}

/// Where a voter can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Node {
    /// The node.
    pub node_id: NodeId,
    /// Where it can be reached, by listener.
    pub listeners: Vec<Listener>,
}

/// Where the node can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Listener {
    /// The listener's name.
    pub name: CompactString,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: u16,
}
