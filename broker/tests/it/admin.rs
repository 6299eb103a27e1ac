//! What tools for operators ask beside topics and configs: more partitions, elections, reassignments, the quorum, features,
//! brokers, producers. Codes and messages were seen on an Apache Kafka 4.4.0 node.

use ottla_model::{ErrorCode, NodeId, Offset};
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ReassignablePartition,
    ReassignableTopic,
};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};
use ottla_protocol::messages::describe_producers::{DescribeProducersRequest, TopicRequest};
use ottla_protocol::messages::describe_quorum::{
    DescribeQuorumRequest, RequestPartitionData, RequestTopicData,
};
use ottla_protocol::messages::elect_leaders::{ElectLeadersRequest, TopicPartitions};
use ottla_protocol::messages::list_partition_reassignments::ListPartitionReassignmentsRequest;
use ottla_protocol::messages::unregister_broker::UnregisterBrokerRequest;
use ottla_protocol::messages::update_features::{FeatureUpdateKey, UpdateFeaturesRequest};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{append, base_offsets, batch, batch_from, create_topic, fetch, produce};

const UNKNOWN: ErrorCode = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;

/// A code and its message.
type Told = (ErrorCode, String);

fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    (broker, connection)
}

fn more(topic: &str, count: i32, placed: Option<&[&[i32]]>) -> CreatePartitionsTopic {
    let assignment = |brokers: &&[i32]| CreatePartitionsAssignment {
        broker_ids: brokers.iter().map(|id| NodeId::new(*id)).collect(),
    };
    let assignments = placed.map(|placed| placed.iter().map(assignment).collect());
    CreatePartitionsTopic { name: topic.into(), count, assignments }
}

fn add(
    connection: &mut Connection,
    topics: Vec<CreatePartitionsTopic>,
    validate_only: bool,
    version: i16,
) -> Vec<(ErrorCode, String)> {
    let request = CreatePartitionsRequest { topics, timeout_ms: 10_000, validate_only };
    let results = connection.call(&request, version).results;
    results.into_iter().map(|it| (it.error_code, it.error_message.unwrap_or_default().into())).collect()
}

#[test]
fn added_partitions_take_records_at_once_and_stay_after_a_restart() {
    let (mut broker, mut connection) = start();
    for (version, count) in (0..=3).zip(3..) {
        assert_eq!(
            add(&mut connection, vec![more("t", count, None)], false, version),
            [(ErrorCode::NONE, String::new())]
        );
        assert_eq!(append(&mut connection, "t", count - 1, batch(2)), 0, "the answer comes when it is there");
    }
    assert_eq!(add(&mut connection, vec![more("t", 8, Some(&[&[1], &[1]]))], false, 3)[0].0, ErrorCode::NONE);
    broker.restart();
    let mut connection = broker.connect();
    assert_eq!(base_offsets(fetch(&mut connection, "t", 5, 0)), [0]);
    assert_eq!(append(&mut connection, "t", 7, batch(1)), 0);
    assert_eq!(produce(&mut connection, "t", 8, batch(1)).error_code, UNKNOWN);
}

