//! OffsetForLeaderEpoch (key 23), versions 2–4.
//!
//! * 2: the client's leader epoch, for fencing; throttle time (KIP-320).
//! * 3: the replica that asks.
//! * 4: flexible.

use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName};

use crate::Message;

/// A question where leader epochs end, to find where a log was truncated.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 23, versions = 2..=4, flexible = 4)]
pub struct OffsetForLeaderEpochRequest {
    /// The replica that asks; −1 for a consumer, −2 for one that does not say.
    #[field(versions = 3.., default = -2, ignorable)]
    pub replica_id: NodeId,
    /// The partitions asked for, by topic.
    pub topics: Vec<OffsetForLeaderTopic>,
}

/// One topic's share of an [`OffsetForLeaderEpochRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetForLeaderTopic {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partitions: Vec<OffsetForLeaderPartition>,
}

/// The epoch asked for in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetForLeaderPartition {
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader epoch that the client knows of, to be fenced if it is stale; −1 if it knows none.
    #[field(default = -1)]
    pub current_leader_epoch: LeaderEpoch,
    /// The epoch whose end is wanted.
    pub leader_epoch: LeaderEpoch,
}

/// Where leader epochs end.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 23, versions = 2..=4, flexible = 4)]
pub struct OffsetForLeaderEpochResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<OffsetForLeaderTopicResult>,
}

/// One topic's share of an [`OffsetForLeaderEpochResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct OffsetForLeaderTopicResult {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partitions: Vec<EpochEndOffset>,
}

/// Where the epoch ends in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct EpochEndOffset {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition: PartitionIndex,
    /// The largest epoch that is not above the one asked for; −1 if there is none.
    #[field(default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// The end offset of that epoch.
    #[field(default = -1)]
    pub end_offset: Offset,
}
