//! ListOffsets with every special time, and OffsetForLeaderEpoch.

use ottla_model::compression::{Codec, Compression};
use ottla_model::{ErrorCode, Offset};
use ottla_protocol::messages::list_offsets::ListOffsetsRequest;
use ottla_protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{append, batch_at, create_topic, list_offset, list_offsets_request};

const TOPIC: &str = "timed";
const NEWEST: i16 = 11;

/// Three records of the times 5, 9 and 7.
fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, TOPIC, 1);
    for timestamp_ms in [5, 9, 7] {
        append(&mut connection, TOPIC, 0, batch_at(1, timestamp_ms, Compression::NONE));
    }
    (broker, connection)
}

fn found(connection: &mut Connection, timestamp: i64, version: i16) -> (ErrorCode, i64, i64) {
    let answer = list_offset(connection, TOPIC, timestamp, version);
    (answer.error_code, answer.timestamp, answer.offset.get())
}

const fn at(timestamp: i64, offset: i64) -> (ErrorCode, i64, i64) {
    (ErrorCode::NONE, timestamp, offset)
}

const NOT_THERE: (ErrorCode, i64, i64) = at(-1, -1);
const UNSUPPORTED: (ErrorCode, i64, i64) = (ErrorCode::UNSUPPORTED_VERSION, -1, -1);

#[test]
fn each_special_time_has_its_offset() {
    let (_broker, mut connection) = start();
    for (timestamp, expected) in
        [(-1, at(-1, 3)), (-2, at(-1, 0)), (-3, at(9, 1)), (-4, at(-1, 0)), (-5, NOT_THERE), (-6, NOT_THERE)]
    {
        assert_eq!(found(&mut connection, timestamp, NEWEST), expected, "{timestamp}");
    }
}

#[test]
fn a_time_finds_the_first_record_at_or_after_it() {
    let (_broker, mut connection) = start();
    for version in [1, 4, NEWEST] {
        for (timestamp, expected) in
            [(0, at(5, 0)), (5, at(5, 0)), (6, at(9, 1)), (9, at(9, 1)), (10, NOT_THERE)]
        {
            assert_eq!(
                found(&mut connection, timestamp, version),
                expected,
                "{timestamp}, version {version}"
            );
        }
    }
}

#[test]
fn a_time_finds_a_record_within_a_compressed_batch() {
    let (_broker, mut connection) = start();
    create_topic(&mut connection, "packed", 1);
    append(&mut connection, "packed", 0, batch_at(10, 1000, Compression::of(Codec::Zstd)));
    append(&mut connection, "packed", 0, batch_at(10, 2000, Compression::of(Codec::Gzip)));
    let answer = list_offset(&mut connection, "packed", 1500, NEWEST);
    assert_eq!((answer.timestamp, answer.offset.get()), (2000, 10));
}

#[test]
fn a_special_time_is_refused_in_versions_before_its_own() {
    let (_broker, mut connection) = start();
    for (timestamp, since) in [(-3, 7), (-4, 8), (-5, 9), (-6, 11)] {
        assert_eq!(found(&mut connection, timestamp, since - 1), UNSUPPORTED, "{timestamp}");
        assert_eq!(found(&mut connection, timestamp, since).0, ErrorCode::NONE, "{timestamp}");
    }
    for version in [1, NEWEST] {
        assert_eq!(found(&mut connection, -7, version), UNSUPPORTED);
        assert_eq!(found(&mut connection, i64::MIN, version), UNSUPPORTED);
    }
}

#[test]
fn an_empty_log_has_ends_and_no_records() {
    let (_broker, mut connection) = start();
    create_topic(&mut connection, "empty", 1);
    let mut found = |timestamp| {
        let answer = list_offset(&mut connection, "empty", timestamp, NEWEST);
        (answer.error_code, answer.timestamp, answer.offset.get())
    };
    assert_eq!(found(-1), at(-1, 0));
    assert_eq!(found(-2), at(-1, 0));
    assert_eq!(found(-3), NOT_THERE);
    assert_eq!(found(5), NOT_THERE);
}

#[test]
fn what_cannot_be_listed_has_its_code() {
    let (_broker, mut connection) = start();
    let mut code =
        |request: ListOffsetsRequest| connection.call(&request, NEWEST).topics[0].partitions[0].error_code;
    assert_eq!(code(list_offsets_request("nowhere", 0, -1)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(list_offsets_request(TOPIC, 5, -1)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let mut request = list_offsets_request(TOPIC, 0, -1);
    request.topics[0].partitions[0].current_leader_epoch = 50.into();
    assert_eq!(code(request), ErrorCode::UNKNOWN_LEADER_EPOCH);
}

#[test]
fn a_partition_that_is_named_twice_is_refused_once() {
    let (_broker, mut connection) = start();
    let mut request = list_offsets_request(TOPIC, 0, -1);
    let again = request.topics[0].partitions[0].clone();
    request.topics[0].partitions.push(again);
    let answer = connection.call(&request, NEWEST);
    let codes: Vec<_> = answer.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [ErrorCode::INVALID_REQUEST]);
}

#[test]
fn an_isolation_level_that_nobody_knows_is_refused() {
    let (_broker, mut connection) = start();
    let request = ListOffsetsRequest { isolation_level: 7, ..list_offsets_request(TOPIC, 0, -1) };
    let answer = connection.call(&request, NEWEST).topics[0].partitions[0].clone();
    assert_eq!((answer.error_code, answer.offset), (ErrorCode::UNKNOWN_SERVER_ERROR, Offset::UNKNOWN));
}

fn end_of(connection: &mut Connection, topic: &str, epoch: i32, current: i32) -> EpochEndOffset {
    let request = OffsetForLeaderEpochRequest {
        topics: vec![OffsetForLeaderTopic {
            topic: topic.into(),
            partitions: vec![OffsetForLeaderPartition {
                partition: 0.into(),
                current_leader_epoch: current.into(),
                leader_epoch: epoch.into(),
            }],
        }],
        ..OffsetForLeaderEpochRequest::default()
    };
    connection.call(&request, 4).topics[0].partitions[0].clone()
}

#[test]
fn epochs_end_where_the_next_begins() {
    let (_broker, mut connection) = start();
    let mut ends = |epoch| {
        let end = end_of(&mut connection, TOPIC, epoch, -1);
        (end.error_code, end.leader_epoch.get(), end.end_offset.get())
    };
    let none = ErrorCode::NONE;
    assert_eq!(ends(0), (none, 0, 3), "the current one ends at the log end");
    assert_eq!(ends(-1), (none, -1, -1));
    assert_eq!(ends(99), (none, -1, -1));
    let unknown = end_of(&mut connection, TOPIC, 0, 99).error_code;
    assert_eq!(unknown, ErrorCode::UNKNOWN_LEADER_EPOCH);
    let nowhere = end_of(&mut connection, "nowhere", 0, -1).error_code;
    assert_eq!(nowhere, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}
