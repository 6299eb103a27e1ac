//! What the configuration says of groups: the coordinator's own settings, those of the topic in which it keeps its state,
//! and what single groups have of their own in the metadata.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_cluster::{ConfigMap, ConfigResource, MetadataImage};
use ottla_coordinator::{
    ClassicConfig, ConsumerConfig, GroupConfig, GroupOverrides, MigrationPolicy, OffsetsConfig,
};
use ottla_model::GroupId;
use ottla_model::compression::{Codec, Compression};

use super::broker::{count, duration, size};
use super::settings::Settings;

/// How groups are coordinated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupsConfig {
    /// What the coordinator decides by, single groups' own values aside.
    pub coordinator: GroupConfig,
    /// `group.coordinator.rebalance.protocols` names `consumer`.
    pub consumer_protocol: bool,
    /// `group.coordinator.threads`: the most threads that load groups.
    pub loading_threads: usize,
    /// `group.coordinator.background.threads`: the most threads that assign and match regular expressions.
    pub background_threads: usize,
    /// `offsets.commit.timeout.ms`: how long an answer waits for its records to be committed.
    pub commit_timeout: Duration,
    /// `offsets.load.buffer.size`: how much of a log is read at once.
    pub load_bytes: u32,
    /// Where the topic is created.
    pub topic: OffsetsTopic,
    /// `offsets.topic.compression.codec`, by its number.
    pub compression: Compression,
}

/// The topic of groups and their committed offsets, where it is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetsTopic {
    /// `offsets.topic.num.partitions`.
    pub partitions: i32,
    /// `offsets.topic.replication.factor`.
    pub replication_factor: i16,
    /// `offsets.topic.segment.bytes`.
    pub segment_bytes: u32,
}

impl GroupsConfig {
    pub(super) fn new(settings: &Settings) -> Self {
        let protocols = settings.list("group.coordinator.rebalance.protocols");
        let codec = u8::try_from(settings.number("offsets.topic.compression.codec")).ok();
        Self {
            coordinator: GroupConfig {
                classic: classic(settings),
                consumer: consumer(settings),
                offsets: offsets(settings),
                overrides: Arc::default(),
            },
            consumer_protocol: protocols.iter().any(|protocol| protocol.eq_ignore_ascii_case("consumer")),
            loading_threads: count(settings, "group.coordinator.threads"),
            background_threads: count(settings, "group.coordinator.background.threads"),
            commit_timeout: duration(settings, "offsets.commit.timeout.ms"),
            load_bytes: size(settings, "offsets.load.buffer.size"),
            topic: OffsetsTopic::new(settings),
            compression: codec.and_then(Codec::from_id).map_or(Compression::NONE, Compression::of),
        }
    }

    /// The coordinator's settings, with what single groups have of their own. A value that is none counts as not there.
    pub(crate) fn with_groups(&self, image: &MetadataImage) -> GroupConfig {
        let resources =
            image.config_resources().filter(|(resource, _)| resource.kind == ConfigResource::GROUP);
        let own = resources.map(|(resource, own)| (GroupId::new(resource.name.clone()), of_group(own)));
        let overrides: HashMap<GroupId, GroupOverrides> = own.collect();
        GroupConfig { overrides: Arc::new(overrides), ..self.coordinator.clone() }
    }
}

impl OffsetsTopic {
    fn new(settings: &Settings) -> Self {
        let factor = settings.number("offsets.topic.replication.factor");
        Self {
            partitions: int(settings, "offsets.topic.num.partitions"),
            replication_factor: i16::try_from(factor).expect("the table bounds a short"),
            segment_bytes: size(settings, "offsets.topic.segment.bytes"),
        }
    }
}

fn classic(settings: &Settings) -> ClassicConfig {
    ClassicConfig {
        session_timeout_ms_min: int(settings, "group.min.session.timeout.ms"),
        session_timeout_ms_max: int(settings, "group.max.session.timeout.ms"),
        initial_rebalance_delay: duration(settings, "group.initial.rebalance.delay.ms"),
        members_max: count(settings, "group.max.size"),
    }
}

fn consumer(settings: &Settings) -> ConsumerConfig {
    let policy = settings.text("group.consumer.migration.policy").unwrap_or_default();
    let span = |key| duration(settings, key);
    ConsumerConfig {
        session_timeout: span("group.consumer.session.timeout.ms"),
        session_timeout_min: span("group.consumer.min.session.timeout.ms"),
        session_timeout_max: span("group.consumer.max.session.timeout.ms"),
        heartbeat_interval: span("group.consumer.heartbeat.interval.ms"),
        heartbeat_interval_min: span("group.consumer.min.heartbeat.interval.ms"),
        heartbeat_interval_max: span("group.consumer.max.heartbeat.interval.ms"),
        assignment_interval: span("group.consumer.assignment.interval.ms"),
        assignment_interval_min: span("group.consumer.min.assignment.interval.ms"),
        assignment_interval_max: span("group.consumer.max.assignment.interval.ms"),
        members_max: count(settings, "group.consumer.max.size"),
        assignors: settings.list("group.consumer.assignors").iter().map(Into::into).collect(),
        migration: match policy.to_ascii_lowercase().as_str() {
            "disabled" => MigrationPolicy::Disabled,
            "upgrade" => MigrationPolicy::Upgrade,
            "downgrade" => MigrationPolicy::Downgrade,
            _ => MigrationPolicy::Bidirectional,
        },
        // Kafka's own property for the interval is not a documented one.
        ..ConsumerConfig::default()
    }
}

fn offsets(settings: &Settings) -> OffsetsConfig {
    let minutes = u64::try_from(settings.number("offsets.retention.minutes")).unwrap_or(0);
    OffsetsConfig {
        metadata_chars_max: usize::try_from(settings.number("offset.metadata.max.bytes")).unwrap_or(0),
        retention: Duration::from_secs(minutes.saturating_mul(60)),
        retention_check_interval: duration(settings, "offsets.retention.check.interval.ms"),
    }
}

fn of_group(own: &ConfigMap) -> GroupOverrides {
    let span = |key: &str| Some(Duration::from_millis(own.get(key)?.trim().parse().ok()?));
    GroupOverrides {
        session_timeout: span("consumer.session.timeout.ms"),
        heartbeat_interval: span("consumer.heartbeat.interval.ms"),
        assignment_interval: span("consumer.assignment.interval.ms"),
    }
}

fn int(settings: &Settings, key: &str) -> i32 {
    i32::try_from(settings.number(key)).expect("the table bounds an int")
}
