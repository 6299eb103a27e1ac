//! Vote (key 52), versions 0–2, all flexible (KIP-595). A candidate asks the other voters of a quorum.
//!
//! * 1: directories of the voters, and where the leader can be reached (KIP-853).
//! * 2: a trial vote, which raises no epoch (KIP-996).

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A candidate's wish for a vote.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 52, versions = 0..=2, flexible = 0)]
pub struct VoteRequest {
    /// The cluster that the sender belongs to, or null.
    #[field(nullable)]
    pub cluster_id: Option<CompactString>,
    /// The voter that this is sent to; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub voter_id: NodeId,
    /// The partitions, by topic.
    pub topics: Vec<RequestTopicData>,
}

/// One topic's share of a [`VoteRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestTopicData {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<RequestPartitionData>,
}

/// The candidate for one partition's leadership.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestPartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The candidate's epoch.
    pub replica_epoch: LeaderEpoch,
    /// The candidate.
    pub replica_id: NodeId,
    /// The directory of the candidate's log.
    #[field(versions = 1.., ignorable)]
    pub replica_directory_id: Uuid,
    /// The directory of the log of the voter that this is sent to.
    #[field(versions = 1.., ignorable)]
    pub voter_directory_id: Uuid,
    /// The epoch of the last record that the candidate has.
    pub last_offset_epoch: LeaderEpoch,
    /// The end offset of the candidate's log.
    pub last_offset: Offset,
    /// Whether it is a trial vote, which raises no epoch.
    #[field(versions = 2..)]
    pub pre_vote: bool,
}

/// A vote.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 52, versions = 0..=2, flexible = 0)]
pub struct VoteResponse {
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// The answers, by topic.
    pub topics: Vec<ResponseTopicData>,
    /// Where the leaders named in this answer can be reached.
    #[field(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's share of a [`VoteResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseTopicData {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<ResponsePartitionData>,
}

/// The vote on one partition's leadership.
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
    /// Whether the candidate has the vote.
    pub vote_granted: bool,
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
