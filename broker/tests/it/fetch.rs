//! Fetch: from where to where, under which limits, how long it waits and what wakes it.

use std::time::{Duration, Instant};

use ottla_model::compression::{Codec, Compression};
use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, PartitionData};
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{
    FETCH, UNKNOWN, append, base_offsets, batch, batch_at, batch_of_bytes, bytes_of, create_topic,
    create_topic_with, fetch, fetch_request, fetched, now_ms,
};

const TOPIC: &str = "read";

fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, TOPIC, 2);
    (broker, connection)
}

fn partition(request: &mut FetchRequest) -> &mut FetchPartition {
    &mut request.topics[0].partitions[0]
}

fn waiting(offset: i64, bytes_min: i32, wait: Duration) -> FetchRequest {
    FetchRequest {
        max_wait_ms: i32::try_from(wait.as_millis()).unwrap(),
        min_bytes: bytes_min,
        ..fetch_request(TOPIC, 0, offset)
    }
}

fn length(partition: &PartitionData) -> usize {
    partition.records.as_ref().unwrap().len()
}

#[test]
fn the_batch_that_holds_the_offset_comes_whole() {
    let (_broker, mut connection) = start();
    for codec in [Codec::None, Codec::Lz4] {
        append(&mut connection, TOPIC, 0, batch_at(10, now_ms(), Compression::of(codec)));
    }
    for offset in 0..10 {
        assert_eq!(base_offsets(fetch(&mut connection, TOPIC, 0, offset)), [0, 10], "from {offset}");
    }
    for offset in 10..20 {
        assert_eq!(base_offsets(fetch(&mut connection, TOPIC, 0, offset)), [10], "from {offset}");
    }
}

#[test]
fn the_batch_that_holds_the_offset_comes_whole_across_segments() {
    let (_broker, mut connection) = start();
    create_topic_with(&mut connection, "rolled", 1, &[("segment.bytes", "1048576")]);
    let mut bases = Vec::new();
    for _ in 0..12 {
        bases.push(append(&mut connection, "rolled", 0, batch_of_bytes(300_000)));
    }
    for base in bases {
        let found = base_offsets(fetch(&mut connection, "rolled", 0, base));
        assert_eq!(found.first(), Some(&base));
    }
}

#[test]
fn the_positions_come_with_the_records_and_are_unknown_with_an_error() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let found = fetch(&mut connection, TOPIC, 0, 0);
    assert_eq!(
        (found.high_watermark.get(), found.last_stable_offset.get(), found.log_start_offset.get()),
        (3, 3, 0)
    );
    assert_eq!(found.aborted_transactions, None);
    for offset in [4, -1, i64::MAX] {
        let found = fetch(&mut connection, TOPIC, 0, offset);
        assert_eq!(found.error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
        assert_eq!([found.high_watermark, found.last_stable_offset, found.log_start_offset], [UNKNOWN; 3]);
        assert_eq!(length(&found), 0);
    }
}

#[test]
fn the_log_end_answers_empty_after_the_wait_and_beyond_it_at_once() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let wait = Duration::from_millis(300);
    let begin = Instant::now();
    let at_end = fetched(connection.call(&waiting(3, 1, wait), FETCH));
    assert!(begin.elapsed() >= wait);
    assert_eq!((at_end.error_code, length(&at_end)), (ErrorCode::NONE, 0));
    let beyond = fetched(connection.call(&waiting(4, 1, Duration::from_secs(600)), FETCH));
    assert_eq!(beyond.error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
}

#[test]
fn an_append_wakes_a_waiting_fetch() {
    let (broker, mut connection) = start();
    let mut reader = broker.connect();
    for round in 0..50 {
        let number = reader.send(&waiting(round, 1, Duration::from_secs(600)), FETCH);
        append(&mut connection, TOPIC, 0, batch(1));
        let found = fetched(reader.receive::<FetchRequest>(FETCH, number));
        assert_eq!(base_offsets(found), [round]);
    }
}

#[test]
fn an_append_elsewhere_does_not_answer_a_waiting_fetch() {
    let (broker, mut connection) = start();
    let mut reader = broker.connect();
    let number = reader.send(&waiting(0, 1, Duration::from_secs(600)), FETCH);
    append(&mut connection, TOPIC, 1, batch(1));
    reader.expect_silence(Duration::from_millis(50));
    append(&mut connection, TOPIC, 0, batch(1));
    assert_eq!(base_offsets(fetched(reader.receive::<FetchRequest>(FETCH, number))), [0]);
}

