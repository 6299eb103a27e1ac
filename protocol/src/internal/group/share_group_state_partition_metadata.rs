//! Which share-partitions of a share group have a state (KIP-932): key type 15 of `__consumer_offsets`, value version
//! 0.

use ottla_model::{GroupId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// Names a share group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 15, versions = 0..=0)]
pub struct ShareGroupStatePartitionMetadataKey {
    /// The group.
    pub group_id: GroupId,
}

/// The share-partitions, by what is done with their state.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 15, versions = 0..=0, flexible = 0)]
pub struct ShareGroupStatePartitionMetadataValue {
    /// The partitions whose state is being made.
    pub initializing_topics: Vec<TopicPartitionsInfo>,
    /// The partitions that have a state.
    pub initialized_topics: Vec<TopicPartitionsInfo>,
    /// The topics whose state is being deleted.
    pub deleting_topics: Vec<TopicInfo>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartitionsInfo {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The topic's name.
    pub topic_name: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicInfo {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The topic's name.
    pub topic_name: TopicName,
}
