//! What a topic can be told: the table of topic properties, and the typed settings that come of a topic's own values,
//! the cluster's and node's dynamic ones, and the broker's file. Decides nothing about logs or batches.

use std::time::Duration;

use super::broker::BrokerConfig;
use super::describe::DynamicConfigs;
use super::property::{Effect, INT_MAX, InvalidValue, Kind, Property, Scope, Value};

/// Any number below zero means no limit in a broker's file, and is said as −1 of a topic.
const RETENTION_MS: &str = "retention.ms";

const LONG_MAX: i64 = i64::MAX;
const COMPRESSION_TYPES: &[&str] = &["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"];
const MS_PER_MINUTE: i64 = 60_000;
const MS_PER_HOUR: i64 = 60 * MS_PER_MINUTE;

/// A topic property and the broker properties that give it a value where the topic has none.
#[derive(Debug, Clone, Copy)]
pub struct TopicProperty {
    /// The property itself; its default is that of a broker without configuration.
    pub property: Property,
    /// Broker properties, the one that goes first in front.
    pub synonyms: &'static [Synonym],
}

/// A broker property that stands for a topic property.
#[derive(Debug, Clone, Copy)]
pub struct Synonym {
    /// The broker property's name.
    pub name: &'static str,
    /// How many of the topic property's units one of the broker property's is.
    pub factor: i64,
}

const fn same(name: &'static str) -> Synonym {
    Synonym { name, factor: 1 }
}

const fn row(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    synonyms: &'static [Synonym],
) -> TopicProperty {
    TopicProperty { property: Property::new(name, kind, Some(default)).of(Scope::Topic), synonyms }
}

impl TopicProperty {
    const fn acts(self, doc: &'static str) -> Self {
        Self { property: self.property.acts(doc), ..self }
    }
}