#[test]
fn partitions_that_cannot_be_added_are_refused_in_kafkas_words_and_nothing_changes() {
    let (_broker, mut connection) = start();
    let manual = "The manual partition assignment includes";
    let cases: Vec<(CreatePartitionsTopic, ErrorCode, String)> = vec![
        (more("t", 2, None), ErrorCode::INVALID_PARTITIONS, "Topic already has 2 partition(s).".into()),
        (
            more("t", 1, None),
            ErrorCode::INVALID_PARTITIONS,
            "The topic t currently has 2 partition(s); 1 would not be an increase.".into(),
        ),
        (
            more("t", -1, None),
            ErrorCode::INVALID_PARTITIONS,
            "The topic t currently has 2 partition(s); -1 would not be an increase.".into(),
        ),
        (more("missing", 3, None), UNKNOWN, String::new()),
        (more("a b", 3, None), UNKNOWN, String::new()),
        (
            more("t", 3, Some(&[&[9]])),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
            format!("{manual} broker 9, but no such broker is registered."),
        ),
        (
            more("t", 3, Some(&[&[1], &[1]])),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 1 additional partition(s), but only 2 assignment(s) were specified.".into(),
        ),
        (
            more("t", 3, Some(&[])),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.".into(),
        ),
        (
            more("t", 3, Some(&[&[1, 1]])),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
            format!("{manual} the broker 1 more than once."),
        ),
        (
            more("t", 3, Some(&[&[]])),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
            format!("{manual} an empty replica list."),
        ),
        (
            more("t", 1_000_000_000, None),
            ErrorCode::POLICY_VIOLATION,
            "Excessively large number of additional partitions per request.".into(),
        ),
    ];
    for (topic, code, message) in cases {
        for validate_only in [true, false] {
            let refused = add(&mut connection, vec![topic.clone()], validate_only, 3);
            assert_eq!(refused, [(code, message.clone())], "{topic:?}");
        }
    }
    let twice = vec![more("t", 3, None), more("t", 4, None)];
    assert_eq!(
        add(&mut connection, twice, false, 3),
        [(ErrorCode::INVALID_REQUEST, "Duplicate topic name.".to_owned())]
    );
    assert_eq!(add(&mut connection, vec![more("t", 9, None)], true, 3)[0].0, ErrorCode::NONE);
    assert_eq!(produce(&mut connection, "t", 2, batch(1)).error_code, UNKNOWN, "it was only checked");
    // One topic's refusal does not keep the others.
    let mixed = add(&mut connection, vec![more("missing", 3, None), more("t", 3, None)], false, 3);
    assert_eq!([mixed[0].0, mixed[1].0], [UNKNOWN, ErrorCode::NONE]);
    assert_eq!(append(&mut connection, "t", 2, batch(1)), 0);
}

fn elect(
    connection: &mut Connection,
    election_type: i8,
    asked: Option<&[(&str, i32)]>,
    version: i16,
) -> (ErrorCode, Vec<(String, Vec<Told>)>) {
    let one = |(topic, index): &(&str, i32)| TopicPartitions {
        topic: (*topic).into(),
        partitions: vec![(*index).into()],
    };
    let topic_partitions = asked.map(|asked| asked.iter().map(one).collect());
    let request = ElectLeadersRequest { election_type, topic_partitions, timeout_ms: 10_000 };
    let answer = connection.call(&request, version);
    let topics = answer.replica_election_results.into_iter().map(|topic| {
        let partitions = topic.partition_result.into_iter();
        let partitions = partitions.map(|it| (it.error_code, it.error_message.unwrap_or_default().into()));
        (topic.topic.as_str().to_owned(), partitions.collect())
    });
    (answer.error_code, topics.collect())
}

