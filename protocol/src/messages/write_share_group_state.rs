//! WriteShareGroupState (key 85), versions 0–1, all flexible (KIP-932). From a share-partition's leader to a share
//! coordinator.
//!
//! * 1: how many records are done with, for the lag (KIP-1226).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, Uuid};

use crate::Message;

/// The new state of share-partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 85, versions = 0..=1, flexible = 0)]
pub struct WriteShareGroupStateRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<WriteStateData>,
}

/// One topic's share of a [`WriteShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct WriteStateData {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionData>,
}

/// The new state of one share-partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// How often the state was started anew.
    pub state_epoch: i32,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that is not done with.
    pub start_offset: Offset,
    /// How many records above the start offset are done with; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub delivery_complete_count: i32,
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

/// Which share-partitions have their new state.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 85, versions = 0..=1, flexible = 0)]
pub struct WriteShareGroupStateResponse {
    /// The answers, by topic.
    pub results: Vec<WriteStateResult>,
}

/// One topic's share of a [`WriteShareGroupStateResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct WriteStateResult {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
}

/// Whether one share-partition has its new state.
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