/// The topic properties of Kafka 4.4 in the order of their names.
pub static TOPIC_PROPERTIES: &[TopicProperty] = &[
    row("cleanup.policy", Kind::ListOf(&["compact", "delete"]), "delete", &[same("log.cleanup.policy")])
    .acts("What happens to old records: delete by age and size, compact to the newest of each key, or both; an empty list keeps all."),
    row("compression.gzip.level", Kind::IntOr(-1, 1, 9), "-1", &[same("compression.gzip.level")])
        .acts("How hard gzip works where compression.type asks for it; -1 leaves the choice to the library."),
    row("compression.lz4.level", Kind::Int(1, 17), "9", &[same("compression.lz4.level")])
        .acts("How hard lz4 works where compression.type asks for it."),
    row("compression.type", Kind::OneOf(COMPRESSION_TYPES), "producer", &[same("compression.type")])
        .acts("What a batch is compressed with on disk; producer keeps what the producer chose."),
    row("compression.zstd.level", Kind::Int(-131_072, 22), "3", &[same("compression.zstd.level")])
        .acts("How hard zstd works where compression.type asks for it."),
    row(
        "delete.retention.ms",
        Kind::Long(0, LONG_MAX),
        "86400000",
        &[same("log.cleaner.delete.retention.ms")],
    )
    .acts("How long compaction keeps tombstones and transaction markers."),
    row("errors.deadletterqueue.group.enable", Kind::Boolean, "false", &[]),
    row("file.delete.delay.ms", Kind::Long(0, LONG_MAX), "60000", &[same("log.segment.delete.delay.ms")])
    .acts("How long the files of what was deleted stay on the disk."),
    row(
        "flush.messages",
        Kind::Long(1, LONG_MAX),
        "9223372036854775807",
        &[same("log.flush.interval.messages")],
    )
    .acts("After so many records the log is forced to disk."),
    row(
        "flush.ms",
        Kind::Long(0, LONG_MAX),
        "9223372036854775807",
        &[same("log.flush.interval.ms"), same("log.flush.scheduler.interval.ms")],
    )
    .acts("A record is forced to disk at the latest after so long."),
    row("follower.replication.throttled.replicas", Kind::Replicas, "", &[])
        .acts("The replicas whose copying is throttled where they follow; one node has none that follows."),
    row("index.interval.bytes", Kind::Int(0, INT_MAX), "4096", &[same("log.index.interval.bytes")])
        .acts("After so many bytes of log the offset index gets its next entry."),
    row("leader.replication.throttled.replicas", Kind::Replicas, "", &[])
        .acts("The replicas whose copying is throttled where they lead; one node has none that follows."),
    row("local.retention.bytes", Kind::Long(-2, LONG_MAX), "-2", &[same("log.local.retention.bytes")])
        .acts("What of a log stays here that a remote tier holds; there is no remote tier, so all does."),
    row("local.retention.ms", Kind::Long(-2, LONG_MAX), "-2", &[same("log.local.retention.ms")])
        .acts("How long what a remote tier holds stays here too; there is no remote tier, so all does."),
    row(
        "max.compaction.lag.ms",
        Kind::Long(1, LONG_MAX),
        "9223372036854775807",
        &[same("log.cleaner.max.compaction.lag.ms")],
    )
    .acts("A record is compacted at the latest after so long, where its log is."),
    row(
        "max.decompressed.message.bytes",
        Kind::Int(1, 2_147_483_639),
        "2147483639",
        &[same("max.decompressed.message.bytes")],
    )
    .acts("The most bytes that a compressed batch may unfold to."),
    row("max.message.bytes", Kind::Int(0, INT_MAX), "1048588", &[same("message.max.bytes")])
        .acts("The largest batch that is accepted, as it arrives."),
    row(
        "message.timestamp.after.max.ms",
        Kind::Long(0, LONG_MAX),
        "3600000",
        &[same("log.message.timestamp.after.max.ms")],
    )
    .acts("A record dated further in the future than this is refused."),
    row(
        "message.timestamp.before.max.ms",
        Kind::Long(0, LONG_MAX),
        "9223372036854775807",
        &[same("log.message.timestamp.before.max.ms")],
    )
    .acts("A record dated further in the past than this is refused."),
    row(
        "message.timestamp.type",
        Kind::OneOf(&["CreateTime", "LogAppendTime"]),
        "CreateTime",
        &[same("log.message.timestamp.type")],
    )
    .acts("Whether a record keeps its producer's time or gets that of its append."),
    row(
        "min.cleanable.dirty.ratio",
        Kind::Double(0.0, 1.0),
        "0.5",
        &[same("log.cleaner.min.cleanable.ratio")],
    )
    .acts("A log is compacted once more than this share of it is new since the last time."),
    row("min.compaction.lag.ms", Kind::Long(0, LONG_MAX), "0", &[same("log.cleaner.min.compaction.lag.ms")])
    .acts("A record is not compacted before this age."),
    row("min.insync.replicas", Kind::Int(1, INT_MAX), "1", &[same("min.insync.replicas")])
        .acts("With fewer replicas in sync than this a produce with acks=all is refused."),
    row("preallocate", Kind::Boolean, "false", &[same("log.preallocate")])
        .acts("Whether a new segment's file takes its full size at once."),
    row("remote.copy.lag.bytes", Kind::Long(-1, LONG_MAX), "-1", &[same("log.remote.copy.lag.bytes")])
        .acts("How much of a log waits before a remote tier gets it; there is no remote tier."),
    row("remote.copy.lag.ms", Kind::Long(-1, LONG_MAX), "0", &[same("log.remote.copy.lag.ms")])
        .acts("How long a segment waits before a remote tier gets it; there is no remote tier."),
    row("remote.log.copy.disable", Kind::Boolean, "false", &[])
        .acts("Whether a remote tier gets no more; there is no remote tier."),
    row("remote.log.delete.on.disable", Kind::Boolean, "false", &[])
        .acts("Whether a remote tier forgets a log that leaves it; there is no remote tier."),
    row("remote.storage.enable", Kind::Boolean, "false", &[])
        .acts("Whether a remote tier holds the log; there is none, so true is refused."),
    row("retention.bytes", Kind::Long(i64::MIN, LONG_MAX), "-1", &[same("log.retention.bytes")])
    .acts("Old segments are deleted while more than so many bytes stay; -1 for no limit."),
    row(
        "retention.ms",
        Kind::Long(-1, LONG_MAX),
        "604800000",
        &[
            same("log.retention.ms"),
            Synonym { name: "log.retention.minutes", factor: MS_PER_MINUTE },
            Synonym { name: "log.retention.hours", factor: MS_PER_HOUR },
        ],
    )
    .acts("Segments whose newest record is older are deleted; -1 for no limit."),
    row("segment.bytes", Kind::Int(1_048_576, INT_MAX), "1073741824", &[same("log.segment.bytes")])
        .acts("A segment that would grow beyond this is closed and the next one begun."),
    row("segment.index.bytes", Kind::Int(4, INT_MAX), "10485760", &[same("log.index.size.max.bytes")])
        .acts("The largest size of an index; a full one makes the log begin its next segment."),
    row(
        "segment.jitter.ms",
        Kind::Long(0, LONG_MAX),
        "0",
        &[same("log.roll.jitter.ms"), Synonym { name: "log.roll.jitter.hours", factor: MS_PER_HOUR }],
    )
    .acts("By up to so much less than segment.ms is a segment open, at random."),
    row(
        "segment.ms",
        Kind::Long(1, LONG_MAX),
        "604800000",
        &[same("log.roll.ms"), Synonym { name: "log.roll.hours", factor: MS_PER_HOUR }],
    )
    .acts("A segment that has been open for so long is closed."),
    row("unclean.leader.election.enable", Kind::Boolean, "false", &[same("unclean.leader.election.enable")])
        .acts("Whether a replica that is behind may lead; one node has none that is."),
];