#[test]
fn a_fetch_waits_until_enough_bytes_are_there() {
    let (broker, mut connection) = start();
    let mut reader = broker.connect();
    let size = batch(1).len();
    let number = reader.send(&waiting(0, i32::try_from(3 * size).unwrap(), Duration::from_secs(600)), FETCH);
    append(&mut connection, TOPIC, 0, batch(1));
    append(&mut connection, TOPIC, 0, batch(1));
    reader.expect_silence(Duration::from_millis(50));
    append(&mut connection, TOPIC, 0, batch(1));
    assert_eq!(base_offsets(fetched(reader.receive::<FetchRequest>(FETCH, number))), [0, 1, 2]);
}

#[test]
fn after_the_wait_comes_what_there_is() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(2));
    let wait = Duration::from_millis(300);
    let begin = Instant::now();
    let found = fetched(connection.call(&waiting(0, 1 << 20, wait), FETCH));
    assert!(begin.elapsed() >= wait);
    assert_eq!(base_offsets(found), [0]);
}

#[test]
fn the_deletion_of_its_topic_answers_a_waiting_fetch() {
    use ottla_protocol::messages::delete_topics::DeleteTopicsRequest;
    let (broker, mut connection) = start();
    let mut reader = broker.connect();
    let number = reader.send(&waiting(0, 1, Duration::from_secs(600)), FETCH);
    reader.expect_silence(Duration::from_millis(20));
    let delete = DeleteTopicsRequest { topic_names: vec![TOPIC.into()], ..DeleteTopicsRequest::default() };
    let _ = connection.call(&delete, 5);
    let found = fetched(reader.receive::<FetchRequest>(FETCH, number));
    assert_eq!(found.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn answers_keep_the_order_of_the_requests_behind_a_waiting_fetch() {
    let (_broker, mut connection) = start();
    let wait = Duration::from_millis(300);
    let fetch = connection.send(&waiting(0, 1, wait), FETCH);
    let metadata = connection.send(&MetadataRequest::default(), 9);
    let begin = Instant::now();
    let _ = connection.receive::<FetchRequest>(FETCH, fetch);
    assert!(begin.elapsed() >= wait / 2, "the fetch has waited");
    let _ = connection.receive::<MetadataRequest>(9, metadata);
}

#[test]
fn a_first_batch_larger_than_every_limit_is_sent_all_the_same() {
    let broker = TestBroker::builder().set("message.max.bytes", "4000000").start();
    let mut connection = broker.connect();
    create_topic(&mut connection, TOPIC, 2);
    let large = batch_of_bytes(3_000_000);
    append(&mut connection, TOPIC, 0, large.clone());
    append(&mut connection, TOPIC, 1, large.clone());
    let mut request = FetchRequest { max_bytes: 1, ..fetch_request(TOPIC, 0, 0) };
    partition(&mut request).partition_max_bytes = 1;
    assert_eq!(bytes_of(fetched(connection.call(&request, FETCH))).len(), large.len());

    // Of two partitions only the first is filled; the other is empty, not an error.
    let second = FetchPartition { partition: 1.into(), ..request.topics[0].partitions[0].clone() };
    request.topics[0].partitions.push(second);
    let response = connection.call(&request, FETCH);
    let lengths: Vec<_> = response.responses[0].partitions.iter().map(length).collect();
    assert_eq!(lengths, [large.len(), 0]);
    assert!(response.responses[0].partitions.iter().all(|partition| partition.error_code.is_none()));
}

#[test]
fn a_limit_within_a_batch_cuts_at_the_very_byte() {
    let (_broker, mut connection) = start();
    let size = batch(3).len();
    append(&mut connection, TOPIC, 0, batch(3));
    append(&mut connection, TOPIC, 0, batch(3));
    let mut request = fetch_request(TOPIC, 0, 0);
    partition(&mut request).partition_max_bytes = i32::try_from(size + 10).unwrap();
    assert_eq!(bytes_of(fetched(connection.call(&request, FETCH))).len(), size + 10);
}

#[test]
fn a_wide_answer_stays_within_its_limit() {
    let (_broker, mut connection) = start();
    create_topic(&mut connection, "wide", 100);
    let size = batch_of_bytes(20_000).len();
    for index in 0..100 {
        append(&mut connection, "wide", index, batch_of_bytes(20_000));
    }
    let mut request = FetchRequest { max_bytes: 200_000, ..fetch_request("wide", 0, 0) };
    partition(&mut request).partition_max_bytes = 10 << 20;
    let template = request.topics[0].partitions[0].clone();
    let wanted = (0..100).map(|index| FetchPartition { partition: index.into(), ..template.clone() });
    request.topics[0].partitions = wanted.collect();
    let response: FetchResponse = connection.call(&request, FETCH);
    let total: usize = response.responses[0].partitions.iter().map(length).sum();
    assert!((200_000 - size..=200_000 + size).contains(&total), "{total}");
    assert_eq!(response.responses[0].partitions.len(), 100);
}

#[test]
fn epochs_that_are_not_known_are_refused() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let mut code = |change: &dyn Fn(&mut FetchPartition)| {
        let mut request = fetch_request(TOPIC, 0, 0);
        change(partition(&mut request));
        fetched(connection.call(&request, FETCH)).error_code
    };
    assert_eq!(code(&|wanted| wanted.current_leader_epoch = 99.into()), ErrorCode::UNKNOWN_LEADER_EPOCH);
    assert_eq!(code(&|wanted| wanted.last_fetched_epoch = 99.into()), ErrorCode::OFFSET_OUT_OF_RANGE);
}

#[test]
fn a_restart_may_raise_the_epoch_and_the_older_one_is_then_fenced() {
    let (mut broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let epoch = |connection: &mut Connection| {
        let answer = connection.call(&MetadataRequest { topics: None, ..MetadataRequest::default() }, 9);
        answer.topics[0].partitions[0].leader_epoch.get()
    };
    let before = epoch(&mut connection);
    broker.restart();
    let mut connection = broker.connect();
    let after = epoch(&mut connection);
    let mut request = fetch_request(TOPIC, 0, 0);
    partition(&mut request).current_leader_epoch = before.into();
    let expected = if after == before { ErrorCode::NONE } else { ErrorCode::FENCED_LEADER_EPOCH };
    assert_eq!(fetched(connection.call(&request, FETCH)).error_code, expected);
}

#[test]
fn a_reader_whose_log_parts_from_ours_is_told_where() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let mut request = fetch_request(TOPIC, 0, 50);
    partition(&mut request).last_fetched_epoch = 0.into();
    let found = fetched(connection.call(&request, FETCH));
    assert_eq!((found.error_code, length(&found)), (ErrorCode::NONE, 0));
    assert_eq!((found.diverging_epoch.epoch.get(), found.diverging_epoch.end_offset.get()), (0, 3));
}

#[test]
fn read_committed_lists_aborted_transactions_as_none() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let request = FetchRequest { isolation_level: 1, ..fetch_request(TOPIC, 0, 0) };
    let found = fetched(connection.call(&request, FETCH));
    assert_eq!(found.aborted_transactions, Some(vec![]));
    assert_eq!(base_offsets(found), [0]);
}

