//! ShareGroupHeartbeat (key 76), version 1, flexible (KIP-932); 0 was an early access and is gone.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A member's state: all of it when it joins, later what changed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 76, versions = 1..=1, flexible = 0)]
pub struct ShareGroupHeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
    /// The member's epoch; 0 to join, −1 to leave.
    pub member_epoch: i32,
    /// The member's rack; null if there is none or it did not change.
    #[field(nullable)]
    pub rack_id: Option<CompactString>,
    /// The topics that the member subscribes to; null if they did not change.
    #[field(nullable)]
    pub subscribed_topic_names: Option<Vec<TopicName>>,
}

/// What the member is to do.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 76, versions = 1..=1, flexible = 0)]
pub struct ShareGroupHeartbeatResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The member's id, or null.
    #[field(nullable)]
    pub member_id: Option<CompactString>,
    /// The group epoch that the member has reached.
    pub member_epoch: i32,
    /// How long to wait before the next heartbeat, in milliseconds.
    pub heartbeat_interval_ms: i32,
    /// What the member is to have; null if it did not change.
    #[field(nullable)]
    pub assignment: Option<Assignment>,
}

/// What a member has to consume.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Assignment {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TopicPartitions>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}
