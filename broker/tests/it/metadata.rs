//! Metadata: which topics are meant by null, by nothing, by names and by ids; auto-creation.

use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic,
};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{append, batch, create_topic};

const OPERATIONS_UNASKED: i32 = i32::MIN;

fn named(names: &[&str]) -> MetadataRequest {
    let topic =
        |name: &&str| MetadataRequestTopic { name: Some(TopicName::from(*name)), topic_id: Uuid::ZERO };
    MetadataRequest { topics: Some(names.iter().map(topic).collect()), ..MetadataRequest::default() }
}

fn by_id(id: Uuid) -> MetadataRequest {
    let topics = Some(vec![MetadataRequestTopic { topic_id: id, name: None }]);
    MetadataRequest { topics, ..MetadataRequest::default() }
}

/// Without permission to create, where the version has the flag.
fn looking(request: MetadataRequest, version: i16) -> MetadataRequest {
    MetadataRequest { allow_auto_topic_creation: version < 4, ..request }
}

fn names(response: &MetadataResponse) -> Vec<&str> {
    response.topics.iter().filter_map(|topic| topic.name.as_ref()).map(TopicName::as_str).collect()
}

fn only(response: MetadataResponse) -> MetadataResponseTopic {
    let [topic] = <[_; 1]>::try_from(response.topics).unwrap();
    topic
}

#[test]
fn null_asks_for_all_topics_and_an_empty_list_for_none_save_in_version_0() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "one", 1);
    create_topic(&mut connection, "two", 1);
    for version in 0..=13 {
        let empty = MetadataRequest { topics: Some(vec![]), ..MetadataRequest::default() };
        let answer = connection.call(&looking(empty, version), version);
        let expected: &[&str] = if version == 0 { &["one", "two"] } else { &[] };
        assert_eq!(names(&answer), expected, "version {version}");
        if version > 0 {
            let all = MetadataRequest { topics: None, ..MetadataRequest::default() };
            let answer = connection.call(&looking(all, version), version);
            assert_eq!(names(&answer), ["one", "two"], "version {version}");
        }
    }
}

#[test]
fn a_topic_comes_with_its_leader_and_the_address_of_the_listener_that_was_asked() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let id = create_topic(&mut connection, "orders", 3);
    let answer = connection.call(&named(&["orders"]), 12);
    let [node] = <[_; 1]>::try_from(answer.brokers.clone()).unwrap();
    assert_eq!((node.host.as_str(), node.port), ("127.0.0.1", i32::from(broker.address().port())));
    assert_eq!(answer.controller_id, node.node_id);
    assert_eq!(answer.cluster_id.as_deref(), Some(broker.running().cluster_id()));
    let topic = only(answer);
    assert_eq!((topic.error_code, topic.topic_id, topic.is_internal), (ErrorCode::NONE, id, false));
    assert_eq!(topic.topic_authorized_operations, OPERATIONS_UNASKED);
    let indices: Vec<_> = topic.partitions.iter().map(|partition| partition.partition_index.get()).collect();
    assert_eq!(indices, [0, 1, 2]);
    for partition in &topic.partitions {
        assert_eq!(partition.error_code, ErrorCode::NONE);
        assert_eq!(partition.leader_id, node.node_id);
        assert_eq!(partition.replica_nodes, [node.node_id]);
        assert_eq!(partition.isr_nodes, [node.node_id]);
        assert!(partition.offline_replicas.is_empty());
    }
}

#[test]
fn unknown_and_impossible_names_each_have_their_code() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for version in [4, 9, 13] {
        let request = looking(named(&["nowhere", "no such", "nowhere", ""]), version);
        let answer = connection.call(&request, version);
        let found: Vec<_> =
            answer.topics.iter().map(|topic| (topic.name.clone(), topic.error_code)).collect();
        let expected = [
            ("nowhere", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            ("no such", ErrorCode::INVALID_TOPIC_EXCEPTION),
            ("", ErrorCode::INVALID_TOPIC_EXCEPTION),
        ];
        assert_eq!(
            found,
            expected.map(|(name, code)| (Some(TopicName::from(name)), code)),
            "version {version}"
        );
    }
}

#[test]
fn topics_are_found_by_id_from_version_12() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let id = create_topic(&mut connection, "orders", 1);
    let topic = only(connection.call(&by_id(id), 12));
    assert_eq!((topic.error_code, topic.name), (ErrorCode::NONE, Some(TopicName::from("orders"))));
    let unknown = Uuid::from_bytes([7; 16]);
    let topic = only(connection.call(&by_id(unknown), 12));
    assert_eq!((topic.error_code, topic.name, topic.topic_id), (ErrorCode::UNKNOWN_TOPIC_ID, None, unknown));
    for version in [10, 11] {
        let answer = connection.call(&by_id(id), version);
        assert!(answer.brokers.is_empty());
        let topic = only(answer);
        assert_eq!((topic.error_code, topic.name), (ErrorCode::INVALID_REQUEST, Some(TopicName::default())));
    }
}

