//! The topics in which coordinators keep their state: their names, and how they are created. What is in them is the
//! coordinators' affair.

use compact_str::{CompactString, ToCompactString};
use ottla_cluster::MetadataImage;
use ottla_model::TopicName;
use ottla_protocol::messages::create_topics::{CreatableTopic, CreatableTopicConfig};

use crate::config::BrokerConfig;

/// The topic of groups and their committed offsets.
pub(crate) const CONSUMER_OFFSETS: &str = "__consumer_offsets";
/// The topic of transactions.
const TRANSACTION_STATE: &str = "__transaction_state";
/// The topic of share-partitions.
const SHARE_GROUP_STATE: &str = "__share_group_state";

/// Names that Kafka keeps for itself.
pub(crate) fn is_internal(topic: &TopicName) -> bool {
    matches!(topic.as_str(), CONSUMER_OFFSETS | TRANSACTION_STATE | SHARE_GROUP_STATE)
}

/// How an internal topic is created; none where nobody here would use it.
pub(crate) fn creatable(
    config: &BrokerConfig,
    image: &MetadataImage,
    topic: &TopicName,
) -> Option<CreatableTopic> {
    if topic.as_str() != CONSUMER_OFFSETS {
        return None;
    }
    let offsets = &config.groups.topic;
    let alive = image.brokers().filter(|broker| !broker.fenced).count();
    let set =
        |name: &str, value: CompactString| CreatableTopicConfig { name: name.into(), value: Some(value) };
    Some(CreatableTopic {
        name: topic.clone(),
        num_partitions: offsets.partitions,
        // Kafka waits for that many brokers instead, which a cluster of one never gets.
        replication_factor: offsets.replication_factor.min(i16::try_from(alive).unwrap_or(i16::MAX)),
        configs: vec![
            set("cleanup.policy", "compact".into()),
            set("compression.type", "producer".into()),
            set("segment.bytes", offsets.segment_bytes.to_compact_string()),
        ],
        ..CreatableTopic::default()
    })
}
