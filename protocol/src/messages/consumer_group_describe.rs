//! ConsumerGroupDescribe (key 69), versions 0–1, all flexible (KIP-848).
//!
//! * 1: whether a member speaks the classic protocol (KIP-1099).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// A question for consumer groups.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 69, versions = 0..=1, flexible = 0)]
pub struct ConsumerGroupDescribeRequest {
    /// The groups.
    pub group_ids: Vec<GroupId>,
    /// Whether to say what the client may do on the groups.
    pub include_authorized_operations: bool,
}

/// Consumer groups and their members.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 69, versions = 0..=1, flexible = 0)]
pub struct ConsumerGroupDescribeResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribedGroup {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The group.
    pub group_id: GroupId,
    /// The group's state.
    pub group_state: CompactString,
    /// How often members, subscriptions or topics changed.
    pub group_epoch: i32,
    /// The group epoch for which the target assignment was made.
    pub assignment_epoch: i32,
    /// The assignor.
    pub assignor_name: CompactString,
    /// The members.
    pub members: Vec<Member>,
    /// A bit for each operation the client may do on the group; −2³¹ if it did not ask.
    #[field(default = i32::MIN)]
    pub authorized_operations: i32,
}

/// A member of the group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Member {
    /// The member.
    pub member_id: CompactString,
    /// The static member's id, or null.
    #[field(nullable)]
    pub instance_id: Option<CompactString>,
    /// The member's rack, or null.
    #[field(nullable)]
    pub rack_id: Option<CompactString>,
    /// The group epoch that the member has reached.
    pub member_epoch: i32,
    /// What the client calls itself.
    pub client_id: CompactString,
    /// The address that the client connects from.
    pub client_host: CompactString,
    /// The topics that the member subscribes to.
    pub subscribed_topic_names: Vec<TopicName>,
    /// The regular expression of the topics that the member subscribes to, or null.
    #[field(nullable)]
    pub subscribed_topic_regex: Option<CompactString>,
    /// What the member has.
    pub assignment: Assignment,
    /// What the member is to have.
    pub target_assignment: Assignment,
    /// 0: it speaks the classic protocol; 1: the newer one; −1: unknown.
    #[field(versions = 1.., default = -1, ignorable)]
    pub member_type: i8,
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
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}
