//! CreateTopics: codes and messages are those that Apache Kafka 4.4.0 gave to the same requests on one node.

use ottla_cluster::ConfigResource;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Uuid};
use ottla_protocol::messages::create_topics::CreatableTopic;

use crate::support::{Machine, NODE, assigned, directory, registration, topic, with_configs};

fn refusals(machine: &mut Machine, cases: Vec<(CreatableTopic, i16, &str)>) {
    let before = machine.end;
    for (topic, code, message) in cases {
        let name = topic.name.clone();
        let (got, text) = machine.create_one(topic);
        assert_eq!((got.get(), text.as_deref()), (code, Some(message)), "{name}");
    }
    assert_eq!(machine.end, before, "a refused topic writes nothing");
}

#[test]
fn a_topic_is_made_of_its_record_its_configs_and_its_partitions() {
    let mut machine = Machine::new();
    let results =
        machine.create(vec![with_configs(topic("orders", 3, 1), &[("retention.ms", Some("1000"))])]);
    let [result] = results.as_slice() else { panic!("{results:?}") };
    assert_eq!((result.error_code, &result.error_message), (ErrorCode::NONE, &None));
    assert_eq!((result.num_partitions, result.replication_factor), (3, 1));
    let configs: Vec<_> = result
        .configs
        .iter()
        .flatten()
        .map(|config| (config.name.as_str(), config.value.as_deref(), config.config_source))
        .collect();
    assert_eq!(configs, [("cleanup.policy", Some("delete"), 5), ("retention.ms", Some("1000"), 1)]);

    let image = machine.image();
    let made = image.topic("orders").unwrap();
    assert_eq!((made.id, made.partitions.len()), (result.topic_id, 3));
    assert!(!made.id.is_reserved());
    for partition in &made.partitions {
        assert_eq!(partition.replicas, [NODE]);
        assert_eq!(partition.isr, [NODE]);
        assert_eq!(partition.directories, [directory()]);
        assert_eq!((partition.leader, partition.leader_epoch), (NODE, LeaderEpoch::new(0)));
        assert_eq!(partition.partition_epoch, 0);
    }
    let set = image.configs(&ConfigResource::topic(&"orders".into())).unwrap();
    assert_eq!(
        set.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(),
        [("retention.ms", "1000")]
    );
    let kinds: Vec<_> = machine.batches.last().unwrap().1.iter().map(|record| record.name()).collect();
    assert_eq!(
        kinds,
        ["TopicRecord", "ConfigRecord", "PartitionRecord", "PartitionRecord", "PartitionRecord"],
        "one batch, in Kafka's order"
    );
}

#[test]
fn a_name_must_be_one_that_kafka_takes() {
    let long = "a".repeat(250);
    let mut machine = Machine::new();
    let characters = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'";
    refusals(
        &mut machine,
        vec![
            (topic("", 1, 1), 17, "Topic name is invalid: the empty string is not allowed"),
            (topic(".", 1, 1), 17, "Topic name is invalid: '.' is not allowed"),
            (topic("..", 1, 1), 17, "Topic name is invalid: '..' is not allowed"),
            (
                topic(&long, 1, 1),
                17,
                &format!(
                    "Topic name is invalid: the length of '{long}' is longer than the max allowed length 249"
                ),
            ),
            (topic("a b", 1, 1), 17, &format!("Topic name is invalid: 'a b' {characters}")),
            (topic("größe", 1, 1), 17, &format!("Topic name is invalid: 'größe' {characters}")),
            (
                topic("__cluster_metadata", 1, 1),
                42,
                "Creation of internal topic __cluster_metadata is prohibited.",
            ),
        ],
    );
    assert_eq!(machine.create_one(topic(&"b".repeat(249), 1, 1)).0, ErrorCode::NONE);
    assert_eq!(machine.create_one(topic("__consumer_offsets", 1, 1)).0, ErrorCode::NONE);
}

#[test]
fn a_name_is_taken_also_by_one_that_differs_only_in_dots_and_underscores() {
    let mut machine = Machine::new();
    assert_eq!(machine.create_one(topic("good.one", 1, 1)).0, ErrorCode::NONE);
    refusals(
        &mut machine,
        vec![
            (topic("good.one", 1, 1), 36, "Topic 'good.one' already exists."),
            (topic("good.one", 0, 0), 36, "Topic 'good.one' already exists."),
            (topic("good_one", 1, 1), 17, "Topic 'good_one' collides with existing topic: good.one"),
        ],
    );
    // Kafka compares with topics that exist, not with those of the same request.
    let both = machine.create(vec![topic("x.y", 1, 1), topic("x_y", 1, 1)]);
    assert!(both.iter().all(|result| result.error_code.is_none()), "{both:?}");
}