/// Everything that a topic's configuration decides and that acts, typed, with nothing left to look up.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicConfig {
    /// `max.message.bytes`: the largest batch that is accepted, as it arrives.
    pub max_message_bytes: u32,
    /// `max.decompressed.message.bytes`: the most that a compressed batch may unfold to.
    pub max_decompressed_bytes: u32,
    /// `compression.type`.
    pub compression_type: CompressionType,
    /// `compression.gzip.level`; −1 leaves it to the library.
    pub compression_gzip_level: i32,
    /// `compression.lz4.level`.
    pub compression_lz4_level: i32,
    /// `compression.zstd.level`.
    pub compression_zstd_level: i32,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`: how far in the past a record may be dated.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`: how far in the future a record may be dated.
    pub timestamp_after_max_ms: i64,
    /// `segment.bytes`.
    pub segment_bytes: u32,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `segment.jitter.ms`.
    pub segment_jitter_ms: i64,
    /// `index.interval.bytes`.
    pub index_interval_bytes: u32,
    /// `segment.index.bytes`.
    pub segment_index_bytes: u32,
    /// `flush.messages`; `None` when it is so large that it never comes.
    pub flush_messages: Option<u64>,
    /// `flush.ms`; `None` when it is so long that it never comes.
    pub flush_interval: Option<Duration>,
    /// `preallocate`.
    pub preallocate: bool,
    /// `cleanup.policy` names `compact`.
    pub is_compacted: bool,
    /// `cleanup.policy` names `delete`.
    pub deletes: bool,
    /// `retention.ms`; `None` keeps records of any age.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; `None` keeps any number of bytes.
    pub retention_bytes: Option<u64>,
    /// `file.delete.delay.ms`.
    pub file_delete_delay_ms: i64,
    /// `delete.retention.ms`.
    pub delete_retention_ms: i64,
    /// `min.compaction.lag.ms`.
    pub min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`.
    pub max_compaction_lag_ms: i64,
    /// `min.cleanable.dirty.ratio`, 0 to 1.
    pub min_cleanable_dirty_ratio: f64,
    /// `min.insync.replicas`.
    pub min_insync_replicas: u32,
}

/// `compression.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompressionType {
    /// As the producer chose.
    Producer,
    /// Not compressed.
    Uncompressed,
    /// gzip.
    Gzip,
    /// snappy.
    Snappy,
    /// lz4.
    Lz4,
    /// zstd.
    Zstd,
}

/// `message.timestamp.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// A record keeps its producer's time.
    CreateTime,
    /// A record gets the time of its append.
    LogAppendTime,
}

