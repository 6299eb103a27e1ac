//! Topics come and go: CreateTopics, DeleteTopics, DescribeTopicPartitions, and what the other APIs see of it.

use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_protocol::messages::create_topics::CreateTopicsRequest;
use ottla_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ottla_protocol::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicRequest,
};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{
    append, base_offsets, batch, create_request, create_topic, create_topic_with, created, fetch, log_end,
    produce,
};

fn delete_by_name(connection: &mut Connection, topic: &str) -> ErrorCode {
    delete_by_name_in(connection, topic, 5)
}

fn delete_by_name_in(connection: &mut Connection, topic: &str, version: i16) -> ErrorCode {
    let request = DeleteTopicsRequest { topic_names: vec![topic.into()], ..DeleteTopicsRequest::default() };
    connection.call(&request, version).responses[0].error_code
}

fn delete_by_id(connection: &mut Connection, id: Uuid) -> ErrorCode {
    let topics = vec![DeleteTopicState { name: None, topic_id: id }];
    connection.call(&DeleteTopicsRequest { topics, ..DeleteTopicsRequest::default() }, 6).responses[0]
        .error_code
}

#[test]
fn a_created_topic_serves_as_soon_as_the_answer_is_there() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for number in 0..20 {
        let topic = format!("topic-{number}");
        create_topic(&mut connection, &topic, 2);
        assert_eq!(append(&mut connection, &topic, 1, batch(1)), 0);
    }
}

#[test]
fn the_answer_shows_partitions_replicas_and_configs_from_version_5() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let request = create_request("shown", 3, &[("segment.bytes", "2097152")]);
    let answer = connection.call(&CreateTopicsRequest { validate_only: true, ..request.clone() }, 5);
    let topic = &answer.topics[0];
    assert_eq!((topic.error_code, topic.num_partitions, topic.replication_factor), (ErrorCode::NONE, 3, 1));
    let configs = topic.configs.as_ref().unwrap();
    let found = configs.iter().find(|config| config.name == "segment.bytes").unwrap();
    assert_eq!((found.value.as_deref(), found.config_source), (Some("2097152"), 1));
    assert_eq!(created(&connection.call(&request, 7)), ErrorCode::NONE, "validating created nothing");
}

