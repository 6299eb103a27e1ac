//! Metadata record 2, version 0.

use ottla_model::{TopicName, Uuid};

use crate::Message;

/// A topic is made; its partitions follow.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 2, versions = 0..=0, flexible = 0)]
pub struct TopicRecord {
    /// The topic's name.
    pub name: TopicName,
    /// The topic's id.
    pub topic_id: Uuid,
}
