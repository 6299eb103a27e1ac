//! ShareFetch (key 78), versions 1–2, all flexible (KIP-932); 0 was an early access and is gone.
//!
//! * 1: limits of records, no longer of each partition's bytes.
//! * 2: how records are acquired (KIP-1206), and renewal of their locks (KIP-1222).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, NodeId, Offset, PartitionIndex, Uuid};

use crate::Message;
use crate::records::Records;

/// A wish for records of a share group, and what became of earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 78, versions = 1..=2, flexible = 0)]
pub struct ShareFetchRequest {
    /// The group, or null.
    #[field(nullable)]
    pub group_id: Option<GroupId>,
    /// The member, or null.
    #[field(nullable, default = empty)]
    pub member_id: Option<CompactString>,
    /// The session's request number: 0 opens one, −1 closes it.
    pub share_session_epoch: i32,
    /// How long to wait for `min_bytes`, in milliseconds.
    pub max_wait_ms: i32,
    /// How many bytes are worth an answer before the wait is over.
    pub min_bytes: i32,
    /// The most bytes of records to answer with.
    #[field(default = i32::MAX)]
    pub max_bytes: i32,
    /// The most records to answer with; the last batch may bring more.
    pub max_records: i32,
    /// How many records to acquire at a time, at best.
    pub batch_size: i32,
    /// 0: whole batches, also beyond the most records; 1: never more than the most records.
    #[field(versions = 2.., ignorable)]
    pub share_acquire_mode: i8,
    /// Whether it renews locks.
    #[field(versions = 2..)]
    pub is_renew_ack: bool,
    /// The partitions of the session, by topic.
    pub topics: Vec<FetchTopic>,
    /// The partitions to drop from the session, by topic.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
}

/// One topic's share of a [`ShareFetchRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct FetchTopic {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<FetchPartition>,
}

/// A partition of the session, and what became of its earlier records.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct FetchPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// What became of acquired records.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

/// What became of records next to each other.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AcknowledgementBatch {
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset, included.
    pub last_offset: Offset,
    /// 0 gap, 1 accept, 2 release, 3 reject, 4 renew: one for all of the records, or one for each.
    pub acknowledge_types: Vec<i8>,
}

/// One topic's partitions that leave the session.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ForgottenTopic {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// Records acquired for a member of a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 78, versions = 1..=2, flexible = 0)]
pub struct ShareFetchResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// Why the whole request failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// How long records stay the member's, in milliseconds.
    pub acquisition_lock_timeout_ms: i32,
    /// The answers, by topic.
    pub responses: Vec<ShareFetchableTopicResponse>,
    /// Where the leaders named in this answer can be reached.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's share of a [`ShareFetchResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ShareFetchableTopicResponse {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
}

/// The records of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// Why the acknowledgements failed, or none.
    pub acknowledge_error_code: ErrorCode,
    /// Why the acknowledgements failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub acknowledge_error_message: Option<CompactString>,
    /// The leader, if this broker is not it any more.
    pub current_leader: LeaderIdAndEpoch,
    /// The record data.
    pub records: Records,
    /// Which of the records are the member's.
    pub acquired_records: Vec<AcquiredRecords>,
}

/// The present leader of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct LeaderIdAndEpoch {
    /// The leader; −1 if there is none or it is unknown.
    pub leader_id: NodeId,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
}

/// Records next to each other that are the member's now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AcquiredRecords {
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset, included.
    pub last_offset: Offset,
    /// How often the records were delivered.
    pub delivery_count: i16,
}

/// Where a node can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct NodeEndpoint {
    /// The node.
    pub node_id: NodeId,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: i32,
    /// The rack it stands in, or null.
    #[field(nullable)]
    pub rack: Option<CompactString>,
}
