//! A metadata log that Apache Kafka 4.4.0 wrote: replayed, carried on, and equal to what Kafka says it holds.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use ottla_cluster::{ConfigResource, METADATA_FOLDER};
use ottla_model::{LeaderEpoch, NodeId, ProducerId};

use crate::node::{Node, config, file};
use crate::support::{NODE, registration, topic};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kafka-4.4.0");
/// `directory.id` of the log directory that the data is from.
const DIRECTORY: &str = "UcIHIk2MSF6eZnfJBAMkYA";

/// The log in a log directory of its own.
pub(crate) fn extract() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(METADATA_FOLDER)).unwrap();
    for entry in std::fs::read_dir(DATA).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".gz") else { continue };
        let mut content = Vec::new();
        GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut content).unwrap();
        std::fs::write(file(dir.path(), name), content).unwrap();
    }
    dir
}

fn start(log_dir: &Path) -> Node {
    let mut config = config();
    config.identity.directory_id = DIRECTORY.parse().unwrap();
    Node::start_with(config, log_dir).unwrap()
}

/// Every topic with its number of partitions, as the data's README lists them.
const TOPICS: &[(&str, usize)] = &[
    ("__consumer_offsets", 3),
    ("__share_group_state", 1),
    ("__transaction_state", 2),
    ("append-time", 1),
    ("codec-snappy", 2),
    ("codec.lz4", 2),
    ("codec.none", 2),
    ("codec_gzip", 2),
    ("codec_zstd", 2),
    ("compact.gone", 1),
    ("compact.keep", 1),
    ("compact.tx", 1),
    ("dis.order_ly", 1),
    ("empty", 3),
    ("epochs", 1),
    ("idempotent", 2),
    ("over_ridden.by-config", 1),
    ("source", 2),
    ("trimmed", 2),
    ("tx-mixed", 2),
    ("tx-open", 2),
    ("tx-span", 1),
];

#[test]
fn kafkas_log_holds_the_topics_that_kafka_served() {
    let dir = extract();
    let node = start(dir.path());
    let mut topics: Vec<(String, usize)> =
        node.image.topics().map(|topic| (topic.name.to_string(), topic.partitions.len())).collect();
    topics.sort();
    let expected: Vec<(String, usize)> =
        TOPICS.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(topics, expected);
    assert_eq!(node.leader, (NODE, LeaderEpoch::new(4)), "Kafka's last epoch was 3");

    let overridden = node.image.configs(&ConfigResource::topic(&"over_ridden.by-config".into())).unwrap();
    assert_eq!(
        overridden.get("cleanup.policy").unwrap(),
        "delete",
        "set to compact,delete, and later changed"
    );
    let broker = node.image.broker(NodeId::new(1)).unwrap();
    assert_eq!(broker.endpoints[0].port, 23092);
    assert_eq!(node.image.feature_level("metadata.version"), 33);
    assert_eq!(node.image.feature_level("share.version"), 2);
    assert!(node.image.next_producer_id() >= ProducerId::new(2000));
    let kept = node.image.kept();
    assert_eq!(kept.scram.keys().map(|(user, _)| user.as_str()).collect::<Vec<_>>(), ["alice"]);
    assert_eq!((kept.quotas.len(), kept.controllers.len()), (1, 1));
}

#[test]
fn every_snapshot_and_the_log_alone_lead_to_the_same_image() {
    let dir = extract();
    let whole = start(crate::node::copy(dir.path()).path());
    let mut snapshots = crate::node::snapshots(dir.path());
    assert_eq!(snapshots.len(), 4);
    while let Some(newest) = snapshots.pop() {
        std::fs::remove_file(file(dir.path(), &newest)).unwrap();
        let node = start(crate::node::copy(dir.path()).path());
        assert!(node.image.same_content(&whole.image), "without {newest}");
    }
}

#[test]
fn partitions_that_kafka_left_without_leader_are_led_after_the_registration() {
    let dir = extract();
    let mut node = start(dir.path());
    let leaderless = node
        .image
        .topics()
        .flat_map(|topic| &topic.partitions)
        .filter(|partition| partition.leader == NodeId::NONE)
        .count();
    assert_eq!(leaderless, node.image.partition_count(), "Kafka's clean stop leaves all without");
    let mut request = registration(-1);
    request.log_dirs = vec![DIRECTORY.parse().unwrap()];
    node.register(request);
    for topic in node.image.topics() {
        for partition in &topic.partitions {
            assert_eq!(
                (partition.leader, partition.isr.as_slice()),
                (NODE, [NODE].as_slice()),
                "{}",
                topic.name
            );
            assert!(partition.eligible_leader_replicas.is_empty());
        }
    }
    node.create(vec![topic("ours", 2, 1)]);
    let image = std::sync::Arc::clone(&node.image);
    drop(node);
    assert!(start(dir.path()).image.same_content(&image));
}
