//! Fetch (key 1), versions 4–18.
//!
//! * 4: isolation level; the answer has the last stable offset and aborted transactions.
//! * 5: log start offsets of the follower and of the leader.
//! * 6: nothing.
//! * 7: fetch sessions (KIP-227), and an error code for the whole answer.
//! * 8: nothing.
//! * 9: the client's leader epoch, for fencing (KIP-320).
//! * 10: zstd may be answered.
//! * 11: the client's rack, and a preferred replica to read from (KIP-392).
//! * 12: flexible; diverging epochs, the present leader, snapshots and the cluster id as tagged fields (KIP-595).
//! * 13: topics by id, no longer by name (KIP-516).
//! * 14: nothing but a new error code for tiered storage.
//! * 15: the replica and its epoch as a tagged field (KIP-903).
//! * 16: the answer says where leaders are (KIP-951).
//! * 17: the directory of the replica that fetches (KIP-853).
//! * 18: the high watermark that the replica knows (KIP-1166).

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerId, TopicName, Uuid};

use crate::Message;
use crate::records::Records;

/// A wish for records.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 1, versions = 4..=18, flexible = 12)]
pub struct FetchRequest {
    /// The cluster that the client expects, or null; replicas of the metadata log say it.
    #[field(versions = 12.., tag = 0, nullable, ignorable)]
    pub cluster_id: Option<CompactString>,
    /// The replica that fetches; −1 for a consumer.
    #[field(versions = ..=14, default = -1)]
    pub replica_id: NodeId,
    /// Which replica fetches, if it is not a consumer.
    #[field(versions = 15.., tag = 1)]
    pub replica_state: ReplicaState,
    /// How long to wait for `min_bytes`, in milliseconds.
    pub max_wait_ms: i32,
    /// How many bytes are worth an answer before the wait is over.
    pub min_bytes: i32,
    /// The most bytes of records to answer with; the first batch comes whole all the same.
    #[field(default = i32::MAX)]
    pub max_bytes: i32,
    /// 0: everything up to the high watermark; 1: only what is committed, up to the last stable offset.
    pub isolation_level: i8,
    /// The fetch session; 0 for none.
    #[field(versions = 7.., ignorable)]
    pub session_id: i32,
    /// The session's request number: 0 opens one, −1 asks without one.
    #[field(versions = 7.., default = -1, ignorable)]
    pub session_epoch: i32,
    /// The partitions to read, by topic; in a session only those that changed.
    pub topics: Vec<FetchTopic>,
    /// The partitions to drop from the session, by topic.
    #[field(versions = 7..)]
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// The consumer's rack, so that it may be sent to a closer replica.
    #[field(versions = 11.., ignorable)]
    pub rack_id: CompactString,
}

/// The replica that fetches (KIP-903).
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReplicaState {
    /// The replica that fetches; −1 for a consumer.
    #[field(default = -1)]
    pub replica_id: NodeId,
    /// The replica's broker epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub replica_epoch: i64,
}

/// One topic's share of a [`FetchRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct FetchTopic {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=12, ignorable)]
    pub topic: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<FetchPartition>,
}

/// From where and how much to read of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct FetchPartition {
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader epoch that the client knows of, to be fenced if it is stale; −1 if it knows none.
    #[field(versions = 9.., default = -1, ignorable)]
    pub current_leader_epoch: LeaderEpoch,
    /// The first offset wanted.
    pub fetch_offset: Offset,
    /// The epoch of the last record that the client has, to detect a diverged log; −1 if it has none.
    #[field(versions = 12.., default = -1)]
    pub last_fetched_epoch: LeaderEpoch,
    /// The follower's own log start offset; −1 for a consumer.
    #[field(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: Offset,
    /// The most bytes of this partition's records.
    pub partition_max_bytes: i32,
    /// The log directory of the replica that fetches.
    #[field(versions = 17.., tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// The high watermark that the replica knows; 2⁶³−1 if it does not say.
    #[field(versions = 18.., tag = 1, default = Offset::MAX, ignorable)]
    pub high_watermark: Offset,
}

/// One topic's partitions that leave the fetch session.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ForgottenTopic {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=12, ignorable)]
    pub topic: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// Records.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 1, versions = 4..=18, flexible = 12)]
pub struct FetchResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    #[field(versions = 7.., ignorable)]
    pub error_code: ErrorCode,
    /// The fetch session; 0 if there is none.
    #[field(versions = 7..)]
    pub session_id: i32,
    /// The answers, by topic.
    pub responses: Vec<FetchableTopicResponse>,
    /// Where the leaders named in this answer can be reached.
    #[field(versions = 16.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's share of a [`FetchResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct FetchableTopicResponse {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=12, ignorable)]
    pub topic: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
}

/// One partition's positions and records.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The high watermark; −1 with an error.
    pub high_watermark: Offset,
    /// The last stable offset: below it, all transactions are decided.
    #[field(default = -1)]
    pub last_stable_offset: Offset,
    /// The oldest offset that can be read; −1 if it is not said.
    #[field(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: Offset,
    /// Where the client's log parts from this one, if it does.
    #[field(versions = 12.., tag = 0)]
    pub diverging_epoch: EpochEndOffset,
    /// The leader, if this broker is not it any more.
    #[field(versions = 12.., tag = 1)]
    pub current_leader: LeaderIdAndEpoch,
    /// The snapshot to fetch instead, if the log no longer reaches so far back.
    #[field(versions = 12.., tag = 2)]
    pub snapshot_id: SnapshotId,
    /// The aborted transactions within the records; null unless only committed data was asked for.
    #[field(nullable, default = empty)]
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// A replica closer to the consumer that it should read from; −1 for none.
    #[field(versions = 11.., default = -1)]
    pub preferred_read_replica: NodeId,
    /// The record data; its last batch may be cut short.
    #[field(nullable)]
    pub records: Option<Records>,
}

/// Where a leader epoch ends.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct EpochEndOffset {
    /// The largest epoch that is not above the one asked for; −1 if there is none.
    #[field(default = -1)]
    pub epoch: LeaderEpoch,
    /// The end offset of that epoch.
    #[field(default = -1)]
    pub end_offset: Offset,
}

/// The present leader of a partition (KIP-951).
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct LeaderIdAndEpoch {
    /// The leader; −1 if there is none or it is unknown.
    #[field(default = -1)]
    pub leader_id: NodeId,
    /// The leader's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub leader_epoch: LeaderEpoch,
}

/// A snapshot of a metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct SnapshotId {
    /// The snapshot's end offset; −1 for none.
    #[field(default = -1)]
    pub end_offset: Offset,
    /// The snapshot's epoch; −1 for none.
    #[field(default = -1)]
    pub epoch: LeaderEpoch,
}

/// A transaction whose records a consumer of committed data passes over.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AbortedTransaction {
    /// The producer whose transaction it was.
    pub producer_id: ProducerId,
    /// The transaction's first offset.
    pub first_offset: Offset,
}

/// Where a node can be reached (KIP-951).
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct NodeEndpoint {
    /// The node.
    pub node_id: NodeId,
    /// The host that clients connect to.
    pub host: CompactString,
    /// The port that clients connect to.
    pub port: i32,
    /// The rack it stands in, or null.
    #[field(nullable)]
    pub rack: Option<CompactString>,
}
