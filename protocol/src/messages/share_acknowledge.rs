//! ShareAcknowledge (key 79), versions 1–2, all flexible (KIP-932); 0 was an early access and is gone.
//!
//! * 2: renewal of the locks (KIP-1222).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, NodeId, Offset, PartitionIndex, Uuid};

use crate::Message;

/// What became of acquired records.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 79, versions = 1..=2, flexible = 0)]
pub struct ShareAcknowledgeRequest {
    /// The group, or null.
    #[field(nullable)]
    pub group_id: Option<GroupId>,
    /// The member, or null.
    #[field(nullable, default = empty)]
    pub member_id: Option<CompactString>,
    /// The session's request number: 0 opens one, −1 closes it.
    pub share_session_epoch: i32,
    /// Whether it renews locks.
    #[field(versions = 2..)]
    pub is_renew_ack: bool,
    /// The partitions, by topic.
    pub topics: Vec<AcknowledgeTopic>,
}

/// One topic's share of a [`ShareAcknowledgeRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AcknowledgeTopic {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<AcknowledgePartition>,
}

/// What became of one partition's records.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AcknowledgePartition {
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

/// Which acknowledgements were taken.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 79, versions = 1..=2, flexible = 0)]
pub struct ShareAcknowledgeResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// Why the whole request failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// How long records stay the member's, in milliseconds.
    #[field(versions = 2.., ignorable)]
    pub acquisition_lock_timeout_ms: i32,
    /// The answers, by topic.
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    /// Where the leaders named in this answer can be reached.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's share of a [`ShareAcknowledgeResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ShareAcknowledgeTopicResponse {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
}

/// Whether one partition's acknowledgements were taken.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The leader, if this broker is not it any more.
    pub current_leader: LeaderIdAndEpoch,
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
    pub port: i32,
    /// The rack it stands in, or null.
    #[field(nullable)]
    pub rack: Option<CompactString>,
}
