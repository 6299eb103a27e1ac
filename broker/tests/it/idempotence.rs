//! Idempotent producers: ids, duplicates, gaps and epochs, as Apache Kafka 4.4.0 answers them.

use ottla_model::ErrorCode;
use ottla_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{append, batch_from, create_topic, log_end, now_ms, produce};

const TOPIC: &str = "counted";
const PRODUCER: i64 = 500;

fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, TOPIC, 1);
    (broker, connection)
}

fn send(connection: &mut Connection, epoch: i16, sequence: i32) -> (ErrorCode, i64) {
    let answer = produce(connection, TOPIC, 0, batch_from(PRODUCER, epoch, sequence));
    (answer.error_code, answer.base_offset.get())
}

#[test]
fn one_of_the_last_five_batches_sent_again_is_answered_with_its_first_place() {
    let (_broker, mut connection) = start();
    let before = now_ms();
    for sequence in 0..7 {
        assert_eq!(send(&mut connection, 3, sequence), (ErrorCode::NONE, i64::from(sequence)));
    }
    for sequence in 2..7 {
        let answer = produce(&mut connection, TOPIC, 0, batch_from(PRODUCER, 3, sequence));
        assert_eq!((answer.error_code, answer.base_offset.get()), (ErrorCode::NONE, i64::from(sequence)));
        assert!(answer.log_append_time_ms >= before, "a duplicate is told when the first was appended");
    }
    assert_eq!(send(&mut connection, 3, 1), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1), "the sixth");
    assert_eq!(log_end(&mut connection, TOPIC), 7);
}

#[test]
fn a_gap_is_refused_and_the_right_number_then_taken() {
    let (_broker, mut connection) = start();
    assert_eq!(send(&mut connection, 0, 0), (ErrorCode::NONE, 0));
    assert_eq!(send(&mut connection, 0, 2), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(send(&mut connection, 0, 1), (ErrorCode::NONE, 1));
}

#[test]
fn an_unknown_producer_may_begin_anywhere() {
    let (_broker, mut connection) = start();
    assert_eq!(send(&mut connection, 0, 100), (ErrorCode::NONE, 0));
    assert_eq!(send(&mut connection, 0, 101), (ErrorCode::NONE, 1));
}

#[test]
fn a_new_epoch_begins_at_zero_and_an_old_one_is_over() {
    let (_broker, mut connection) = start();
    assert_eq!(send(&mut connection, 3, 0), (ErrorCode::NONE, 0));
    assert_eq!(send(&mut connection, 4, 1), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(send(&mut connection, 4, 0), (ErrorCode::NONE, 1));
    assert_eq!(send(&mut connection, 3, 1), (ErrorCode::INVALID_PRODUCER_EPOCH, -1));
}

#[test]
fn sequence_numbers_wrap_around() {
    let (_broker, mut connection) = start();
    assert_eq!(send(&mut connection, 0, i32::MAX), (ErrorCode::NONE, 0));
    assert_eq!(send(&mut connection, 0, 0), (ErrorCode::NONE, 1));
    assert_eq!(send(&mut connection, 0, i32::MAX), (ErrorCode::NONE, 0), "still known as a duplicate");
}

#[test]
fn a_restart_forgets_no_producer() {
    let (mut broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch_from(PRODUCER, 0, 0));
    append(&mut connection, TOPIC, 0, batch_from(PRODUCER, 0, 1));
    broker.restart();
    let mut connection = broker.connect();
    assert_eq!(send(&mut connection, 0, 1), (ErrorCode::NONE, 1), "a duplicate");
    assert_eq!(send(&mut connection, 0, 3), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(send(&mut connection, 0, 2), (ErrorCode::NONE, 2));
}

fn init(connection: &mut Connection, request: &InitProducerIdRequest) -> InitProducerIdResponse {
    connection.call(request, 4)
}

fn plain() -> InitProducerIdRequest {
    InitProducerIdRequest {
        transactional_id: None,
        transaction_timeout_ms: 60_000,
        ..InitProducerIdRequest::default()
    }
}

#[test]
fn each_producer_gets_an_id_of_its_own_also_after_a_restart() {
    let (mut broker, mut connection) = start();
    let mut given = Vec::new();
    for _ in 0..3 {
        let answer = init(&mut connection, &plain());
        assert_eq!((answer.error_code, answer.producer_epoch.get()), (ErrorCode::NONE, 0));
        given.push(answer.producer_id);
    }
    broker.restart();
    given.push(init(&mut broker.connect(), &plain()).producer_id);
    assert!(given.is_sorted_by(|a, b| a < b), "{given:?}");
}

#[test]
fn many_producers_at_once_never_share_an_id() {
    let (broker, _connection) = start();
    let ids = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = broker.connect();
                    (0..400).map(|_| init(&mut connection, &plain()).producer_id).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 1600, "more than one block of ids, and none twice");
}

#[test]
fn id_and_epoch_come_together_or_not_at_all() {
    let (_broker, mut connection) = start();
    let with = |id: i64, epoch: i16| InitProducerIdRequest {
        producer_id: id.into(),
        producer_epoch: epoch.into(),
        ..plain()
    };
    assert_eq!(init(&mut connection, &with(5, -1)).error_code, ErrorCode::INVALID_REQUEST);
    assert_eq!(init(&mut connection, &with(-1, 5)).error_code, ErrorCode::INVALID_REQUEST);
    assert_eq!(init(&mut connection, &with(5, 5)).error_code, ErrorCode::NONE);
}
