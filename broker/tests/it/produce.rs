//! What is accepted, what is refused and with which code, and what stands in the log afterwards. The codes were seen on
//! Apache Kafka 4.4.0.

use std::time::Duration;

use bytes::Bytes;
use ottla_model::batch::{BatchBuilder, NewRecord, TimestampType};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::Records;
use ottla_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{
    PRODUCE, UNKNOWN, append, base_offsets, batch, batch_at, batch_of_bytes, batches_of, bytes_of,
    create_topic, create_topic_with, fetch, log_end, now_ms, patched, produce, produce_request, produced,
};

const TOPIC: &str = "orders";

fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, TOPIC, 1);
    (broker, connection)
}

fn code(connection: &mut Connection, records: impl Into<Bytes>) -> ErrorCode {
    produce(connection, TOPIC, 0, records.into()).error_code
}

#[test]
fn each_version_answers_with_the_offset_of_the_first_record() {
    let (_broker, mut connection) = start();
    for (sent, version) in (3..=12).enumerate() {
        let request = produce_request(TOPIC, 0, -1, Some(batch(2)));
        let answer = produced(connection.call(&request, version));
        let expected = i64::try_from(sent).unwrap() * 2;
        assert_eq!((answer.error_code, answer.base_offset.get()), (ErrorCode::NONE, expected));
        assert_eq!(answer.log_append_time_ms, -1, "the topic keeps the producer's time");
        assert_eq!(answer.log_start_offset.get(), if version >= 5 { 0 } else { -1 });
    }
}

