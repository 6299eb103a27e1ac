//! The state of share-partitions (KIP-932): the records of `__share_group_state`, key type 0 for a snapshot, 1 for
//! what changed since, value version 0.

use ottla_model::{GroupId, LeaderEpoch, Offset, PartitionIndex, Uuid};

use crate::Message;

/// Names a share-partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 0..=0)]
pub struct ShareSnapshotKey {
    /// The group.
    pub group_id: GroupId,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: PartitionIndex,
}

/// The whole state of a share-partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 0, versions = 0..=0, flexible = 0)]
pub struct ShareSnapshotValue {
    /// The number of the snapshot.
    pub snapshot_epoch: i32,
    /// How often the state was started anew.
    pub state_epoch: i32,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that is not done with.
    pub start_offset: Offset,
    /// How many records above the start offset are done with; −1 if it is unknown.
    #[field(tag = 0, default = -1)]
    pub delivery_complete_count: i32,
    /// When the state was first made, in milliseconds.
    pub create_timestamp: i64,
    /// When this was written, in milliseconds.
    pub write_timestamp: i64,
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

/// Names a share-partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 1, versions = 0..=0)]
pub struct ShareUpdateKey {
    /// The group.
    pub group_id: GroupId,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: PartitionIndex,
}

/// What changed in the state of a share-partition since its last snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 1, versions = 0..=0, flexible = 0)]
pub struct ShareUpdateValue {
    /// The number of the snapshot.
    pub snapshot_epoch: i32,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that is not done with.
    pub start_offset: Offset,
    /// How many records above the start offset are done with; −1 if it is unknown.
    #[field(tag = 0, default = -1)]
    pub delivery_complete_count: i32,
    /// The records at or above the start offset, by state.
    pub state_batches: Vec<StateBatch>,
}
