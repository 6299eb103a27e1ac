//! TxnOffsetCommit (key 28), versions 0–6.
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: the leader epoch of the last record consumed (KIP-320).
//! * 3: flexible; the member and its generation, for fencing (KIP-447).
//! * 4: a transaction that must be aborted has its own error code (KIP-890).
//! * 5: the group joins the transaction by this request (KIP-890).
//! * 6: topics by id, no longer by name (KIP-1319).

use compact_str::CompactString;
use ottla_model::{
    ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName,
    TransactionalId, Uuid,
};

use crate::Message;

/// Offsets to commit for a group when the transaction commits.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 28, versions = 0..=6, flexible = 3)]
pub struct TxnOffsetCommitRequest {
    /// The transaction's id.
    pub transactional_id: TransactionalId,
    /// The group.
    pub group_id: GroupId,
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The round of a classic group, or the member's epoch; −1 if it does not say.
    #[field(versions = 3.., default = -1)]
    pub generation_id_or_member_epoch: i32,
    /// The member that commits; empty if it does not say.
    #[field(versions = 3..)]
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(versions = 3.., nullable)]
    pub group_instance_id: Option<CompactString>,
    /// The offsets, by topic.
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
}

/// One topic's share of a [`TxnOffsetCommitRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TxnOffsetCommitRequestTopic {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=5, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 6.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
}

/// One partition's offset.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TxnOffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The offset of the next record to consume.
    pub committed_offset: Offset,
    /// The leader epoch of the last record consumed; −1 if it is unknown.
    #[field(versions = 2.., default = -1, ignorable)]
    pub committed_leader_epoch: LeaderEpoch,
    /// What the consumer adds for itself, or null.
    #[field(nullable, default = empty)]
    pub committed_metadata: Option<CompactString>,
}

/// Which offsets were taken.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 28, versions = 0..=6, flexible = 3)]
pub struct TxnOffsetCommitResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
}

/// One topic's share of a [`TxnOffsetCommitResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TxnOffsetCommitResponseTopic {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=5, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 6.., ignorable)]
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
}

/// Whether one offset was taken.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TxnOffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