#[test]
fn elections_that_are_not_needed_say_so_and_unknown_ones_are_refused() {
    let (_broker, mut connection) = start();
    let not_needed =
        (ErrorCode::ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.".to_owned());
    for version in 0..=2 {
        for election_type in if version == 0 { 0..=0 } else { 0..=1 } {
            let (code, topics) = elect(&mut connection, election_type, Some(&[("t", 0)]), version);
            assert_eq!((code, topics), (ErrorCode::NONE, vec![("t".to_owned(), vec![not_needed.clone()])]));
        }
        // Of all partitions those are named that needed one.
        let (code, topics) = elect(&mut connection, 0, None, version);
        assert_eq!((code, topics), (ErrorCode::NONE, vec![("t".to_owned(), vec![])]));
    }
    let (_, topics) = elect(&mut connection, 0, Some(&[("t", 9), ("missing", 0)]), 2);
    assert_eq!(topics[0].1, [(UNKNOWN, "No such partition as t-9".to_owned())]);
    assert_eq!(topics[1].1, [(UNKNOWN, "No such topic as missing".to_owned())]);
    let (code, topics) = elect(&mut connection, 2, Some(&[("t", 0)]), 2);
    assert_eq!(code, ErrorCode::INVALID_REQUEST);
    assert_eq!(topics[0].1, [(ErrorCode::INVALID_REQUEST, "Unknown election type 2".to_owned())]);
}

fn reassign(
    connection: &mut Connection,
    topic: &str,
    index: i32,
    replicas: Option<&[i32]>,
    version: i16,
) -> AlterPartitionReassignmentsResponse {
    let replicas = replicas.map(|replicas| replicas.iter().map(|id| NodeId::new(*id)).collect());
    let partitions = vec![ReassignablePartition { partition_index: index.into(), replicas }];
    let topics = vec![ReassignableTopic { name: topic.into(), partitions }];
    connection.call(&AlterPartitionReassignmentsRequest { topics, ..Default::default() }, version)
}

#[test]
fn one_node_has_nowhere_to_reassign_to_and_says_so_as_kafka_does() {
    let (_broker, mut connection) = start();
    let manual = "The manual partition assignment includes";
    let bad = ErrorCode::INVALID_REPLICA_ASSIGNMENT;
    type Case<'a> = (&'a str, i32, Option<&'a [i32]>, ErrorCode, Option<String>);
    let cases: Vec<Case<'_>> = vec![
        ("t", 0, Some(&[1]), ErrorCode::NONE, None),
        ("t", 0, None, ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, None),
        ("t", 0, Some(&[]), bad, Some(format!("{manual} an empty replica list."))),
        ("t", 0, Some(&[1, 1]), bad, Some(format!("{manual} the broker 1 more than once."))),
        ("t", 0, Some(&[1, 9]), bad, Some(format!("{manual} broker 9, but no such broker is registered."))),
        ("t", 0, Some(&[-1]), bad, Some(format!("{manual} broker -1, but no such broker is registered."))),
        ("t", 99, Some(&[1]), UNKNOWN, Some("Unable to find partition t:99.".to_owned())),
        ("missing", 0, None, UNKNOWN, Some("Unable to find a topic named missing.".to_owned())),
    ];
    for version in 0..=1 {
        for (topic, index, replicas, code, message) in &cases {
            let answer = reassign(&mut connection, topic, *index, *replicas, version);
            assert_eq!((answer.error_code, &answer.error_message), (ErrorCode::NONE, &None));
            let answer = &answer.responses[0].partitions[0];
            let told = answer.error_message.as_ref().map(ToString::to_string);
            assert_eq!((answer.error_code, &told), (*code, message), "{topic}-{index} to {replicas:?}");
        }
    }
    let nothing = AlterPartitionReassignmentsRequest { topics: vec![], ..Default::default() };
    assert_eq!(connection.call(&nothing, 1).error_message.as_deref(), Some(""));
    let listed = connection.call(&ListPartitionReassignmentsRequest { timeout_ms: 1, topics: None }, 0);
    assert_eq!((listed.error_code, listed.error_message, listed.topics), (ErrorCode::NONE, None, vec![]));
}

