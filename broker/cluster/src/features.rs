//! The features of a cluster and the levels of them that this version understands. What a level switches on is the
//! business of those who serve it.

use compact_str::CompactString;
use ottla_protocol::metadata::{
    BeginTransactionRecord, ConfigRecord, EndTransactionRecord, FeatureLevelRecord, MetadataRecord,
};

use crate::image::{ConfigResource, FeatureRange, MetadataImage};
use crate::replay::ReplayError;

/// `metadata.version`: which records the metadata log may hold, and in which versions.
pub const METADATA_VERSION: &str = "metadata.version";
/// `kraft.version`: how the quorum of controllers knows its voters (KIP-853).
pub const KRAFT_VERSION: &str = "kraft.version";
/// `group.version`: 1 where groups of the newer protocol are served (KIP-848).
pub const GROUP_VERSION: &str = "group.version";
/// `transaction.version`: 2 where each end of a transaction raises its producer's epoch (KIP-890).
pub const TRANSACTION_VERSION: &str = "transaction.version";
/// `eligible.leader.replicas.version` (KIP-966).
pub const ELIGIBLE_LEADER_REPLICAS_VERSION: &str = "eligible.leader.replicas.version";
/// 3.3-IV3: the oldest that Apache Kafka 4.4 opens.
pub const METADATA_VERSION_MIN: i16 = 7;
/// 4.4-IV2: the newest that Apache Kafka 4.4.0 writes by default.
pub const METADATA_VERSION_MAX: i16 = 33;

const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";

struct Feature {
    name: &'static str,
    min: i16,
    max: i16,
    /// The level of a new cluster. None: it is no record in the metadata, but a control record of the log.
    initial: Option<i16>,
}

/// As a freshly formatted Apache Kafka 4.4.0 has them, in the order in which it writes them.
const FEATURES: [Feature; 7] = [
    Feature {
        name: METADATA_VERSION,
        min: METADATA_VERSION_MIN,
        max: METADATA_VERSION_MAX,
        initial: Some(METADATA_VERSION_MAX),
    },
    Feature { name: ELIGIBLE_LEADER_REPLICAS_VERSION, min: 0, max: 1, initial: Some(1) },
    Feature { name: GROUP_VERSION, min: 0, max: 1, initial: Some(1) },
    Feature { name: "share.version", min: 0, max: 2, initial: Some(2) },
    Feature { name: "streams.version", min: 0, max: 1, initial: Some(1) },
    Feature { name: TRANSACTION_VERSION, min: 0, max: 2, initial: Some(2) },
    Feature { name: KRAFT_VERSION, min: 0, max: 1, initial: None },
];

/// The levels that this version understands: what it registers with.
#[must_use]
pub fn supported() -> Vec<FeatureRange> {
    let range = |feature: &Feature| FeatureRange {
        name: CompactString::const_new(feature.name),
        min: feature.min,
        max: feature.max,
    };
    FEATURES.iter().map(range).collect()
}

/// The records that give a new cluster its features.
pub(crate) fn initial_records() -> impl Iterator<Item = MetadataRecord> {
    let level = |feature: &Feature| {
        let name = CompactString::const_new(feature.name);
        feature.initial.map(|level| FeatureLevelRecord { name, feature_level: level }.into())
    };
    FEATURES.iter().filter_map(level)
}

/// What Kafka's first controller writes into an empty log, all or nothing: the records that the directory was formatted
/// with, and where eligible leader replicas are on a value of `min.insync.replicas` for all brokers.
pub(crate) fn bootstrap_records(
    formatted: Vec<MetadataRecord>,
    min_insync_replicas: i32,
) -> Vec<MetadataRecord> {
    let eligible = |record: &MetadataRecord| matches!(record, MetadataRecord::FeatureLevel(level) if level.name == ELIGIBLE_LEADER_REPLICAS_VERSION);
    let min_insync_replicas = formatted.iter().any(eligible).then(|| min_insync_record(min_insync_replicas));
    let begin = BeginTransactionRecord { name: Some("Bootstrap records".into()) }.into();
    let end = EndTransactionRecord::default().into();
    [begin].into_iter().chain(formatted).chain(min_insync_replicas).chain([end]).collect()
}

/// What goes with switching eligible leader replicas on: a value of `min.insync.replicas` for all brokers, where there is none.
pub(crate) fn min_insync_default(image: &MetadataImage, min_insync_replicas: i32) -> Option<MetadataRecord> {
    let set = image.configs(&ConfigResource::default_broker());
    let has = set.is_some_and(|values| values.contains_key(MIN_INSYNC_REPLICAS));
    (!has).then(|| min_insync_record(min_insync_replicas))
}

fn min_insync_record(min_insync_replicas: i32) -> MetadataRecord {
    let defaults = ConfigResource::default_broker();
    MetadataRecord::Config(ConfigRecord {
        resource_type: defaults.kind,
        resource_name: defaults.name,
        name: MIN_INSYNC_REPLICAS.into(),
        value: Some(min_insync_replicas.to_string().into()),
    })
}

/// Whether a log with this level can be understood. Level 0 of any feature means that it is off.
pub(crate) fn check(name: &str, level: i16) -> Result<(), ReplayError> {
    let Some(feature) = FEATURES.iter().find(|feature| feature.name == name) else {
        return if level == 0 {
            Ok(())
        } else {
            Err(ReplayError::UnknownFeature { name: name.into(), level })
        };
    };
    if level == 0 && name != METADATA_VERSION || (feature.min..=feature.max).contains(&level) {
        return Ok(());
    }
    Err(ReplayError::FeatureLevel { name: name.into(), level, min: feature.min, max: feature.max })
}