#[test]
fn a_name_is_free_again_once_its_topic_is_deleted() {
    let mut machine = Machine::new();
    machine.create(vec![topic("x.y", 1, 1), topic("x_y", 1, 1)]);
    let delete = |machine: &mut Machine, name: &str| {
        machine.delete(ottla_protocol::messages::delete_topics::DeleteTopicsRequest {
            topic_names: vec![name.into()],
            ..Default::default()
        })
    };
    delete(&mut machine, "x.y");
    assert_eq!(
        machine.create_one(topic("x.y", 1, 1)).0,
        ErrorCode::INVALID_TOPIC_EXCEPTION,
        "x_y is there still"
    );
    delete(&mut machine, "x_y");
    assert_eq!(machine.create_one(topic("x.y", 1, 1)).0, ErrorCode::NONE);
}

#[test]
fn a_name_that_is_asked_for_twice_is_refused_once_and_the_others_are_made() {
    let mut machine = Machine::new();
    let results = machine.create(vec![topic("dup", 1, 1), topic("dup", 1, 1), topic("other", 1, 1)]);
    let told: Vec<_> =
        results.iter().map(|r| (r.name.as_str(), r.error_code.get(), r.error_message.as_deref())).collect();
    assert_eq!(told, [("other", 0, None), ("dup", 42, Some("Duplicate topic name."))]);
    assert!(machine.image().topic("dup").is_none());
    assert!(machine.image().topic("other").is_some());
}

#[test]
fn counts_must_be_positive_and_reachable() {
    const PARTITIONS: &str = "Number of partitions was set to an invalid non-positive value.";
    const FACTOR: &str = "Replication factor must be larger than 0, or -1 to use the default value.";
    let unreachable = |factor: i16| {
        format!(
            "Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot \
             be reached because only 1 broker(s) are registered or some brokers have all their log directories \
             cordoned."
        )
    };
    refusals(
        &mut Machine::new(),
        vec![
            (topic("a", 0, 1), 37, PARTITIONS),
            (topic("a", -2, 1), 37, PARTITIONS),
            (topic("a", 1, 0), 38, FACTOR),
            (topic("a", 1, -2), 38, FACTOR),
            (topic("a", 0, 0), 38, FACTOR),
            (topic("a", 1, 2), 38, &unreachable(2)),
            (topic("a", 1, 3), 38, &unreachable(3)),
        ],
    );
}

#[test]
fn minus_one_takes_the_brokers_defaults() {
    let mut machine = Machine::new();
    machine.settings.default_partitions = 6;
    let results = machine.create(vec![topic("a", -1, -1)]);
    assert_eq!((results[0].num_partitions, results[0].replication_factor), (6, 1));
    assert_eq!(machine.image().topic("a").unwrap().partitions.len(), 6);
    machine.settings.default_replication_factor = 2;
    assert_eq!(machine.create_one(topic("b", -1, -1)).0, ErrorCode::INVALID_REPLICATION_FACTOR);
}

#[test]
fn a_manual_assignment_names_each_partition_once_and_registered_brokers_once() {
    refusals(
        &mut Machine::new(),
        vec![
            (
                CreatableTopic { num_partitions: 2, ..assigned("a", &[(0, &[1]), (1, &[1])]) },
                42,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            ),
            (
                CreatableTopic { replication_factor: 1, ..assigned("a", &[(0, &[1]), (1, &[1])]) },
                42,
                "A manual partition assignment was specified, but replication factor was not set to -1.",
            ),
            (
                assigned("a", &[(0, &[1]), (2, &[1])]),
                39,
                "partitions should be a consecutive 0-based integer sequence",
            ),
            (
                assigned("a", &[(-1, &[1]), (0, &[1])]),
                39,
                "partitions should be a consecutive 0-based integer sequence",
            ),
            (
                assigned("a", &[(0, &[1]), (0, &[1])]),
                39,
                "Found multiple manual partition assignments for partition 0",
            ),
            (
                assigned("a", &[(0, &[])]),
                39,
                "The manual partition assignment includes an empty replica list.",
            ),
            (
                assigned("a", &[(0, &[2])]),
                39,
                "The manual partition assignment includes broker 2, but no such broker is registered.",
            ),
            (
                assigned("a", &[(0, &[-1])]),
                39,
                "The manual partition assignment includes broker -1, but no such broker is registered.",
            ),
            (
                assigned("a", &[(0, &[1, 1])]),
                39,
                "The manual partition assignment includes the broker 1 more than once.",
            ),
            (
                assigned("a", &[(0, &[1]), (1, &[])]),
                39,
                "The manual partition assignment includes an empty replica list.",
            ),
        ],
    );
    let mut machine = Machine::new();
    let results = machine.create(vec![assigned("a", &[(1, &[1]), (0, &[1])])]);
    assert_eq!((results[0].error_code, results[0].num_partitions), (ErrorCode::NONE, 2));
    assert_eq!(results[0].replication_factor, 1);
}

