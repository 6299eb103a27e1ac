//! Produce (key 0), versions 3–13, advertised from 0: old librdkafka looks for that, and uses 3 or above.
//!
//! * 3: records are of magic 2, and a transactional id came with them.
//! * 4: nothing but a new error code.
//! * 5: the answer has the log start offset.
//! * 6: nothing; the throttle time is acted on after the answer was sent.
//! * 7: zstd may be used.
//! * 8: the answer says which records were refused, and why.
//! * 9: flexible.
//! * 10: the answer names the present leader and where it is (KIP-951).
//! * 11: a transaction that must be aborted has its own error code (KIP-890).
//! * 12: partitions join a transaction by being produced to (KIP-890).
//! * 13: topics by id, no longer by name (KIP-516).

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName, TransactionalId, Uuid};

use crate::Message;
use crate::codec::Few;
use crate::records::Records;

/// Record batches to append.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 3..=13, flexible = 9, advertised = 0)]
pub struct ProduceRequest {
    /// The transactional producer, or null for one that is merely idempotent or neither.
    #[field(nullable)]
    pub transactional_id: Option<TransactionalId>,
    /// How many replicas must have the records before the answer: 0 none and no answer, 1 the leader, −1 all in sync.
    pub acks: i16,
    /// How long to wait for the other replicas, in milliseconds.
    pub timeout_ms: i32,
    /// The records, by topic.
    pub topic_data: Few<TopicProduceData>,
}

/// One topic's share of a [`ProduceRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicProduceData {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=12, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The records, by partition.
    pub partition_data: Few<PartitionProduceData>,
}

/// One partition's batch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionProduceData {
    /// The partition.
    pub index: PartitionIndex,
    /// The record data: one batch.
    #[field(nullable)]
    pub records: Option<Records>,
}

/// What became of the batches.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 3..=13, flexible = 9, advertised = 0)]
pub struct ProduceResponse {
    /// The answers, by topic.
    pub responses: Vec<TopicProduceResponse>,
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Where the leaders named in this answer can be reached.
    #[field(versions = 10.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's share of a [`ProduceResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicProduceResponse {
    /// The topic's name; empty where the id says it.
    #[field(versions = ..=12, ignorable)]
    pub name: TopicName,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 13.., ignorable)]
    pub topic_id: Uuid,
    /// The answers, by partition.
    pub partition_responses: Vec<PartitionProduceResponse>,
}

/// What became of one partition's batch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionProduceResponse {
    /// The partition.
    pub index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The offset of the first record; −1 if nothing was appended.
    pub base_offset: Offset,
    /// The time of the append where the topic stamps it, in milliseconds; else −1.
    #[field(default = -1)]
    pub log_append_time_ms: i64,
    /// The oldest offset that can be read; −1 if it is not said.
    #[field(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: Offset,
    /// The records for which the batch was refused.
    #[field(versions = 8.., ignorable)]
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(versions = 8.., nullable, ignorable)]
    pub error_message: Option<CompactString>,
    /// The leader, if this broker is not it any more.
    #[field(versions = 10.., tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
}

/// One record for which a batch was refused.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct BatchIndexAndErrorMessage {
    /// The record's place in the batch, from 0.
    pub batch_index: i32,
    /// Why it was refused, or null.
    #[field(nullable)]
    pub batch_index_error_message: Option<CompactString>,
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