#[test]
fn what_cannot_be_created_has_its_code() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "there.it.is", 1);
    let mut code = |name: &str, partitions, configs: &[(&str, &str)]| {
        created(&connection.call(&create_request(name, partitions, configs), 7))
    };
    assert_eq!(code("there.it.is", 1, &[]), ErrorCode::TOPIC_ALREADY_EXISTS);
    assert_eq!(code("there_it_is", 1, &[]), ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(code("not this", 1, &[]), ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(code("zero", 0, &[]), ErrorCode::INVALID_PARTITIONS);
    assert_eq!(code("unknown-key", 1, &[("no.such", "1")]), ErrorCode::INVALID_CONFIG);
    assert_eq!(code("bad-value", 1, &[("segment.bytes", "x")]), ErrorCode::INVALID_CONFIG);
    assert_eq!(code("idle-key", 1, &[("remote.storage.enable", "true")]), ErrorCode::INVALID_CONFIG);
    let lags = [("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8")];
    assert_eq!(code("contradiction", 1, &lags), ErrorCode::INVALID_CONFIG);
}

/// Values at and beyond the bounds of what decides when records go, with what Apache Kafka 4.4 says of each; none where it
/// takes the value.
const AT_THE_BOUNDS: &[(&str, &str, Option<&str>)] = &[
    ("retention.ms", "-2", Some("Value must be at least -1")),
    ("retention.ms", "-1", None),
    ("retention.ms", "9223372036854775807", None),
    ("retention.ms", "9223372036854775808", Some("Not a number of type LONG")),
    ("retention.ms", "x", Some("Not a number of type LONG")),
    ("retention.bytes", "-2", None),
    ("retention.bytes", "-1", None),
    ("segment.ms", "0", Some("Value must be at least 1")),
    ("segment.ms", "-1", Some("Value must be at least 1")),
    ("segment.ms", "1", None),
    ("segment.ms", "9223372036854775807", None),
    ("segment.bytes", "1048575", Some("Value must be at least 1048576")),
    ("segment.bytes", "1048576", None),
    ("segment.bytes", "2147483648", Some("Not a number of type INT")),
    ("segment.jitter.ms", "-1", Some("Value must be at least 0")),
    ("segment.index.bytes", "3", Some("Value must be at least 4")),
    ("index.interval.bytes", "-1", Some("Value must be at least 0")),
    ("delete.retention.ms", "-1", Some("Value must be at least 0")),
    ("file.delete.delay.ms", "-1", Some("Value must be at least 0")),
    ("flush.ms", "-1", Some("Value must be at least 0")),
    ("flush.messages", "0", Some("Value must be at least 1")),
    ("min.compaction.lag.ms", "-1", Some("Value must be at least 0")),
    ("max.compaction.lag.ms", "0", Some("Value must be at least 1")),
    ("min.cleanable.dirty.ratio", "1.1", Some("Value must be no more than 1")),
    ("min.cleanable.dirty.ratio", "-0.1", Some("Value must be at least 0")),
    ("message.timestamp.before.max.ms", "-1", Some("Value must be at least 0")),
    ("message.timestamp.after.max.ms", "-1", Some("Value must be at least 0")),
    ("cleanup.policy", "remove", Some("String must be one of: compact, delete")),
];

#[test]
fn limits_of_retention_and_segments_are_refused_at_their_bounds_as_kafka_refuses_them() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for (number, (key, value, refusal)) in AT_THE_BOUNDS.iter().enumerate() {
        let request = create_request(&format!("bounds-{number}"), 1, &[(*key, *value)]);
        let answer = connection.call(&CreateTopicsRequest { validate_only: true, ..request }, 7);
        let topic = &answer.topics[0];
        match refusal {
            Some(rule) => {
                assert_eq!(topic.error_code, ErrorCode::INVALID_CONFIG, "{key}={value}");
                let expected = format!("Invalid value {value} for configuration {key}: {rule}");
                assert_eq!(topic.error_message.as_deref(), Some(expected.as_str()));
            }
            None => assert_eq!(topic.error_code, ErrorCode::NONE, "{key}={value}: {:?}", topic.error_message),
        }
    }
}

#[test]
fn a_deleted_topic_is_gone_for_everybody_and_its_name_is_free() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let id = create_topic(&mut connection, "passing", 1);
    append(&mut connection, "passing", 0, batch(5));
    assert_eq!(delete_by_name(&mut connection, "passing"), ErrorCode::NONE);
    let gone = produce(&mut connection, "passing", 0, batch(1));
    assert_eq!(gone.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(delete_by_name(&mut connection, "passing"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(delete_by_id(&mut connection, id), ErrorCode::UNKNOWN_TOPIC_ID);

    let again = create_topic(&mut connection, "passing", 1);
    assert_ne!(again, id);
    assert_eq!(log_end(&mut connection, "passing"), 0, "nothing is left of the earlier topic");
    assert_eq!(append(&mut connection, "passing", 0, batch(1)), 0);
    assert_eq!(delete_by_id(&mut connection, again), ErrorCode::NONE);
}

#[test]
fn the_folder_of_a_deleted_partition_has_another_name_at_once() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "passing", 1);
    let folders = || {
        let entries = std::fs::read_dir(broker.data()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("passing")).collect::<Vec<_>>()
    };
    assert_eq!(folders(), ["passing-0"]);
    assert_eq!(delete_by_name(&mut connection, "passing"), ErrorCode::NONE);
    let [left] = <[_; 1]>::try_from(folders()).unwrap();
    assert!(left.starts_with("passing-0.") && left.ends_with("-delete"), "{left}");
}

#[test]
fn deletion_can_be_switched_off() {
    let broker = TestBroker::builder().set("delete.topic.enable", "false").start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "staying", 1);
    // Older versions have no code for it.
    for (version, code) in [
        (1, ErrorCode::INVALID_REQUEST),
        (2, ErrorCode::INVALID_REQUEST),
        (3, ErrorCode::TOPIC_DELETION_DISABLED),
    ] {
        assert_eq!(delete_by_name_in(&mut connection, "staying", version), code, "version {version}");
    }
    assert_eq!(append(&mut connection, "staying", 0, batch(1)), 0);
}

