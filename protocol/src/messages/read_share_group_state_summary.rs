//! ReadShareGroupStateSummary (key 87), versions 0–1, all flexible (KIP-932). From a group coordinator to a share
//! coordinator.
//!
//! * 1: how many records are done with, for the lag (KIP-1226).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, Uuid};

use crate::Message;

/// A question for the outlines of share-partitions' state.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 87, versions = 0..=1, flexible = 0)]
pub struct ReadShareGroupStateSummaryRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<ReadStateSummaryData>,
}

/// One topic's share of a [`ReadShareGroupStateSummaryRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReadStateSummaryData {
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

/// The outlines of share-partitions' state.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 87, versions = 0..=1, flexible = 0)]
pub struct ReadShareGroupStateSummaryResponse {
    /// The answers, by topic.
    pub results: Vec<ReadStateSummaryResult>,
}

/// One topic's share of a [`ReadShareGroupStateSummaryResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ReadStateSummaryResult {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionResult>,
}

/// The outline of one share-partition's state.
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
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that is not done with.
    pub start_offset: Offset,
    /// How many records above the start offset are done with; −1 if it is unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub delivery_complete_count: i32,
}
