//! What a topic's configuration demands of a partition, sorted by who obeys it: the log, the check of a batch, and the
//! partition itself. Parses nothing; `config/topic.rs` has done that.

use std::time::Duration;

use ottla_cluster::{ConfigResource, MetadataImage};
use ottla_model::batch::{self, BatchRules, CompressionTarget, DECOMPRESSED_BATCH_BYTES_MAX};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{NodeId, TopicName};
use ottla_storage::LogConfig;

use crate::config::topic::{CompressionType, TimestampType};
use crate::config::{BrokerConfig, DynamicConfigs, TopicConfig};

/// A topic's settings.
#[derive(Debug, Clone)]
pub(crate) struct PartitionSettings {
    pub(crate) log: LogConfig,
    pub(crate) rules: BatchRules,
    pub(crate) min_insync_replicas: u32,
    pub(crate) flush_interval: Option<Duration>,
}

impl PartitionSettings {
    /// Those of a topic, as the broker's configuration and the metadata have them together.
    pub(crate) fn of_topic(
        broker: &BrokerConfig,
        node: NodeId,
        image: &MetadataImage,
        topic: &TopicName,
    ) -> Self {
        let of_node = image.configs(&ConfigResource::broker(node));
        let of_cluster = image.configs(&ConfigResource::default_broker());
        let dynamic =
            DynamicConfigs { node: of_node.map(AsRef::as_ref), cluster: of_cluster.map(AsRef::as_ref) };
        let own = image.configs(&ConfigResource::topic(topic));
        let own = own.iter().flat_map(|map| map.iter()).map(|(key, value)| (key.as_str(), value.as_str()));
        Self::new(&TopicConfig::resolve(broker, dynamic, own), broker)
    }

    fn new(topic: &TopicConfig, broker: &BrokerConfig) -> Self {
        Self {
            log: log_config(topic, broker),
            rules: batch_rules(topic),
            min_insync_replicas: topic.min_insync_replicas,
            flush_interval: topic.flush_interval,
        }
    }
}

fn log_config(topic: &TopicConfig, broker: &BrokerConfig) -> LogConfig {
    let or_never = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    LogConfig {
        segment_bytes: topic.segment_bytes,
        // A record can be compacted only once its segment is closed.
        segment_ms: match topic.is_compacted {
            true => topic.segment_ms.min(topic.max_compaction_lag_ms),
            false => topic.segment_ms,
        },
        segment_jitter_ms: topic.segment_jitter_ms,
        index_interval_bytes: topic.index_interval_bytes,
        segment_index_bytes: topic.segment_index_bytes,
        flush_messages: topic.flush_messages.map_or(i64::MAX, or_never),
        flush_ms: topic
            .flush_interval
            .map_or(i64::MAX, |interval| i64::try_from(interval.as_millis()).unwrap_or(i64::MAX)),
        preallocate: topic.preallocate,
        producer_id_expiration_ms: broker.producer_id_expiration_ms,
        is_compacted: topic.is_compacted,
        deletes: topic.deletes,
        retention_ms: topic.retention_ms,
        retention_bytes: topic.retention_bytes,
        file_delete_delay_ms: topic.file_delete_delay_ms,
        delete_retention_ms: topic.delete_retention_ms,
        min_compaction_lag_ms: topic.min_compaction_lag_ms,
        max_compaction_lag_ms: topic.max_compaction_lag_ms,
        min_cleanable_dirty_ratio: topic.min_cleanable_dirty_ratio,
    }
}

fn batch_rules(topic: &TopicConfig) -> BatchRules {
    let bytes = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
    BatchRules {
        max_message_bytes: bytes(topic.max_message_bytes),
        timestamp_type: match topic.timestamp_type {
            TimestampType::CreateTime => batch::TimestampType::CreateTime,
            TimestampType::LogAppendTime => batch::TimestampType::LogAppendTime,
        },
        timestamp_before_max_ms: topic.timestamp_before_max_ms,
        timestamp_after_max_ms: topic.timestamp_after_max_ms,
        key_required: topic.is_compacted,
        compression: compression_target(topic),
        max_decompressed_message_bytes: bytes(topic.max_decompressed_bytes),
        decompressed_batch_bytes_max: DECOMPRESSED_BATCH_BYTES_MAX,
    }
}

fn compression_target(topic: &TopicConfig) -> CompressionTarget {
    let with_level =
        |codec, level| Compression::with_level(codec, level).expect("the table bounds a codec's level");
    CompressionTarget::To(match topic.compression_type {
        CompressionType::Producer => return CompressionTarget::Producer,
        CompressionType::Uncompressed => Compression::NONE,
        CompressionType::Gzip => with_level(Codec::Gzip, topic.compression_gzip_level),
        CompressionType::Snappy => Compression::of(Codec::Snappy),
        CompressionType::Lz4 => with_level(Codec::Lz4, topic.compression_lz4_level),
        CompressionType::Zstd => with_level(Codec::Zstd, topic.compression_zstd_level),
    })
}
