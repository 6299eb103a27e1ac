//! What the broker's tables say of a topic and of the broker, beside what Apache Kafka says of the same
//! (`tests/data/describe-configs`).

use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_broker::config::{BrokerConfig, DescribedConfig, DynamicConfigs, describe_broker, describe_topic};

const TOPIC_DEFAULT: &str = include_str!("../data/describe-configs/topic-default.tsv");
const TOPIC_SET: &str = include_str!("../data/describe-configs/topic-set.tsv");
const BROKER_DEFAULT: &str = include_str!("../data/describe-configs/broker-default.tsv");
const BROKER_SET: &str = include_str!("../data/describe-configs/broker-set.tsv");

/// What both of Kafka's brokers were told, as far as it changes rows.
const NODE: &[(&str, &str)] = &[
    ("process.roles", "broker,controller"),
    ("node.id", "1"),
    ("controller.listener.names", "CONTROLLER"),
    ("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"),
    ("offsets.topic.replication.factor", "1"),
    ("transaction.state.log.replication.factor", "1"),
    ("transaction.state.log.min.isr", "1"),
    ("share.coordinator.state.topic.replication.factor", "1"),
    ("share.coordinator.state.topic.min.isr", "1"),
    ("group.initial.rebalance.delay.ms", "0"),
    ("log.dirs", "/data"),
];
const SET: &[(&str, &str)] = &[
    ("log.roll.hours", "24"),
    ("log.retention.minutes", "60"),
    ("log.flush.scheduler.interval.ms", "500000"),
    ("message.max.bytes", "2000000"),
    ("log.roll.jitter.ms", "1000"),
    ("log.roll.jitter.hours", "2"),
    ("compression.type", "lz4"),
];
/// Rows that are not Kafka's on purpose: the data folder, one reactor a processor, and the machine's own rows.
const DIFFERENT: &[&str] = &[
    "listener.security.protocol.map",
    "log.dir",
    "log.dirs",
    "num.network.threads",
    "listeners",
    "advertised.listeners",
    "controller.quorum.bootstrap.servers",
];

/// `min.insync.replicas` stands in the cluster's defaults from the start (KIP-966).
fn cluster_defaults() -> BTreeMap<CompactString, CompactString> {
    BTreeMap::from([("min.insync.replicas".into(), "1".into())])
}

fn broker(set: &[(&str, &str)]) -> BrokerConfig {
    BrokerConfig::from_pairs(NODE.iter().chain(set).copied()).unwrap()
}

fn row(config: &DescribedConfig) -> String {
    let mut fields = vec![
        config.name.to_string(),
        config.value.clone().unwrap_or_else(|| "\\N".to_owned()),
        i32::from(config.read_only).to_string(),
        (config.source as i8).to_string(),
        i32::from(config.sensitive).to_string(),
        config.config_type.to_string(),
    ];
    fields.extend(config.synonyms.iter().map(|synonym| {
        format!("{}={}@{}", synonym.name, synonym.value.as_deref().unwrap_or("\\N"), synonym.source as i8)
    }));
    fields.join("\t")
}

fn assert_same(described: &[DescribedConfig], kafka: &str) {
    let is_comparable = |line: &str| !DIFFERENT.contains(&line.split('\t').next().unwrap_or_default());
    let ours: Vec<_> = described.iter().map(row).filter(|line| is_comparable(line)).collect();
    let theirs: Vec<_> = kafka.lines().filter(|line| is_comparable(line)).collect();
    assert!(theirs.len() > 30, "Kafka's answer has {} rows", theirs.len());
    for (our, their) in ours.iter().zip(&theirs) {
        assert_eq!(our, their);
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn a_topic_without_configs_is_described_as_by_kafka() {
    let defaults = cluster_defaults();
    let dynamic = DynamicConfigs { node: None, cluster: Some(&defaults) };
    assert_same(&describe_topic(&broker(&[]), dynamic, None), TOPIC_DEFAULT);
}

#[test]
fn a_topic_with_configs_on_a_configured_broker_is_described_as_by_kafka() {
    let defaults = cluster_defaults();
    let dynamic = DynamicConfigs { node: None, cluster: Some(&defaults) };
    let own = [
        ("segment.ms", "3600000"),
        ("retention.ms", "7200000"),
        ("min.insync.replicas", "1"),
        ("cleanup.policy", "compact,delete"),
        ("min.cleanable.dirty.ratio", "0.25"),
    ];
    let own = own.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    assert_same(&describe_topic(&broker(SET), dynamic, Some(&own)), TOPIC_SET);
}

#[test]
fn a_broker_is_described_as_by_kafka() {
    let defaults = cluster_defaults();
    let dynamic = DynamicConfigs { node: None, cluster: Some(&defaults) };
    assert_same(&describe_broker(&broker(&[]), dynamic), BROKER_DEFAULT);
    assert_same(&describe_broker(&broker(SET), dynamic), BROKER_SET);
}
