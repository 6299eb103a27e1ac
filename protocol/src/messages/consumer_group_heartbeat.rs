//! ConsumerGroupHeartbeat (key 68), versions 0–1, all flexible (KIP-848). The one request by which a member joins,
//! stays and leaves.
//!
//! * 1: subscription by regular expression; the member draws its own id (KIP-1082).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A member's state: all of it when it joins, later what changed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 68, versions = 0..=1, flexible = 0)]
pub struct ConsumerGroupHeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
    /// The member's epoch; 0 to join, −1 to leave, −2 to pause as a static member.
    pub member_epoch: i32,
    /// The static member's id, or null.
    #[field(nullable)]
    pub instance_id: Option<CompactString>,
    /// The member's rack; null if there is none or it did not change.
    #[field(nullable)]
    pub rack_id: Option<CompactString>,
    /// How long the member may take to give partitions up, in milliseconds; −1 if it did not change.
    #[field(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The topics that the member subscribes to; null if they did not change.
    #[field(nullable)]
    pub subscribed_topic_names: Option<Vec<TopicName>>,
    /// The regular expression of the topics that the member subscribes to; null if it did not change.
    #[field(versions = 1.., nullable)]
    pub subscribed_topic_regex: Option<CompactString>,
    /// The assignor that the member wants; null if it did not change.
    #[field(nullable)]
    pub server_assignor: Option<CompactString>,
    /// The partitions that the member has, by topic; null if they did not change.
    #[field(nullable)]
    pub topic_partitions: Option<Vec<TopicPartitions>>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// What the member is to do.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 68, versions = 0..=1, flexible = 0)]
pub struct ConsumerGroupHeartbeatResponse {
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
