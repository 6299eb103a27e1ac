//! FetchSnapshot (key 59), versions 0–1, all flexible (KIP-630). A replica of a metadata log takes over a snapshot
//! piece by piece.
//!
//! * 1: the directory of the replica, and where the leader can be reached (KIP-853).

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName, Uuid};

use crate::Message;
use crate::records::Records;

/// A wish for a piece of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 59, versions = 0..=1, flexible = 0)]
pub struct FetchSnapshotRequest {
    /// The cluster that the sender belongs to, or null.
    #[field(tag = 0, nullable)]
    pub cluster_id: Option<CompactString>,
    /// The replica that fetches.
    #[field(default = -1)]
    pub replica_id: NodeId,
    /// The most bytes of records to answer with.
    #[field(default = i32::MAX)]
    pub max_bytes: i32,
    /// The partitions, by topic.
    pub topics: Vec<RequestTopicSnapshot>,
}

/// One topic's share of a [`FetchSnapshotRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestTopicSnapshot {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<RequestPartitionSnapshot>,
}

/// Which piece of which snapshot is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct RequestPartitionSnapshot {
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader epoch that the sender knows of.
    pub current_leader_epoch: LeaderEpoch,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Where the piece begins in the snapshot, in bytes.
    pub position: i64,
    /// The log directory of the replica that fetches.
    #[field(versions = 1.., tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
}

/// A snapshot of a metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct SnapshotId {
    /// The snapshot's end offset.
    pub end_offset: Offset,
    /// The snapshot's epoch.
    pub epoch: LeaderEpoch,
}

/// A piece of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 59, versions = 0..=1, flexible = 0)]
pub struct FetchSnapshotResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// The answers, by topic.
    pub topics: Vec<ResponseTopicSnapshot>,
    /// Where the leaders named in this answer can be reached.
    #[field(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's share of a [`FetchSnapshotResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseTopicSnapshot {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<ResponsePartitionSnapshot>,
}

/// A piece of one partition's snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponsePartitionSnapshot {
    /// The partition.
    pub index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// The leader, if this node is not it any more.
    #[field(tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
    /// The size of the snapshot, in bytes.
    pub size: i64,
    /// Where the piece begins in the snapshot, in bytes.
    pub position: i64,
    /// The piece. It may begin and end within a batch.
    pub unaligned_records: Records,
}

/// The present leader of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct LeaderIdAndEpoch {
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
