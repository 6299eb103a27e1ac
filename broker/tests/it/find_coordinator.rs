//! FindCoordinator while there are no groups: Kafka's answer of a broker that has no coordinator.

use ottla_model::{ErrorCode, NodeId};
use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ottla_testkit::TestBroker;

#[test]
fn there_is_no_coordinator_and_the_connection_stays() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let request = FindCoordinatorRequest { key: "group".into(), ..FindCoordinatorRequest::default() };
    for _ in 0..2 {
        let answer = connection.call(&request, 0);
        assert_eq!(answer.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
        assert_eq!((answer.node_id, answer.host.as_str(), answer.port), (NodeId::NONE, "", -1));
    }
}

#[test]
fn versions_that_could_ask_for_more_than_groups_are_not_served() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let request =
        FindCoordinatorRequest { key: "producer".into(), key_type: 1, ..FindCoordinatorRequest::default() };
    connection.send(&request, 1);
    connection.expect_end();
}
