//! DescribeTransactions, ListTransactions, DescribeProducers.

use ottla_model::ErrorCode;
use ottla_protocol::messages::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, TopicRequest,
};
use ottla_protocol::messages::describe_transactions::{DescribeTransactionsRequest, TransactionState};
use ottla_protocol::messages::list_transactions::ListTransactionsRequest;
use ottla_testkit::{Connection, TestBroker};

use super::client::{TIMEOUT_MS, begin};
use crate::requests::{create_topic, now_ms};

pub(super) fn describe(connection: &mut Connection, id: &str) -> TransactionState {
    let request = DescribeTransactionsRequest { transactional_ids: vec![id.into()] };
    connection.call(&request, 0).transaction_states.remove(0)
}

/// One id in each of four states.
fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    begin(&mut connection, "empty");
    let open = begin(&mut connection, "open");
    open.write(&mut connection, ("t", 1), 0, &["v"]);
    for (id, is_committed) in [("kept", true), ("lost", false)] {
        let mut producer = begin(&mut connection, id);
        producer.write(&mut connection, ("t", 0), 0, &["v"]);
        producer.finish(&mut connection, is_committed);
    }
    (broker, connection)
}

#[test]
fn a_transaction_is_described_with_its_state_time_and_partitions() {
    let before = now_ms();
    let (_broker, mut connection) = start();
    let open = describe(&mut connection, "open");
    assert_eq!((open.error_code, open.transaction_state.as_str()), (ErrorCode::NONE, "Ongoing"));
    assert_eq!((open.transaction_timeout_ms, open.producer_epoch.get()), (TIMEOUT_MS, 0));
    assert!((before..=now_ms()).contains(&open.transaction_start_time_ms));
    let topics: Vec<_> =
        open.topics.iter().map(|topic| (topic.topic.as_str(), &topic.partitions[..])).collect();
    assert_eq!(topics, [("t", &[1.into()][..])]);
    for (id, state, epoch) in
        [("empty", "Empty", 0), ("kept", "CompleteCommit", 1), ("lost", "CompleteAbort", 1)]
    {
        let described = describe(&mut connection, id);
        assert_eq!((described.transaction_state.as_str(), described.producer_epoch.get()), (state, epoch));
        assert!(described.topics.is_empty());
        assert_eq!(described.transaction_start_time_ms == -1, id == "empty");
    }
    assert_eq!(describe(&mut connection, "nobody").error_code, ErrorCode::TRANSACTIONAL_ID_NOT_FOUND);
    assert_eq!(describe(&mut connection, "").error_code, ErrorCode::INVALID_REQUEST);
}

#[test]
fn a_list_is_narrowed_by_state_producer_duration_and_pattern() {
    let (_broker, mut connection) = start();
    let producer_id = describe(&mut connection, "kept").producer_id;
    let mut list = |request: ListTransactionsRequest| {
        let answer = connection.call(&request, 2);
        let mut ids: Vec<_> =
            answer.transaction_states.iter().map(|it| it.transactional_id.as_str().to_owned()).collect();
        ids.sort();
        let unknown = answer.unknown_state_filters.iter().map(ToString::to_string).collect::<Vec<_>>();
        (answer.error_code, unknown.join(","), ids.join(","))
    };
    let all = || ListTransactionsRequest { duration_filter: -1, ..ListTransactionsRequest::default() };
    let told = |unknown: &str, ids: &str| (ErrorCode::NONE, unknown.to_owned(), ids.to_owned());
    assert_eq!(list(all()), told("", "empty,kept,lost,open"));
    let states = |states: &[&str]| ListTransactionsRequest {
        state_filters: states.iter().map(|state| (*state).into()).collect(),
        ..all()
    };
    assert_eq!(list(states(&["Ongoing", "Empty"])), told("", "empty,open"));
    assert_eq!(list(states(&["CompleteCommit", "Bogus", "ongoing"])), told("Bogus,ongoing", "kept"));
    assert_eq!(list(states(&["Bogus"])), told("Bogus", ""));
    let of_producer = ListTransactionsRequest { producer_id_filters: vec![producer_id], ..all() };
    assert_eq!(list(of_producer), told("", "kept"));
    let long = ListTransactionsRequest { duration_filter: 100_000, ..all() };
    assert_eq!(list(long), told("", "empty"), "one that never began has no duration to go by");
    let matching =
        |pattern: &str| ListTransactionsRequest { transactional_id_pattern: Some(pattern.into()), ..all() };
    assert_eq!(list(matching("[ko].*")), told("", "kept,open"));
    assert_eq!(list(matching("k")), told("", ""), "it matches whole ids");
    assert_eq!(list(matching("")), told("", "empty,kept,lost,open"));
    let refused = (ErrorCode::INVALID_REGULAR_EXPRESSION, String::new(), String::new());
    assert_eq!(list(matching("(")), refused);
}

fn producers(connection: &mut Connection, topic: &str, partition: i32) -> DescribeProducersResponse {
    let topics = vec![TopicRequest { name: topic.into(), partition_indexes: vec![partition.into()] }];
    connection.call(&DescribeProducersRequest { topics }, 0)
}

#[test]
fn a_partition_tells_of_its_producers_and_where_open_transactions_begin() {
    let (_broker, mut connection) = start();
    let answer = producers(&mut connection, "t", 1);
    let [open] = &answer.topics[0].partitions[0].active_producers[..] else { panic!("{answer:?}") };
    assert_eq!((open.producer_epoch, open.last_sequence, open.coordinator_epoch), (0, 0, -1));
    assert_eq!(open.current_txn_start_offset.get(), 0);
    let answer = producers(&mut connection, "t", 0);
    let ended = &answer.topics[0].partitions[0].active_producers;
    assert_eq!(ended.len(), 2);
    for producer in ended {
        assert_eq!((producer.producer_epoch, producer.last_sequence), (1, -1), "what its marker says");
        assert!(producer.coordinator_epoch >= 0);
        assert_eq!(producer.current_txn_start_offset.get(), -1);
    }
    for (topic, partition, message) in
        [("t", 9, None), ("nowhere", 0, Some("This server does not host this topic-partition."))]
    {
        let answer = producers(&mut connection, topic, partition);
        let partition = &answer.topics[0].partitions[0];
        assert_eq!(partition.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(partition.error_message.as_deref(), message);
    }
}
