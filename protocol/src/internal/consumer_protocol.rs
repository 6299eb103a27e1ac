//! What members of a classic consumer group tell each other through their coordinator: subscription and assignment,
//! versions 0–3. On the wire, the version stands before each. A reader of an older version ignores what a newer one
//! adds.
//!
//! * 1: the partitions that the member has (KIP-429).
//! * 2: the round in which it was assigned them (KIP-792).
//! * 3: the member's rack (KIP-881).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{PartitionIndex, TopicName};

use crate::Message;

/// What a member wants to consume.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=3)]
pub struct ConsumerProtocolSubscription {
    /// The topics that the member subscribes to.
    pub topics: Vec<TopicName>,
    /// What the assignor adds for itself, or null.
    #[field(nullable)]
    pub user_data: Option<Bytes>,
    /// The partitions that the member has, by topic.
    #[field(versions = 1.., ignorable)]
    pub owned_partitions: Vec<TopicPartition>,
    /// The round in which it was assigned them; −1 if it is unknown.
    #[field(versions = 2.., default = -1, ignorable)]
    pub generation_id: i32,
    /// The member's rack, or null.
    #[field(versions = 3.., nullable, ignorable)]
    pub rack_id: Option<CompactString>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// What a member has to consume.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=3)]
pub struct ConsumerProtocolAssignment {
    /// The partitions, by topic.
    pub assigned_partitions: Vec<TopicPartition>,
    /// What the assignor adds for itself, or null.
    #[field(nullable)]
    pub user_data: Option<Bytes>,
}
