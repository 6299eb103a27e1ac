//! FindCoordinator: where groups and transactions are coordinated, and that share-partitions are not. The codes and words
//! are Apache Kafka's.

use ottla_model::{ErrorCode, NodeId};
use ottla_protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use ottla_testkit::{Connection, TestBroker};

fn find(connection: &mut Connection, key: &str, key_type: i8, version: i16) -> FindCoordinatorResponse {
    let batched = version >= 4;
    let request = FindCoordinatorRequest {
        key: if batched { "".into() } else { key.into() },
        key_type,
        coordinator_keys: if batched { vec![key.into()] } else { Vec::new() },
    };
    connection.call(&request, version)
}

/// Asks until there is a coordinator, as clients do.
fn found(connection: &mut Connection, key: &str) {
    while find(connection, key, 0, 0).error_code == ErrorCode::COORDINATOR_NOT_AVAILABLE {}
}

#[test]
fn the_first_question_creates_the_topic_and_a_later_one_is_told_this_broker() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let first = find(&mut connection, "group", 0, 0);
    assert_eq!(first.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!((first.node_id, first.host.as_str(), first.port), (NodeId::NONE, "", -1));
    found(&mut connection, "group");
    let port = i32::from(broker.address().port());
    for version in 0..=3 {
        let answer = find(&mut connection, "group", 0, version);
        assert_eq!(answer.error_code, ErrorCode::NONE);
        assert_eq!(
            (answer.node_id, answer.host.as_str(), answer.port),
            (broker.running().node_id(), "127.0.0.1", port)
        );
        assert_eq!(answer.error_message.as_deref(), Some(if version == 0 { "" } else { "NONE" }));
    }
    for version in 4..=6 {
        let answer = find(&mut connection, "group", 0, version);
        let [coordinator] = &answer.coordinators[..] else { panic!("{answer:?}") };
        assert_eq!((coordinator.key.as_str(), coordinator.error_code), ("group", ErrorCode::NONE));
        assert_eq!(
            (coordinator.node_id, coordinator.host.as_str(), coordinator.port),
            (broker.running().node_id(), "127.0.0.1", port)
        );
    }
}

#[test]
fn transactions_have_a_coordinator_and_their_topic_is_created_for_it() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let first = find(&mut connection, "producer", 1, 1);
    assert_eq!(first.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    while find(&mut connection, "producer", 1, 1).error_code == ErrorCode::COORDINATOR_NOT_AVAILABLE {}
    for version in [1, 3, 4, 6] {
        let answer = find(&mut connection, "producer", 1, version);
        let told = answer.coordinators.first().map_or(answer.node_id, |only| only.node_id);
        assert_eq!(told, broker.running().node_id(), "version {version}");
    }
    let partitions =
        broker.running().broker().image().topic("__transaction_state").map(|it| it.partitions.len());
    assert_eq!(partitions, Some(50));
    let groups = find(&mut connection, "group", 0, 1);
    assert_eq!(groups.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE, "groups' is another one");
}

#[test]
fn several_coordinators_are_told_in_the_order_of_the_question() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    found(&mut connection, "a");
    let keys = ["b", "", "a"];
    let coordinator_keys = keys.iter().map(|key| (*key).into()).collect();
    let request = FindCoordinatorRequest { coordinator_keys, ..FindCoordinatorRequest::default() };
    let answer = connection.call(&request, 4);
    let told: Vec<_> =
        answer.coordinators.iter().map(|found| (found.key.as_str(), found.error_code)).collect();
    assert_eq!(told, keys.map(|key| (key, ErrorCode::NONE)));
    let none = connection.call(&FindCoordinatorRequest::default(), 4);
    assert!(none.coordinators.is_empty());
}

#[test]
fn what_has_no_coordinator_is_refused_with_kafkas_codes() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let share = "group:AAAAAAAAAAAAAAAAAAAAAQ:0";
    for (key, key_type, version, code) in [
        (share, 2, 1, ErrorCode::INVALID_REQUEST),
        (share, 2, 5, ErrorCode::INVALID_REQUEST),
        (share, 2, 6, ErrorCode::COORDINATOR_NOT_AVAILABLE),
        ("group", 2, 6, ErrorCode::INVALID_REQUEST),
        ("group", 9, 1, ErrorCode::INVALID_REQUEST),
        ("group", 9, 4, ErrorCode::INVALID_REQUEST),
    ] {
        let answer = find(&mut connection, key, key_type, version);
        let (told, node) = match answer.coordinators.first() {
            Some(only) => (only.error_code, only.node_id),
            None => (answer.error_code, answer.node_id),
        };
        assert_eq!((told, node), (code, NodeId::NONE), "{key}, type {key_type}, version {version}");
    }
}
