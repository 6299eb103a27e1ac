//! Metadata record 28, version 0 (KIP-966). An empty topic name means every topic.

use ottla_model::TopicName;

use crate::Message;

/// A topic's eligible leader replicas, or those of all topics, are forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 28, versions = 0..=0, flexible = 0)]
pub struct ClearElrRecord {
    /// The topic's name.
    pub topic_name: TopicName,
}