#[test]
fn configs_are_asked_of_the_brokers_table_before_the_counts_are_looked_at() {
    refusals(
        &mut Machine::new(),
        vec![
            (
                with_configs(topic("a", 0, 1), &[("no.such", Some("1"))]),
                40,
                "Unknown topic config name: no.such",
            ),
            (
                with_configs(topic("a", 1, 1), &[("retention.ms", Some("abc"))]),
                40,
                "Invalid value abc for configuration retention.ms: Not a number of type LONG",
            ),
            (
                with_configs(topic("a", 1, 1), &[("retention.ms", None), ("segment.ms", None), ("zz", None)]),
                40,
                "Null value not supported for topic configs: retention.ms,segment.ms,zz",
            ),
        ],
    );
    let mut machine = Machine::new();
    let twice = with_configs(topic("a", 1, 1), &[("retention.ms", Some("1")), ("retention.ms", Some("2"))]);
    assert_eq!(machine.create_one(twice).0, ErrorCode::NONE);
    let set = machine.image().configs(&ConfigResource::topic(&"a".into())).unwrap();
    assert_eq!(set.get("retention.ms").map(|value| value.as_str()), Some("2"), "the last one counts");
}

#[test]
fn validate_only_answers_as_if_and_writes_nothing() {
    let mut machine = Machine::new();
    let before = machine.end;
    let results = machine.create_with(vec![topic("a", 4, 1), topic("b c", 1, 1)], true);
    assert_eq!((results[0].error_code, results[0].num_partitions), (ErrorCode::NONE, 4));
    assert_ne!(results[0].topic_id, Uuid::ZERO);
    assert_eq!(results[1].error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!((machine.end, machine.image().topic_count()), (before, 0));
}

#[test]
fn a_request_for_too_much_is_refused_whole() {
    const PARTITIONS: &str = "Excessively large number of partitions per request.";
    const RECORDS: &str = "Unable to perform excessively large batch operation.";
    let mut machine = Machine::new();
    for (topics, message) in [
        (vec![topic("a", i32::MAX, 1)], PARTITIONS),
        (vec![topic("a", 10_001, 1)], PARTITIONS),
        (vec![topic("a", 6000, 1), topic("b", 6000, 1), topic("c", 1, 1)], PARTITIONS),
        (vec![topic("a", 10_000, 1)], RECORDS),
        (vec![topic("a", 5000, 1), topic("b", 5000, 1)], RECORDS),
    ] {
        let asked = topics.len();
        let results = machine.create(topics);
        assert_eq!(results.len(), asked);
        for result in results {
            let told = (result.error_code.get(), result.error_message.as_deref());
            assert_eq!(told, (44, Some(message)), "{}", result.name);
        }
    }
    assert_eq!(machine.image().topic_count(), 0);
}

#[test]
fn the_largest_request_is_one_batch() {
    let mut machine = Machine::new();
    let results = machine.create(vec![topic("a", 9_999, 1)]);
    assert_eq!(results[0].error_code, ErrorCode::NONE);
    assert_eq!(machine.batches.last().unwrap().1.len(), 10_000);
    assert_eq!(machine.image().partition_count(), 9_999);
}

#[test]
fn without_a_registered_broker_no_partition_has_a_place() {
    let mut machine = Machine::empty();
    let (code, message) = machine.create_one(topic("a", 1, 1));
    assert_eq!(code, ErrorCode::INVALID_REPLICATION_FACTOR);
    assert!(message.unwrap().contains("All brokers are currently fenced"));
}

#[test]
fn a_broker_with_several_directories_chooses_itself() {
    let mut machine = Machine::empty();
    let mut request = registration(-1);
    request.log_dirs = vec![directory(), Uuid::from_bytes([8; 16])];
    machine.register(&request).unwrap();
    machine.create(vec![topic("a", 1, 1)]);
    assert_eq!(
        machine.image().topic("a").unwrap().partitions[0].directories,
        [Uuid::ONE],
        "Kafka's UNASSIGNED"
    );
    assert_eq!(machine.image().topic("a").unwrap().partitions[0].leader, NodeId::new(1));
}
