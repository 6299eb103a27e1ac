//! ReadShareGroupState (key 84), version 0, flexible (KIP-932). From a share-partition's leader to a share
//! coordinator.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, Uuid};

use crate::Message;

/// A question for the state of share-partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 84, versions = 0..=0, flexible = 0)]
pub struct ReadShareGroupStateRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<ReadStateData>,
}

/// One topic's share of a [`ReadShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReadStateData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
}

/// One share-partition asked for.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
}

/// The state of share-partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 84, versions = 0..=0, flexible = 0)]
pub struct ReadShareGroupStateResponse {
    /// The answers, by topic.
    pub results: Vec<ReadStateResult>,
}

/// One topic's share of a [`ReadShareGroupStateResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReadStateResult {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
}

/// The state of one share-partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionResult {
    /// The partition.
    pub partition: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// How often the state was started anew.
    pub state_epoch: i32,
    /// The first offset that is not done with.
    pub start_offset: Offset,
    /// The records at or above the start offset, by state.
    pub state_batches: Vec<StateBatch>,
}

/// Records next to each other that are in the same state.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct StateBatch {
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset, included.
    pub last_offset: Offset,
    /// 0 available, 2 acknowledged, 4 archived.
    pub delivery_state: i8,
    /// How often the records were delivered.
    pub delivery_count: i16,
}