#[test]
fn the_quorum_is_this_node_and_its_end_is_that_of_the_metadata_log() {
    let (broker, mut connection) = start();
    let ask = |topic: &str, partitions: &[i32]| {
        let one = |index: &i32| RequestPartitionData { partition_index: (*index).into() };
        let partitions = partitions.iter().map(one).collect();
        DescribeQuorumRequest { topics: vec![RequestTopicData { topic_name: topic.into(), partitions }] }
    };
    for version in 0..=2 {
        let end = broker.running().broker().image().position().offset.next();
        let answer = connection.call(&ask("__cluster_metadata", &[0]), version);
        assert_eq!(answer.error_code, ErrorCode::NONE);
        let found = &answer.topics[0].partitions[0];
        assert_eq!((found.error_code, found.leader_id), (ErrorCode::NONE, NodeId::new(1)));
        assert_eq!((found.high_watermark, found.leader_epoch.get() > 0), (end, true));
        assert_eq!((found.current_voters.len(), found.observers.len()), (1, 0));
        let voter = &found.current_voters[0];
        assert_eq!((voter.replica_id, voter.log_end_offset), (NodeId::new(1), end));
        assert_eq!(voter.last_fetch_timestamp > 0, version >= 1);
        assert_eq!(answer.nodes.len(), usize::from(version >= 2));
        for (topic, partitions) in
            [("__cluster_metadata", &[1][..]), ("t", &[0]), ("__cluster_metadata", &[0, 1])]
        {
            let refused = connection.call(&ask(topic, partitions), version);
            assert_eq!(refused.error_code, ErrorCode::NONE);
            assert!(refused.topics[0].partitions.iter().all(|it| it.error_code == UNKNOWN), "{refused:?}");
        }
    }
}

fn update(
    connection: &mut Connection,
    feature: &str,
    level: i16,
    kind: i8,
    validate: bool,
) -> (ErrorCode, String) {
    let update = FeatureUpdateKey {
        feature: feature.into(),
        max_version_level: level,
        upgrade_type: kind,
        ..FeatureUpdateKey::default()
    };
    let request =
        UpdateFeaturesRequest { timeout_ms: 1_000, feature_updates: vec![update], validate_only: validate };
    let answer = connection.call(&request, 2);
    (answer.error_code, answer.error_message.unwrap_or_default().into())
}

fn finalized(connection: &mut Connection, feature: &str) -> Option<i16> {
    let request = ApiVersionsRequest {
        client_software_name: "test".into(),
        client_software_version: "1".into(),
        ..ApiVersionsRequest::default()
    };
    let answer = connection.call(&request, 3);
    answer.finalized_features.into_iter().find(|it| it.name == feature).map(|it| it.max_version_level)
}

#[test]
fn features_go_down_and_up_and_api_versions_tells_it_and_a_restart_keeps_it() {
    let (mut broker, mut connection) = start();
    assert_eq!(finalized(&mut connection, "group.version"), Some(1));
    assert_eq!(update(&mut connection, "group.version", 0, 2, true), (ErrorCode::NONE, String::new()));
    assert_eq!(finalized(&mut connection, "group.version"), Some(1), "it was only checked");
    assert_eq!(update(&mut connection, "group.version", 0, 2, false).0, ErrorCode::NONE);
    assert_eq!(finalized(&mut connection, "group.version"), None);
    broker.restart();
    let mut connection = broker.connect();
    assert_eq!(finalized(&mut connection, "group.version"), None);
    assert_eq!(update(&mut connection, "group.version", 1, 1, false).0, ErrorCode::NONE);
    assert_eq!(finalized(&mut connection, "group.version"), Some(1));
}

