//! The topics of a consumer group, as the group last saw them (KIP-848). Kafka writes it no longer since 4.1, but
//! removes what it finds: key type 4 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, PartitionIndex, TopicName, Uuid};

use crate::Message;

/// Names a consumer group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 4, versions = 0..=0)]
pub struct ConsumerGroupPartitionMetadataKey {
    /// The group.
    pub group_id: GroupId,
}

/// The topics and where their replicas stand.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 4, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupPartitionMetadataValue {
    /// The partitions, by topic.
    pub topics: Vec<TopicMetadata>,
}

/// A topic and where its replicas stand.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicMetadata {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The topic's name.
    pub topic_name: TopicName,
    /// The number of partitions.
    pub num_partitions: i32,
    /// The racks, by partition.
    pub partition_metadata: Vec<PartitionMetadata>,
}

/// The racks of one partition's replicas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct PartitionMetadata {
    /// The partition.
    pub partition: PartitionIndex,
    /// The racks of its replicas.
    pub racks: Vec<CompactString>,
}
