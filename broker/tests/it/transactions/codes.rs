//! Which API, in which version, tells a producer that it was fenced, is unknown or is in the wrong state by which code; and
//! the limits of time-outs.

use ottla_model::ErrorCode;
use ottla_protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use ottla_testkit::TestBroker;

use super::client::{Producer, TIMEOUT_MS, begin, init_as, ready};
use crate::group_requests;
use crate::requests::{batch_from, create_topic, produce_request, produced};

const FENCED: ErrorCode = ErrorCode::PRODUCER_FENCED;
const OLD_EPOCH: ErrorCode = ErrorCode::INVALID_PRODUCER_EPOCH;
const UNKNOWN: ErrorCode = ErrorCode::INVALID_PRODUCER_ID_MAPPING;

#[test]
fn who_was_fenced_is_told_so_by_each_api_in_each_version() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    group_requests::ready(&mut connection, "g");
    let old = begin(&mut connection, "x");
    begin(&mut connection, "x");
    let since = |first: i16, version: i16| if version < first { OLD_EPOCH } else { FENCED };
    for version in 0..=3 {
        assert_eq!(old.add(&mut connection, version, "t", &[0]), [since(2, version)], "{version}");
    }
    for version in 0..=4 {
        assert_eq!(old.add_offsets(&mut connection, version, "g"), since(2, version), "{version}");
    }
    for version in 0..=5 {
        for committed in [true, false] {
            let code = old.end(&mut connection, version, committed).error_code;
            assert_eq!(code, since(2, version), "{version}");
        }
    }
    for version in 3..=5 {
        let had = Some((old.producer_id, old.epoch));
        let code = init_as(&mut connection, "x", version, TIMEOUT_MS, had).error_code;
        assert_eq!(code, since(4, version), "{version}");
    }
    for version in 3..=12 {
        let code = old.produce(&mut connection, version, ("t", 0), 0, &["v"]).error_code;
        assert_eq!(code, OLD_EPOCH, "produce {version}: a producer does not know the other code");
    }
    for version in 0..=5 {
        let code = old.commit_offset(&mut connection, version, "g", ("t", 0), 1);
        assert_eq!(code, OLD_EPOCH, "offsets {version}");
    }
}

#[test]
fn an_id_or_a_producer_that_nobody_knows_is_told_so() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    group_requests::ready(&mut connection, "g");
    let known = begin(&mut connection, "x");
    for wrong in [known.named("nobody"), known.with_producer_id(known.producer_id + 1_000_000)] {
        assert_eq!(wrong.add(&mut connection, 3, "t", &[0]), [UNKNOWN]);
        assert_eq!(wrong.add_offsets(&mut connection, 4, "g"), UNKNOWN);
        assert_eq!(wrong.end(&mut connection, 4, true).error_code, UNKNOWN);
        assert_eq!(wrong.end(&mut connection, 5, true).error_code, UNKNOWN);
        for version in [9, 11, 12] {
            assert_eq!(wrong.produce(&mut connection, version, ("t", 0), 0, &["v"]).error_code, UNKNOWN);
        }
        for version in [3, 5] {
            assert_eq!(wrong.commit_offset(&mut connection, version, "g", ("t", 0), 1), UNKNOWN);
        }
    }
    let empty = known.named("");
    assert_eq!(empty.add(&mut connection, 3, "t", &[0]), [ErrorCode::INVALID_REQUEST]);
    assert_eq!(empty.add_offsets(&mut connection, 4, "g"), ErrorCode::INVALID_REQUEST);
    assert_eq!(empty.end(&mut connection, 5, true).error_code, ErrorCode::INVALID_REQUEST);
}