/// Why a topic cannot have a configuration: error 40, with a message for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicConfigError {
    /// No such key.
    #[error("Unknown topic config name: {0}")]
    Unknown(String),
    /// The key came without a value.
    #[error("The topic config {0} needs a value.")]
    WithoutValue(String),
    /// The value breaks the property's bounds.
    #[error("{}", .0.kafka)]
    Invalid(InvalidValue),
    /// Records would have to be compacted before they may be.
    #[error("conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms ({max})")]
    CompactionLags {
        /// `min.compaction.lag.ms`.
        min: i64,
        /// `max.compaction.lag.ms`.
        max: i64,
    },
    /// There is no remote tier.
    #[error(
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
    )]
    NoRemoteTier,
    /// Kafka knows the key, and this version would not do what it says.
    #[error("The topic config {key} cannot be set to {value}: this version does not act on it yet.")]
    NotYet {
        /// The key.
        key: &'static str,
        /// What was asked for.
        value: String,
    },
}

impl TopicConfig {
    /// Checks the values that somebody asks for, without regard to any other: the names exist, the values are within
    /// their bounds, and this version acts on them. One that it does not act on cannot be set to its default either:
    /// whoever asks for seven days of retention is not to believe that he got them.
    ///
    /// # Errors
    ///
    /// The first value that a topic cannot have.
    pub fn check<'a>(
        asked: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<(), TopicConfigError> {
        for (key, text) in asked {
            let row = find(key).ok_or_else(|| TopicConfigError::Unknown(key.to_owned()))?;
            let text = text.ok_or_else(|| TopicConfigError::WithoutValue(key.to_owned()))?;
            let value = row.property.parse(text).map_err(TopicConfigError::Invalid)?;
            if row.property.name == "remote.storage.enable" && value == Value::Boolean(true) {
                return Err(TopicConfigError::NoRemoteTier);
            }
            if row.property.effect != Effect::Acts {
                return Err(TopicConfigError::NotYet { key: row.property.name, value: text.to_owned() });
            }
        }
        Ok(())
    }

    /// Checks the values that come of those that somebody asks for and those that are inherited, with regard to each other.
    ///
    /// # Errors
    ///
    /// When two of them contradict each other.
    pub fn check_together(&self) -> Result<(), TopicConfigError> {
        let (min, max) = (self.min_compaction_lag_ms, self.max_compaction_lag_ms);
        if min > max { Err(TopicConfigError::CompactionLags { min, max }) } else { Ok(()) }
    }

    /// The settings of a topic: its own values before the dynamic ones of node and cluster, those before the
    /// broker's file. A stored value that breaks its bounds (written by a newer version, say) counts as not there.
    #[must_use]
    pub fn resolve<'a>(
        broker: &BrokerConfig,
        dynamic: DynamicConfigs<'_>,
        own: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let own: Vec<(&str, Value)> = own
            .into_iter()
            .filter_map(|(key, text)| Some((key, find(key)?.property.parse(text).ok()?)))
            .collect();
        let value = |key: &str| {
            let overriding = own.iter().find(|(own_key, _)| *own_key == key).map(|(_, value)| value.clone());
            overriding.unwrap_or_else(|| inherited(find_row(key), broker, dynamic))
        };
        let long = |key: &str| match value(key) {
            Value::Number(number) => number,
            other => unreachable!("{key} is a number in the table, not {other:?}"),
        };
        let int = |key: &str| i32::try_from(long(key)).expect("the table bounds an int");
        let size = |key: &str| u32::try_from(long(key)).expect("the table bounds a size from 0 to 2^31-1");
        let word = |key: &str| match value(key) {
            Value::Text(text) => text,
            other => unreachable!("{key} is text in the table, not {other:?}"),
        };
        let policies = match value("cleanup.policy") {
            Value::List(words) => words,
            other => unreachable!("cleanup.policy is a list in the table, not {other:?}"),
        };
        let has_policy = |policy: &str| policies.iter().any(|word| word == policy);
        let unless_never =
            |key: &str| u64::try_from(long(key)).ok().filter(|number| *number < LONG_MAX.unsigned_abs());
        Self {
            max_message_bytes: size("max.message.bytes"),
            max_decompressed_bytes: size("max.decompressed.message.bytes"),
            compression_type: CompressionType::parse(&word("compression.type")),
            compression_gzip_level: int("compression.gzip.level"),
            compression_lz4_level: int("compression.lz4.level"),
            compression_zstd_level: int("compression.zstd.level"),
            timestamp_type: TimestampType::parse(&word("message.timestamp.type")),
            timestamp_before_max_ms: long("message.timestamp.before.max.ms"),
            timestamp_after_max_ms: long("message.timestamp.after.max.ms"),
            segment_bytes: size("segment.bytes"),
            segment_ms: long("segment.ms"),
            segment_jitter_ms: long("segment.jitter.ms"),
            index_interval_bytes: size("index.interval.bytes"),
            segment_index_bytes: size("segment.index.bytes"),
            flush_messages: unless_never("flush.messages"),
            flush_interval: unless_never("flush.ms").map(Duration::from_millis),
            preallocate: value("preallocate") == Value::Boolean(true),
            is_compacted: has_policy("compact"),
            deletes: has_policy("delete"),
            retention_ms: Some(long("retention.ms")).filter(|ms| *ms >= 0),
            retention_bytes: u64::try_from(long("retention.bytes")).ok(),
            file_delete_delay_ms: long("file.delete.delay.ms"),
            delete_retention_ms: long("delete.retention.ms"),
            min_compaction_lag_ms: long("min.compaction.lag.ms"),
            max_compaction_lag_ms: long("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio: match value("min.cleanable.dirty.ratio") {
                Value::Double(ratio) => ratio,
                other => unreachable!("min.cleanable.dirty.ratio is a ratio in the table, not {other:?}"),
            },
            min_insync_replicas: size("min.insync.replicas"),
        }
    }
}