#[test]
fn topics_their_settings_and_their_records_survive_a_restart() {
    let mut broker = TestBroker::start();
    let mut connection = broker.connect();
    let id = create_topic_with(&mut connection, "kept", 2, &[("max.message.bytes", "300")]);
    create_topic(&mut connection, "passing", 1);
    append(&mut connection, "kept", 0, batch(3));
    append(&mut connection, "kept", 0, batch(2));
    append(&mut connection, "kept", 1, batch(1));
    assert_eq!(delete_by_name(&mut connection, "passing"), ErrorCode::NONE);

    broker.restart();
    let mut connection = broker.connect();
    assert_eq!(base_offsets(fetch(&mut connection, "kept", 0, 0)), [0, 3]);
    assert_eq!(append(&mut connection, "kept", 0, batch(1)), 5);
    assert_eq!(append(&mut connection, "kept", 1, batch(1)), 1);
    let large = produce(&mut connection, "kept", 0, batch(40));
    assert_eq!(large.error_code, ErrorCode::MESSAGE_TOO_LARGE);
    let gone = produce(&mut connection, "passing", 0, batch(1));
    assert_eq!(gone.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(delete_by_id(&mut connection, id), ErrorCode::NONE);
}

fn describe(
    connection: &mut Connection,
    topics: &[&str],
    limit: i32,
    cursor: Option<(&str, i32)>,
) -> DescribeTopicPartitionsResponse {
    let request = DescribeTopicPartitionsRequest {
        topics: topics.iter().map(|name| TopicRequest { name: TopicName::from(*name) }).collect(),
        response_partition_limit: limit,
        cursor: cursor
            .map(|(topic, index)| Cursor { topic_name: topic.into(), partition_index: index.into() }),
    };
    connection.call(&request, 0)
}

fn pages(response: &DescribeTopicPartitionsResponse) -> Vec<(String, ErrorCode, Vec<i32>)> {
    let topics = response.topics.iter().map(|topic| {
        let indices = topic.partitions.iter().map(|partition| partition.partition_index.get()).collect();
        (topic.name.as_ref().unwrap().to_string(), topic.error_code, indices)
    });
    topics.collect()
}

fn next(response: &DescribeTopicPartitionsResponse) -> Option<(&str, i32)> {
    response.next_cursor.as_ref().map(|cursor| (cursor.topic_name.as_str(), cursor.partition_index.get()))
}

#[test]
fn partitions_are_described_page_by_page() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "b", 3);
    create_topic(&mut connection, "d", 1);
    let none = ErrorCode::NONE;
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;

    let all = describe(&mut connection, &[], 2000, None);
    assert_eq!(pages(&all), [("b".into(), none, vec![0, 1, 2]), ("d".into(), none, vec![0])]);
    assert_eq!(next(&all), None);

    let first = describe(&mut connection, &["d", "b", "c"], 2, None);
    assert_eq!(pages(&first), [("b".into(), none, vec![0, 1])]);
    assert_eq!(next(&first), Some(("b", 2)));
    let second = describe(&mut connection, &["d", "b", "c"], 1, next(&first));
    assert_eq!(pages(&second), [("b".into(), none, vec![2])]);
    assert_eq!(next(&second), Some(("c", 0)), "an unknown topic keeps its place");
    let last = describe(&mut connection, &["d", "b", "c"], 0, next(&second));
    assert_eq!(pages(&last), [("c".into(), unknown, vec![]), ("d".into(), none, vec![0])]);
    assert_eq!(next(&last), None);
}

#[test]
fn a_cursor_outside_of_what_is_asked_for_is_refused() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "b", 3);
    for cursor in [("b", -1), ("elsewhere", 0)] {
        let answer = describe(&mut connection, &["b"], 10, Some(cursor));
        assert_eq!(pages(&answer), [("b".into(), ErrorCode::INVALID_REQUEST, vec![])]);
    }
}