#[test]
fn a_partition_that_was_not_added_takes_nothing() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    group_requests::ready(&mut connection, "g");
    let producer = begin(&mut connection, "x");
    let refused = producer.produce(&mut connection, 10, ("t", 0), 0, &["v"]);
    assert_eq!(refused.error_code, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(refused.error_message.as_deref(), Some("Partition was not added to the transaction"));
    let code = |producer: &Producer, connection: &mut _, version, partition| {
        producer.produce(connection, version, ("t", partition), 0, &["v"]).error_code
    };
    assert_eq!(code(&producer, &mut connection, 11, 0), ErrorCode::TRANSACTION_ABORTABLE);
    for version in 0..=3 {
        let code = producer.commit_offset(&mut connection, version, "g", ("t", 0), 1);
        assert_eq!(code, ErrorCode::INVALID_TXN_STATE);
    }
    let code_4 = producer.commit_offset(&mut connection, 4, "g", ("t", 0), 1);
    assert_eq!(code_4, ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!(producer.add(&mut connection, 3, "t", &[0]), [ErrorCode::NONE]);
    assert_eq!(code(&producer, &mut connection, 11, 1), ErrorCode::TRANSACTION_ABORTABLE, "the other one");
    assert_eq!(code(&producer, &mut connection, 11, 0), ErrorCode::NONE);
}

#[test]
fn partitions_join_all_or_none() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    let producer = begin(&mut connection, "x");
    let (unknown, not_tried) = (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::OPERATION_NOT_ATTEMPTED);
    assert_eq!(producer.add(&mut connection, 3, "t", &[0, 7, 1]), [not_tried, unknown, not_tried]);
    assert_eq!(producer.add(&mut connection, 3, "nowhere", &[0]), [unknown]);
    let refused = producer.produce(&mut connection, 11, ("t", 0), 0, &["v"]).error_code;
    assert_eq!(refused, ErrorCode::TRANSACTION_ABORTABLE, "nothing has joined");
}

#[test]
fn brokers_ask_for_several_transactions_at_once_and_only_whether_partitions_have_joined() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    let (a, b) = (begin(&mut connection, "a"), begin(&mut connection, "b"));
    let mut ask = |transactions: &[(&Producer, bool, &[i32])], version| {
        let transactions =
            transactions.iter().map(|(by, verify_only, partitions)| AddPartitionsToTxnTransaction {
                transactional_id: by.id.as_str().into(),
                producer_id: by.producer_id.into(),
                producer_epoch: by.epoch.into(),
                verify_only: *verify_only,
                topics: vec![AddPartitionsToTxnTopic {
                    name: "t".into(),
                    partitions: partitions.iter().map(|index| (*index).into()).collect(),
                }],
            });
        let request = AddPartitionsToTxnRequest {
            transactions: transactions.collect(),
            ..AddPartitionsToTxnRequest::default()
        };
        let answer = connection.call(&request, version);
        assert_eq!(answer.error_code, ErrorCode::NONE);
        let results = answer.results_by_transaction.into_iter().map(|result| {
            let partitions = result.topic_results.into_iter().flat_map(|topic| topic.results_by_partition);
            partitions.map(|partition| partition.partition_error_code).collect::<Vec<_>>()
        });
        results.collect::<Vec<_>>()
    };
    let abortable = ErrorCode::TRANSACTION_ABORTABLE;
    assert_eq!(
        ask(&[(&a, true, &[0]), (&b, false, &[0, 1])], 4),
        [vec![abortable], vec![ErrorCode::NONE; 2]]
    );
    assert_eq!(ask(&[(&b, true, &[1])], 5), [[ErrorCode::NONE]]);
    assert_eq!(ask(&[(&b.at(7), true, &[1])], 5), [[FENCED]]);
    assert_eq!(ask(&[(&b.named("c"), true, &[1])], 5), [[UNKNOWN]]);
}

#[test]
fn transactional_batches_need_their_id_and_others_stay_out_of_an_open_transaction() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let producer = begin(&mut connection, "x");
    producer.write(&mut connection, ("t", 0), 0, &["v"]);
    let mut request = producer.produce_request("t", 0, 1, &["v"]);
    request.transactional_id = None;
    let code = produced(connection.call(&request, 12)).error_code;
    assert_eq!(code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    let plain = produce_request("t", 0, -1, Some(batch_from(producer.producer_id, producer.epoch, 1)));
    let code = produced(connection.call(&plain, 12)).error_code;
    assert_eq!(code, ErrorCode::INVALID_TXN_STATE);
}

#[test]
fn a_time_out_is_above_zero_and_within_the_brokers_limit() {
    let broker = TestBroker::builder().set("transaction.max.timeout.ms", "5000").start();
    let mut connection = broker.connect();
    ready(&mut connection, "x");
    for (timeout_ms, code) in [
        (-1, ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (0, ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (5_000, ErrorCode::NONE),
        (5_001, ErrorCode::INVALID_TRANSACTION_TIMEOUT),
    ] {
        for version in 0..=5 {
            assert_eq!(init_as(&mut connection, "x", version, timeout_ms, None).error_code, code);
        }
    }
    assert_eq!(init_as(&mut connection, "", 5, 5_000, None).error_code, ErrorCode::INVALID_REQUEST);
}
