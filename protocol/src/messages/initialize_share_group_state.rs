//! InitializeShareGroupState (key 83), version 0, flexible (KIP-932). From a group coordinator to a share
//! coordinator.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, Offset, PartitionIndex, Uuid};

use crate::Message;

/// Share-partitions whose state begins.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 83, versions = 0..=0, flexible = 0)]
pub struct InitializeShareGroupStateRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<InitializeStateData>,
}

/// One topic's share of an [`InitializeShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct InitializeStateData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
}

/// Where one share-partition begins.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// How often the state was started anew.
    pub state_epoch: i32,
    /// The first offset to deliver; −1 if it is not decided.
    pub start_offset: Offset,
}

/// Which share-partitions have a state now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 83, versions = 0..=0, flexible = 0)]
pub struct InitializeShareGroupStateResponse {
    /// The answers, by topic.
    pub results: Vec<InitializeStateResult>,
}

/// What became of one topic's share-partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct InitializeStateResult {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
}

/// Whether one share-partition has a state now.
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