#[test]
fn from_version_13_topics_go_by_id() {
    let (broker, mut connection) = start();
    let id = create_topic(&mut connection, "by-id", 1);
    let to = |topic_id: Uuid| ProduceRequest {
        acks: 1,
        topic_data: [TopicProduceData {
            topic_id,
            partition_data: [PartitionProduceData {
                index: 0.into(),
                records: Some(Records::Inline(batch(1))),
            }]
            .into(),
            ..TopicProduceData::default()
        }]
        .into(),
        ..ProduceRequest::default()
    };
    assert_eq!(produced(connection.call(&to(id), 13)).error_code, ErrorCode::NONE);
    for unknown in [Uuid::ZERO, Uuid::from_bytes([9; 16])] {
        assert_eq!(produced(connection.call(&to(unknown), 13)).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    }
    drop(broker);
}

#[test]
fn what_is_refused_is_refused_whole_and_as_kafka_does() {
    let (_broker, mut connection) = start();
    let good = batch(3);
    let flipped = {
        let mut bytes = good.to_vec();
        bytes[70] ^= 1;
        bytes
    };
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.to_vec();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let twice = [&good[..], &good[..]].concat();
    let with_zeros = [&good[..], &[0; 20]].concat();
    let cases: Vec<(&str, Vec<u8>, ErrorCode)> = vec![
        ("no bytes at all", vec![], ErrorCode::INVALID_RECORD),
        ("a byte missing", good[..good.len() - 1].to_vec(), ErrorCode::INVALID_RECORD),
        ("two batches", twice, ErrorCode::INVALID_RECORD),
        ("twenty zeros behind", with_zeros, ErrorCode::CORRUPT_MESSAGE),
        ("a flipped bit", flipped, ErrorCode::CORRUPT_MESSAGE),
        ("magic 0", with(16, &[0]), ErrorCode::INVALID_RECORD),
        ("magic 1", with(16, &[1]), ErrorCode::INVALID_RECORD),
        ("magic 3", with(16, &[3]), ErrorCode::CORRUPT_MESSAGE),
        ("magic -1", with(16, &[255]), ErrorCode::CORRUPT_MESSAGE),
        ("length 13", with(8, &13_i32.to_be_bytes()), ErrorCode::CORRUPT_MESSAGE),
        ("length 14", with(8, &14_i32.to_be_bytes()), ErrorCode::CORRUPT_MESSAGE),
        ("length -1", with(8, &(-1_i32).to_be_bytes()), ErrorCode::CORRUPT_MESSAGE),
        ("the largest length", with(8, &i32::MAX.to_be_bytes()), ErrorCode::UNKNOWN_SERVER_ERROR),
        ("a base offset of 5", with(0, &5_i64.to_be_bytes()), ErrorCode::INVALID_RECORD),
    ];
    for (what, bytes, expected) in cases {
        let answer = produce(&mut connection, TOPIC, 0, bytes.into());
        assert_eq!((answer.error_code, answer.base_offset), (expected, UNKNOWN), "{what}");
    }
    // The same behind a right checksum.
    let codes = [
        ("no records", patched(&good, 57, &0_i32.to_be_bytes()), ErrorCode::INVALID_RECORD),
        ("one record less than offsets", patched(&good, 57, &2_i32.to_be_bytes()), ErrorCode::INVALID_RECORD),
        ("an end before the begin", patched(&good, 23, &(-3_i32).to_be_bytes()), ErrorCode::INVALID_RECORD),
        ("a control batch", patched(&good, 21, &[0, 0x20]), ErrorCode::INVALID_RECORD),
        ("an unknown codec", patched(&good, 21, &[0, 7]), ErrorCode::UNKNOWN_SERVER_ERROR),
        ("gzip that is none", patched(&good, 21, &[0, 1]), ErrorCode::UNKNOWN_SERVER_ERROR),
        (
            "a producer without a sequence",
            patched(&good, 43, &77_i64.to_be_bytes()),
            ErrorCode::INVALID_RECORD,
        ),
    ];
    for (what, bytes, expected) in codes {
        assert_eq!(code(&mut connection, bytes), expected, "{what}");
    }
    assert_eq!(log_end(&mut connection, TOPIC), 0, "nothing of all that is in the log");
    assert_eq!(
        code(&mut connection, [&good[..], &[1, 2, 3]].concat()),
        ErrorCode::NONE,
        "three bytes behind"
    );
    assert_eq!(bytes_of(fetch(&mut connection, TOPIC, 0, 0)).len(), good.len());
}

#[test]
fn acknowledgements_are_none_one_or_all() {
    let (_broker, mut connection) = start();
    for acks in [7, 2, -2] {
        let answer = produced(connection.call(&produce_request(TOPIC, 0, acks, Some(batch(1))), PRODUCE));
        assert_eq!(answer.error_code, ErrorCode::INVALID_REQUIRED_ACKS);
        let elsewhere = produce_request("nowhere", 0, acks, Some(batch(1)));
        let answer = produced(connection.call(&elsewhere, PRODUCE));
        assert_eq!(answer.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }
    assert_eq!(log_end(&mut connection, TOPIC), 0);
}

#[test]
fn without_acknowledgements_there_is_no_answer_and_an_error_closes() {
    let (broker, mut connection) = start();
    connection.send(&produce_request(TOPIC, 0, 0, Some(batch(2))), PRODUCE);
    assert_eq!(log_end(&mut connection, TOPIC), 2, "the next answer is the next request's");
    let mut doomed = broker.connect();
    doomed.send(&produce_request("nowhere", 0, 0, Some(batch(1))), PRODUCE);
    doomed.expect_end();
    let mut doomed = broker.connect();
    doomed.send(&produce_request(TOPIC, 0, 0, Some(Bytes::from_static(b"no batch"))), PRODUCE);
    doomed.expect_end();
}

#[test]
fn null_records_are_refused_at_once() {
    let (_broker, mut connection) = start();
    let answer = produced(connection.call(&produce_request(TOPIC, 0, 1, None), PRODUCE));
    assert_eq!(answer.error_code, ErrorCode::INVALID_RECORD);
    assert_eq!(code(&mut connection, batch(1)), ErrorCode::NONE);
}

#[test]
fn one_partition_at_fault_leaves_the_others_alone() {
    let (_broker, mut connection) = start();
    let mut request = produce_request(TOPIC, 0, 1, Some(batch(1)));
    request.topic_data[0]
        .partition_data
        .push(PartitionProduceData { index: 9.into(), records: Some(Records::Inline(batch(1))) });
    let mut nowhere = request.topic_data[0].clone();
    nowhere.name = "nowhere".into();
    request.topic_data.push(nowhere);
    request.topic_data.push(TopicProduceData { name: "empty".into(), ..TopicProduceData::default() });
    let answer = connection.call(&request, PRODUCE);
    let codes: Vec<Vec<_>> = answer
        .responses
        .iter()
        .map(|topic| topic.partition_responses.iter().map(|partition| partition.error_code).collect())
        .collect();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(codes, [vec![ErrorCode::NONE, unknown], vec![unknown, unknown]]);
}

#[test]
fn a_record_dated_in_the_far_future_is_refused_by_its_place() {
    let (_broker, mut connection) = start();
    let late = batch_at(2, now_ms() + 2 * 3_600_000, Compression::NONE);
    let answer = produce(&mut connection, TOPIC, 0, late);
    assert_eq!(answer.error_code, ErrorCode::INVALID_TIMESTAMP);
    let places: Vec<_> = answer.record_errors.iter().map(|error| error.batch_index).collect();
    assert_eq!(places, [0, 1]);
    assert!(answer.error_message.is_some());
    assert!(answer.record_errors[0].batch_index_error_message.is_some());
    assert_eq!(code(&mut connection, batch_at(1, -1, Compression::NONE)), ErrorCode::NONE, "no date at all");
    assert_eq!(code(&mut connection, batch_at(1, 5, Compression::NONE)), ErrorCode::NONE, "a date long ago");
}

#[test]
fn a_batch_above_the_limit_is_refused_and_one_at_it_is_not() {
    let (_broker, mut connection) = start();
    let overhead = batch_of_bytes(1_000_000).len() - 1_000_000;
    let at_limit = 1_048_588 - overhead;
    assert_eq!(batch_of_bytes(at_limit).len(), 1_048_588);
    assert_eq!(code(&mut connection, batch_of_bytes(at_limit)), ErrorCode::NONE);
    assert_eq!(code(&mut connection, batch_of_bytes(at_limit + 1)), ErrorCode::MESSAGE_TOO_LARGE);
}

#[test]
fn the_stored_bytes_are_the_clients_save_offset_and_epoch() {
    let (_broker, mut connection) = start();
    let now = now_ms();
    let mut sent = Vec::new();
    for codec in Codec::ALL {
        let bytes = batch_at(50, now, Compression::of(codec));
        append(&mut connection, TOPIC, 0, bytes.clone());
        sent.push(bytes);
    }
    let stored = batches_of(fetch(&mut connection, TOPIC, 0, 0));
    assert_eq!(stored.len(), sent.len());
    for (number, (stored, sent)) in stored.iter().zip(&sent).enumerate() {
        assert_eq!(stored.header().base_offset().get(), i64::try_from(number).unwrap() * 50);
        assert_eq!(stored.bytes()[8..12], sent[8..12]);
        assert_eq!(stored.bytes()[16..], sent[16..], "{:?}", stored.header().codec());
    }
}

#[test]
fn a_topic_with_log_append_time_stamps_what_it_stores_and_says_when() {
    let (_broker, mut connection) = start();
    create_topic_with(&mut connection, "stamped", 1, &[("message.timestamp.type", "LogAppendTime")]);
    let before = now_ms();
    let answer = produce(&mut connection, "stamped", 0, batch_at(3, 1000, Compression::NONE));
    assert_eq!(answer.error_code, ErrorCode::NONE);
    assert!((before..=now_ms()).contains(&answer.log_append_time_ms), "{}", answer.log_append_time_ms);
    // The checksum is verified with the batch.
    let stored = batches_of(fetch(&mut connection, "stamped", 0, 0));
    assert_eq!(stored[0].header().timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(stored[0].header().max_timestamp_ms(), answer.log_append_time_ms);

    let claiming = patched(&batch_at(1, now_ms(), Compression::NONE), 21, &[0, 8]);
    assert_eq!(
        produce(&mut connection, "stamped", 0, claiming.clone()).error_code,
        ErrorCode::INVALID_TIMESTAMP
    );
    assert_eq!(code(&mut connection, claiming), ErrorCode::NONE, "elsewhere the claim is dropped");
    let stored = batches_of(fetch(&mut connection, TOPIC, 0, 0));
    assert_eq!(stored[0].header().timestamp_type(), TimestampType::CreateTime);
}

#[test]
fn a_topic_with_its_own_codec_recompresses_and_only_then() {
    let (_broker, mut connection) = start();
    create_topic_with(&mut connection, "zipped", 1, &[("compression.type", "gzip")]);
    append(&mut connection, "zipped", 0, batch(50));
    let stored = batches_of(fetch(&mut connection, "zipped", 0, 0));
    assert_eq!(stored[0].header().codec(), Some(Codec::Gzip));
    assert_eq!(stored[0].records(1 << 20).unwrap().into_iter().count(), 50);
}

#[test]
fn zstd_needs_version_7() {
    let (_broker, mut connection) = start();
    let request = produce_request(TOPIC, 0, 1, Some(batch_at(5, now_ms(), Compression::of(Codec::Zstd))));
    assert_eq!(produced(connection.call(&request, 6)).error_code, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
    assert_eq!(produced(connection.call(&request, 7)).error_code, ErrorCode::NONE);
}

#[test]
fn transactional_batches_need_an_id_and_a_coordinator_that_knows_it() {
    let (_broker, mut connection) = start();
    let transactional = {
        let mut builder = BatchBuilder::new(Compression::NONE)
            .with_producer(5.into(), 0.into(), 0)
            .with_transactional(true);
        let record = NewRecord { timestamp_ms: now_ms(), key: None, value: Some(b"x"), headers: &[] };
        builder.append(&record).unwrap();
        builder.finish_bytes().unwrap()
    };
    let request = produce_request(TOPIC, 0, -1, Some(transactional));
    let answer = produced(connection.call(&request, PRODUCE));
    assert_eq!(answer.error_code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    let named = ProduceRequest { transactional_id: Some("shop".into()), ..request };
    let answer = produced(connection.call(&named, PRODUCE));
    assert_eq!(
        answer.error_code,
        ErrorCode::NOT_ENOUGH_REPLICAS,
        "nobody has asked for a coordinator yet: try again"
    );
    assert_eq!(log_end(&mut connection, TOPIC), 0);
}

#[test]
fn pipelined_requests_are_appended_and_answered_in_their_order() {
    let (_broker, mut connection) = start();
    let numbers: Vec<_> =
        (0..200).map(|_| connection.send(&produce_request(TOPIC, 0, -1, Some(batch(1))), PRODUCE)).collect();
    for (expected, number) in numbers.into_iter().enumerate() {
        let answer = produced(connection.receive::<ProduceRequest>(PRODUCE, number));
        assert_eq!(answer.base_offset.get(), i64::try_from(expected).unwrap());
    }
}

#[test]
fn many_connections_append_without_gaps() {
    let (broker, mut connection) = start();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut connection = broker.connect();
                for _ in 0..50 {
                    append(&mut connection, TOPIC, 0, batch(2));
                }
            });
        }
    });
    assert_eq!(log_end(&mut connection, TOPIC), 800);
    let expected: Vec<_> = (0..400).map(|number| number * 2).collect();
    assert_eq!(base_offsets(fetch(&mut connection, TOPIC, 0, 0)), expected);
}

#[test]
fn a_topic_that_flushes_each_message_answers_after_the_flush_and_in_order() {
    let (_broker, mut connection) = start();
    create_topic_with(&mut connection, "durable", 2, &[("flush.messages", "1")]);
    let numbers: Vec<_> = (0..20)
        .map(|sent| connection.send(&produce_request("durable", sent % 2, 1, Some(batch(1))), PRODUCE))
        .collect();
    for (sent, number) in numbers.into_iter().enumerate() {
        let answer = produced(connection.receive::<ProduceRequest>(PRODUCE, number));
        assert_eq!(
            (answer.error_code, answer.base_offset.get()),
            (ErrorCode::NONE, i64::try_from(sent / 2).unwrap())
        );
    }
    assert_eq!(log_end(&mut connection, "durable"), 10);
    // Nothing more comes.
    connection.expect_silence(Duration::from_millis(1));
}
