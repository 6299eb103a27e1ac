//! DeleteShareGroupState (key 86), version 0, flexible (KIP-932). From a group coordinator to a share coordinator.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, PartitionIndex, Uuid};

use crate::Message;

/// Share-partitions whose state goes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 86, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupStateRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<DeleteStateData>,
}

/// One topic's share of a [`DeleteShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteStateData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
}

/// One share-partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
}

/// Which share-partitions have no state any more.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 86, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupStateResponse {
    /// The answers, by topic.
    pub results: Vec<DeleteStateResult>,
}

/// What became of one topic's share-partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteStateResult {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
}

/// Whether one share-partition has no state any more.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionResult {
    /// The partition.
    pub partition: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
}
