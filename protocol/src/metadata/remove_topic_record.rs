//! Metadata record 9, version 0.

use ottla_model::Uuid;

use crate::Message;

/// A topic is removed, with its partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 9, versions = 0..=0, flexible = 0)]
pub struct RemoveTopicRecord {
    /// The topic's id.
    pub topic_id: Uuid,
}