#[test]
fn an_isolation_level_that_nobody_knows_is_refused_for_every_partition() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(1));
    let request = FetchRequest { isolation_level: 9, ..fetch_request(TOPIC, 0, 0) };
    let refused = connection.call(&request, FETCH);
    assert_eq!(refused.error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
    assert_eq!(refused.responses[0].partitions[0].error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
    let refused = connection.call(&request, 13);
    assert_eq!((refused.error_code, refused.responses.len()), (ErrorCode::UNKNOWN_SERVER_ERROR, 0));
}

#[test]
fn a_negative_epoch_is_none() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(1));
    let mut request = fetch_request(TOPIC, 0, 0);
    request.topics[0].partitions[0].current_leader_epoch = (-2).into();
    request.topics[0].partitions[0].last_fetched_epoch = (-2).into();
    assert_eq!(base_offsets(fetched(connection.call(&request, FETCH))), [0]);
}

#[test]
fn a_later_partition_gives_nothing_where_its_first_batch_does_not_fit() {
    let (_broker, mut connection) = start();
    let large = batch_of_bytes(500);
    let size = large.len();
    for partition in [0, 1] {
        append(&mut connection, TOPIC, partition, large.clone());
        append(&mut connection, TOPIC, partition, large.clone());
    }
    let mut lengths = |whole: usize, each: usize| {
        let mut request = fetch_request(TOPIC, 0, 0);
        request.max_bytes = i32::try_from(whole).unwrap();
        request.topics[0].partitions[0].partition_max_bytes = i32::try_from(each).unwrap();
        let second = FetchPartition { partition: 1.into(), ..request.topics[0].partitions[0].clone() };
        request.topics[0].partitions.push(second);
        let response = connection.call(&request, FETCH);
        response.responses[0].partitions.iter().map(length).collect::<Vec<_>>()
    };
    assert_eq!(lengths(1 << 20, 1), [size, 0]);
    assert_eq!(lengths(size + 200, size), [size, 0]);
    assert_eq!(lengths(2 * size, size), [size, size]);
    // A batch that is not the first of its partition is cut where the limit lies.
    assert_eq!(lengths(1 << 20, size + 7), [size + 7, size + 7]);
}