#[test]
fn a_null_name_without_an_id_is_refused_and_the_connection_lives() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for version in 10..=13 {
        let answer = connection.call(&by_id(Uuid::ZERO), version);
        assert_eq!(
            answer.error_code.is_none(),
            version < 13,
            "the whole answer has a code from version 13 on"
        );
        assert_eq!(only(answer).error_code, ErrorCode::INVALID_REQUEST);
    }
}

#[test]
fn operations_are_shown_when_they_are_asked_for() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "orders", 1);
    let request = MetadataRequest {
        include_topic_authorized_operations: true,
        include_cluster_authorized_operations: true,
        ..named(&["orders"])
    };
    let answer = connection.call(&request, 10);
    assert_eq!(answer.cluster_authorized_operations, 8096);
    assert_eq!(only(answer).topic_authorized_operations, 3576);
}

fn ask_until_known(connection: &mut Connection, topic: &str) -> MetadataResponseTopic {
    loop {
        let found = only(connection.call(&named(&[topic]), 9));
        if found.error_code != ErrorCode::UNKNOWN_TOPIC_OR_PARTITION {
            return found;
        }
    }
}

#[test]
fn a_missing_topic_is_unknown_while_it_is_created_and_then_there() {
    let broker = TestBroker::builder().set("num.partitions", "3").start();
    let mut connection = broker.connect();
    let first = only(connection.call(&named(&["fresh"]), 9));
    assert_eq!(first.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let topic = ask_until_known(&mut connection, "fresh");
    assert_eq!((topic.error_code, topic.partitions.len()), (ErrorCode::NONE, 3));
    assert_eq!(append(&mut connection, "fresh", 2, batch(1)), 0);
}

#[test]
fn nothing_is_created_unless_both_sides_want_it() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let refusing = MetadataRequest { allow_auto_topic_creation: false, ..named(&["unwanted"]) };
    let _ = connection.call(&refusing, 9);
    let _ = connection.call(&MetadataRequest { topics: None, ..MetadataRequest::default() }, 9);
    // A topic that is created after it is there: so the unwanted one would be, too.
    create_topic(&mut connection, "wanted", 1);
    let all = MetadataRequest { topics: None, ..MetadataRequest::default() };
    assert_eq!(names(&connection.call(&all, 9)), ["wanted"]);

    let broker = TestBroker::builder().set("auto.create.topics.enable", "false").start();
    let mut connection = broker.connect();
    let _ = connection.call(&named(&["unwanted"]), 9);
    create_topic(&mut connection, "wanted", 1);
    assert_eq!(names(&connection.call(&all, 9)), ["wanted"]);
}

#[test]
fn the_topic_of_groups_is_made_for_whoever_asks_and_as_kafka_makes_it() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let topic = only(connection.call(&named(&["__consumer_offsets"]), 9));
    assert_eq!(topic.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert!(topic.is_internal);
    let made = loop {
        let topic = only(connection.call(&named(&["__consumer_offsets"]), 9));
        if topic.error_code.is_none() {
            break topic;
        }
    };
    assert_eq!((made.is_internal, made.partitions.len()), (true, 50));
    let resource = DescribeConfigsResource {
        resource_type: 2,
        resource_name: "__consumer_offsets".into(),
        configuration_keys: None,
    };
    let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
    let answer = connection.call(&request, 4);
    let own = answer.results[0].configs.iter().filter(|config| config.config_source == 1);
    let own: Vec<_> = own.map(|config| (config.name.as_str(), config.value.as_deref().unwrap())).collect();
    let wanted =
        [("cleanup.policy", "compact"), ("compression.type", "producer"), ("segment.bytes", "104857600")];
    assert_eq!(own, wanted);
}

#[test]
fn topics_of_coordinators_that_are_not_here_are_not_made() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for name in ["__share_group_state"] {
        for _ in 0..2 {
            let topic = only(connection.call(&named(&[name]), 9));
            assert_eq!(topic.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
            assert!(topic.is_internal);
        }
    }
    // Whatever had been asked of the controller before this is done when this is.
    create_topic(&mut connection, "after", 1);
    let all = MetadataRequest { topics: None, ..MetadataRequest::default() };
    assert_eq!(names(&connection.call(&all, 9)), ["after"]);
}