#[test]
fn features_that_cannot_go_there_are_refused_in_kafkas_words() {
    let (_broker, mut connection) = start();
    let only = |name: &str, level: i16, range: &str| {
        format!(
            "Invalid update version {level} for feature {name}. Local controller 1 only supports versions {range}"
        )
    };
    let no_downgrade = "Invalid update version 0 for feature group.version. Can't downgrade the version of this feature \
                        without setting the upgrade type to either safe or unsafe downgrade.";
    let cases: Vec<(&str, i16, i8, String)> = vec![
        ("group.version", 2, 1, only("group.version", 2, "0-1")),
        ("group.version", 0, 1, no_downgrade.to_owned()),
        ("group.version", -1, 2, "Invalid update version -1 for feature group.version. A feature version cannot be less than 0.".into()),
        ("nope", 1, 1, "Invalid update version 1 for feature nope. Local controller 1 does not support this feature.".into()),
        ("nope", 0, 2, "Invalid update version 0 for feature nope. Feature nope not found.".into()),
        ("metadata.version", 34, 1, only("metadata.version", 34, "7-33")),
        ("metadata.version", 6, 2, only("metadata.version", 6, "7-33")),
        (
            "metadata.version",
            32,
            2,
            "Unsupported metadata.version downgrade from 33 to 32. Refusing to perform the requested downgrade because it \
             might delete metadata information."
                .into(),
        ),
        (
            "metadata.version",
            32,
            3,
            "Unsupported metadata.version downgrade from 33 to 32. Unsafe metadata downgrade is not supported in this version."
                .into(),
        ),
        ("kraft.version", 0, 2, "Invalid update version 0 for feature kraft.version. Can't downgrade the version of this feature.".into()),
        ("kraft.version", 2, 1, only("kraft.version", 2, "0-1")),
        ("group.version", 1, 0, "Invalid update version 1 for feature group.version. The controller does not support the given upgrade type.".into()),
        ("group.version", 1, 4, "Invalid update version 1 for feature group.version. The controller does not support the given upgrade type.".into()),
    ];
    for (feature, level, kind, why) in cases {
        let expected =
            format!("The update failed for all features since the following feature had an error: {why}");
        assert_eq!(
            update(&mut connection, feature, level, kind, false),
            (ErrorCode::INVALID_UPDATE_VERSION, expected)
        );
    }
}

#[test]
fn a_broker_that_is_not_there_cannot_be_forgotten_and_the_one_that_serves_is_not() {
    let (_broker, mut connection) = start();
    for id in [9, -1] {
        let answer = connection.call(&UnregisterBrokerRequest { broker_id: NodeId::new(id) }, 0);
        let message = format!("Broker ID {id} is not currently registered");
        assert_eq!(answer.error_code, ErrorCode::BROKER_ID_NOT_REGISTERED);
        assert_eq!(answer.error_message.as_deref(), Some(message.as_str()));
    }
    let own = connection.call(&UnregisterBrokerRequest { broker_id: NodeId::new(1) }, 0);
    assert_eq!(own.error_code, ErrorCode::INVALID_REQUEST);
    assert_eq!(append(&mut connection, "t", 0, batch(1)), 0, "Kafka's node serves nothing any more here");
}

#[test]
fn the_producers_of_a_partition_are_described_with_their_last_batch() {
    let (_broker, mut connection) = start();
    append(&mut connection, "t", 0, batch(1));
    append(&mut connection, "t", 0, batch_from(7, 3, 0));
    append(&mut connection, "t", 0, batch_from(7, 3, 1));
    let mut ask = |topic: &str, index: i32| {
        let topics = vec![TopicRequest { name: topic.into(), partition_indexes: vec![index.into()] }];
        let mut answer = connection.call(&DescribeProducersRequest { topics }, 0);
        answer.topics.remove(0).partitions.remove(0)
    };
    let found = ask("t", 0);
    assert_eq!((found.error_code, &found.error_message), (ErrorCode::NONE, &None));
    let [producer] = found.active_producers.as_slice() else { panic!("{found:?}") };
    assert_eq!((producer.producer_id.get(), producer.producer_epoch, producer.last_sequence), (7, 3, 1));
    assert_eq!((producer.coordinator_epoch, producer.current_txn_start_offset), (-1, Offset::UNKNOWN));
    assert!(producer.last_timestamp > 0);
    assert_eq!(ask("t", 1).active_producers, []);
    let unknown = ask("t", 9);
    assert_eq!((unknown.error_code, unknown.error_message), (UNKNOWN, None));
    let missing = ask("missing", 0);
    assert_eq!(missing.error_code, UNKNOWN);
    assert_eq!(missing.error_message.as_deref(), Some("This server does not host this topic-partition."));
    assert_eq!(ask("a b", 0).error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
}