#[test]
fn unknown_topics_partitions_and_ids_each_have_their_code() {
    let (_broker, mut connection) = start();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let wait = FetchRequest { max_wait_ms: 600_000, min_bytes: 1, ..fetch_request("nowhere", 0, 0) };
    assert_eq!(fetched(connection.call(&wait, FETCH)).error_code, unknown);
    assert_eq!(fetched(connection.call(&fetch_request(TOPIC, 7, 0), FETCH)).error_code, unknown);
    for version in [13, 18] {
        for id in [Uuid::ZERO, Uuid::from_bytes([9; 16])] {
            let mut request = fetch_request("", 0, 0);
            request.topics[0].topic_id = id;
            let found = fetched(connection.call(&request, version));
            assert_eq!((found.error_code, length(&found)), (ErrorCode::UNKNOWN_TOPIC_ID, 0));
        }
    }
}

#[test]
fn every_version_reads_the_same_records() {
    let (_broker, mut connection) = start();
    let id = create_topic(&mut connection, "by-id", 1);
    append(&mut connection, "by-id", 0, batch(3));
    for version in 4..=18 {
        let mut request = fetch_request("by-id", 0, 0);
        request.topics[0].topic_id = id;
        assert_eq!(base_offsets(fetched(connection.call(&request, version))), [0], "version {version}");
    }
}

#[test]
fn sessions_are_not_kept_and_an_unknown_one_is_refused() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let begin = FetchRequest { session_epoch: 0, ..fetch_request(TOPIC, 0, 0) };
    let response = connection.call(&begin, FETCH);
    assert_eq!((response.error_code, response.session_id), (ErrorCode::NONE, 0));
    let goes_on = FetchRequest { session_id: 1234, session_epoch: 5, ..fetch_request(TOPIC, 0, 0) };
    let response = connection.call(&goes_on, FETCH);
    assert_eq!(response.error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
    assert!(response.responses.is_empty());
    let ends = FetchRequest { session_epoch: -1, ..goes_on };
    assert_eq!(base_offsets(fetched(connection.call(&ends, FETCH))), [0]);
}

#[test]
fn a_partition_that_is_named_often_is_read_once() {
    let (_broker, mut connection) = start();
    append(&mut connection, TOPIC, 0, batch(3));
    let mut request = fetch_request(TOPIC, 0, 0);
    let again = request.topics[0].partitions[0].clone();
    request.topics[0].partitions.extend(std::iter::repeat_n(again, 100_000));
    request.topics.push(request.topics[0].clone());
    let response = connection.call(&request, FETCH);
    assert_eq!(response.responses[0].partitions.len(), 1);
    assert!(response.responses[1].partitions.is_empty());
}

#[test]
fn a_fetch_of_nothing_is_answered_at_once() {
    let (_broker, mut connection) = start();
    let request = FetchRequest { max_wait_ms: 600_000, min_bytes: 1, ..FetchRequest::default() };
    for version in [4, FETCH, 18] {
        assert!(connection.call(&request, version).responses.is_empty());
    }
}
