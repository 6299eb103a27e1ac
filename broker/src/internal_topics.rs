//! The topics in which coordinators keep their state: their names, and how they are created. What is in them is the
//! coordinators' affair.

use compact_str::{CompactString, ToCompactString};
use ottla_cluster::MetadataImage;
use ottla_model::TopicName;
use ottla_protocol::messages::create_topics::{CreatableTopic, CreatableTopicConfig};

use crate::config::{BrokerConfig, OffsetsTopic, TransactionsTopic};

/// The topic of groups and their committed offsets.
pub(crate) const CONSUMER_OFFSETS: &str = "__consumer_offsets";
/// The topic of transactions.
pub(crate) const TRANSACTION_STATE: &str = "__transaction_state";
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
    let alive = image.brokers().filter(|broker| !broker.fenced).count();
    // Kafka waits for that many brokers instead, which a cluster of one never gets.
    let replicas = |factor: i16| factor.min(i16::try_from(alive).unwrap_or(i16::MAX));
    let (num_partitions, replication_factor, configs) = match topic.as_str() {
        CONSUMER_OFFSETS => {
            let offsets = &config.groups.topic;
            (offsets.partitions, replicas(offsets.replication_factor), of_offsets(offsets))
        }
        TRANSACTION_STATE => {
            let transactions = &config.transactions.topic;
            (
                transactions.partitions,
                replicas(transactions.replication_factor),
                of_transactions(transactions),
            )
        }
        _ => return None,
    };
    let configs = configs
        .into_iter()
        .map(|(name, value)| CreatableTopicConfig { name: name.into(), value: Some(value) })
        .collect();
    Some(CreatableTopic {
        name: topic.clone(),
        num_partitions,
        replication_factor,
        configs,
        ..CreatableTopic::default()
    })
}

fn of_offsets(offsets: &OffsetsTopic) -> Vec<(&'static str, CompactString)> {
    vec![
        ("cleanup.policy", "compact".into()),
        ("compression.type", "producer".into()),
        ("segment.bytes", offsets.segment_bytes.to_compact_string()),
    ]
}

/// Kafka sets `unclean.leader.election.enable=false` too, which is the default, and the only way here.
fn of_transactions(transactions: &TransactionsTopic) -> Vec<(&'static str, CompactString)> {
    vec![
        ("compression.type", "uncompressed".into()),
        ("cleanup.policy", "compact".into()),
        ("min.insync.replicas", transactions.min_insync_replicas.to_compact_string()),
        ("segment.bytes", transactions.segment_bytes.to_compact_string()),
    ]
}