impl CompressionType {
    /// The type of a word that the table allows.
    fn parse(word: &str) -> Self {
        match word {
            "uncompressed" => Self::Uncompressed,
            "gzip" => Self::Gzip,
            "snappy" => Self::Snappy,
            "lz4" => Self::Lz4,
            "zstd" => Self::Zstd,
            _ => Self::Producer,
        }
    }
}

impl TimestampType {
    /// The type of a word that the table allows.
    fn parse(word: &str) -> Self {
        if word == "LogAppendTime" { Self::LogAppendTime } else { Self::CreateTime }
    }
}

/// The topic property of this name.
pub(super) fn find(key: &str) -> Option<&'static TopicProperty> {
    let at = TOPIC_PROPERTIES.binary_search_by(|row| row.property.name.cmp(key)).ok()?;
    TOPIC_PROPERTIES.get(at)
}

fn find_row(key: &str) -> &'static TopicProperty {
    find(key).expect("the table has every key that the code asks for")
}

/// The text of the value that a topic has without one of its own; empty where there is no such key.
pub(super) fn inherited_text(key: &str, broker: &BrokerConfig) -> String {
    let row = find(key);
    row.map(|row| inherited(row, broker, DynamicConfigs::NONE).to_string()).unwrap_or_default()
}

/// The value that a topic has without one of its own.
pub(super) fn inherited(row: &TopicProperty, broker: &BrokerConfig, dynamic: DynamicConfigs<'_>) -> Value {
    for Synonym { name, factor } in row.synonyms {
        let set = dynamic.value(name).or_else(|| broker.settings().value(name));
        match set {
            Some(Value::Number(number)) => {
                // −1 means "no limit" in every unit, and a span too long for the unit is one that never ends.
                let scaled = if number < 0 && row.property.name == RETENTION_MS {
                    -1
                } else if number < 0 {
                    number
                } else {
                    number.saturating_mul(*factor)
                };
                return Value::Number(scaled);
            }
            Some(other) => return other,
            None => {}
        }
    }
    let default = row.property.default.expect("a topic property has a default");
    row.property.parse(default).expect("a default is within its bounds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::find as find_broker;

    fn broker(pairs: &[(&str, &str)]) -> BrokerConfig {
        BrokerConfig::from_pairs(pairs.iter().copied()).unwrap()
    }

    #[test]
    fn the_table_is_sorted_its_defaults_are_allowed_and_its_synonyms_exist() {
        assert!(TOPIC_PROPERTIES.is_sorted_by(|a, b| a.property.name < b.property.name));
        for row in TOPIC_PROPERTIES {
            row.property.parse(row.property.default.unwrap()).unwrap();
            for synonym in row.synonyms {
                assert!(find_broker(synonym.name).is_some(), "{}", synonym.name);
            }
        }
    }

    #[test]
    fn without_any_configuration_a_topic_has_the_tables_defaults() {
        let broker = broker(&[]);
        for row in TOPIC_PROPERTIES {
            let default = row.property.parse(row.property.default.unwrap()).unwrap();
            assert_eq!(inherited(row, &broker, DynamicConfigs::NONE), default, "{}", row.property.name);
        }
        let topic = TopicConfig::resolve(&broker, DynamicConfigs::NONE, []);
        assert_eq!(topic.max_message_bytes, 1_048_588);
        assert_eq!(topic.segment_ms, 604_800_000);
        assert_eq!(topic.flush_messages, None);
        assert_eq!(topic.flush_interval, None);
        assert_eq!(topic.compression_type, CompressionType::Producer);
    }

    #[test]
    fn the_brokers_values_are_inherited_in_the_order_of_the_synonyms() {
        let resolve = |pairs: &[(&str, &str)], own: &[(&'static str, &'static str)]| {
            TopicConfig::resolve(&broker(pairs), DynamicConfigs::NONE, own.iter().copied()).segment_ms
        };
        assert_eq!(resolve(&[("log.roll.hours", "2")], &[]), 7_200_000);
        assert_eq!(resolve(&[("log.roll.hours", "2"), ("log.roll.ms", "5")], &[]), 5);
        assert_eq!(resolve(&[("log.roll.ms", "5")], &[("segment.ms", "7")]), 7);
        assert_eq!(resolve(&[("log.roll.ms", "5")], &[("segment.ms", "nonsense")]), 5);
    }

    #[test]
    fn a_topic_takes_only_what_exists_is_in_bounds_and_acts() {
        let check =
            |key: &'static str, value| TopicConfig::check([(key, value)]).map_err(|error| error.to_string());
        assert_eq!(check("segment.bytes", Some("1048576")), Ok(()));
        let message = "The topic config errors.deadletterqueue.group.enable cannot be set to false: this version \
                       does not act on it yet.";
        assert_eq!(check("errors.deadletterqueue.group.enable", Some("false")), Err(message.to_owned()));
        assert_eq!(check("no.such", Some("1")), Err("Unknown topic config name: no.such".to_owned()));
        assert_eq!(
            check("segment.bytes", None),
            Err("The topic config segment.bytes needs a value.".to_owned())
        );
        assert_eq!(
            check("segment.bytes", Some("14")),
            Err("Invalid value 14 for configuration segment.bytes: Value must be at least 1048576".to_owned())
        );
        assert_eq!(check("cleanup.policy", Some("compact,delete")), Ok(()));
        assert!(check("cleanup.policy", Some("purge")).is_err());
    }

    #[test]
    fn what_is_kept_is_what_the_topic_says_or_the_broker() {
        let resolve = |pairs: &[(&str, &str)], own: &[(&'static str, &'static str)]| {
            TopicConfig::resolve(&broker(pairs), DynamicConfigs::NONE, own.iter().copied())
        };
        let plain = resolve(&[], &[]);
        assert!(plain.deletes && !plain.is_compacted);
        assert_eq!((plain.retention_ms, plain.retention_bytes), (Some(604_800_000), None));
        assert_eq!(resolve(&[("log.retention.hours", "1")], &[]).retention_ms, Some(3_600_000));
        assert_eq!(resolve(&[("log.retention.hours", "-1")], &[]).retention_ms, None);
        assert_eq!(resolve(&[], &[("retention.ms", "-1")]).retention_ms, None);
        assert_eq!(resolve(&[], &[("retention.bytes", "7")]).retention_bytes, Some(7));
        let compacted = resolve(&[("log.cleanup.policy", "compact")], &[]);
        assert!(compacted.is_compacted && !compacted.deletes);
        let lags = resolve(&[], &[("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8")]);
        assert_eq!(lags.check_together(), Err(TopicConfigError::CompactionLags { min: 9, max: 8 }));
    }
}
