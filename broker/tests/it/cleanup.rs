//! What happens to old records: retention by record time and size, compaction, and the files of both.

use std::time::{Duration, Instant};

use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{ErrorCode, Offset};

use ottla_testkit::{Connection, TIME_MAX, TestBroker};

use crate::requests::{
    append, base_offsets, batch, batch_at, batch_of_bytes, batches_of, create_topic_with, fetch, list_offset,
    log_end, now_ms, produce,
};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A broker that looks for what may go without a pause.
fn broker() -> TestBroker {
    TestBroker::builder()
        .set("log.initial.task.delay.ms", "0")
        .set("log.retention.check.interval.ms", "20")
        .set("log.cleaner.backoff.ms", "20")
        .start()
}

/// Looks again and again until it is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < TIME_MAX, "{what}: not within {TIME_MAX:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn log_start(connection: &mut Connection, topic: &str) -> i64 {
    list_offset(connection, topic, -2, 7).offset.get()
}

#[test]
fn records_that_are_old_by_their_own_time_go_soon_and_the_active_segment_too() {
    let broker = broker();
    let mut connection = broker.connect();
    let configs = [("retention.ms", "604800000"), ("file.delete.delay.ms", "0")];
    create_topic_with(&mut connection, "t", 1, &configs);
    append(&mut connection, "t", 0, batch_at(3, now_ms() - 8 * DAY_MS, Compression::NONE));
    wait_until("the log start rises", || log_start(&mut connection, "t") == 3);
    assert_eq!(fetch(&mut connection, "t", 0, 0).error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
    assert_eq!(append(&mut connection, "t", 0, batch(2)), 3);
    assert_eq!(base_offsets(fetch(&mut connection, "t", 0, 3)), [3]);
    let folder = broker.data().join("t-0");
    wait_until("the old segment's files go", || {
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        !names.map(|name| name.into_string().unwrap()).any(|name| name.starts_with("00000000000000000000."))
    });
    let state = broker.running().broker().background_state().retention;
    assert_eq!((state.segments, state.failures), (1, 0));
}

#[test]
fn no_more_bytes_are_kept_than_the_topic_says_and_without_a_limit_all() {
    let broker = broker();
    let mut connection = broker.connect();
    let configs = [("retention.bytes", "1500000"), ("segment.bytes", "1048576"), ("retention.ms", "-1")];
    create_topic_with(&mut connection, "bounded", 1, &configs);
    create_topic_with(&mut connection, "unbounded", 1, &configs[1..]);
    for topic in ["bounded", "unbounded"] {
        for _ in 0..5 {
            append(&mut connection, topic, 0, batch_of_bytes(700_000));
        }
    }
    // Of five segments of 700 kB the last three hold more than the limit, two would not.
    wait_until("old segments go", || log_start(&mut connection, "bounded") == 2);
    let passes = || broker.running().broker().background_state().retention.passes;
    let before = passes();
    wait_until("another look", || passes() > before + 1);
    assert_eq!(log_start(&mut connection, "bounded"), 2);
    assert_eq!(log_start(&mut connection, "unbounded"), 0);
}

#[test]
fn compaction_keeps_the_newest_record_of_a_key_and_leaves_gaps_that_readers_pass() {
    let broker = broker();
    let mut connection = broker.connect();
    let configs = [
        ("cleanup.policy", "compact"),
        ("segment.ms", "1"),
        ("min.cleanable.dirty.ratio", "0"),
        ("file.delete.delay.ms", "0"),
    ];
    create_topic_with(&mut connection, "t", 1, &configs);
    let now = now_ms();
    for round in 0..10 {
        // Each is later than the one before by more than segment.ms, and so begins a segment.
        append(&mut connection, "t", 0, batch_at(2, now - 1000 + round * 10, Compression::NONE));
    }
    // The active segment is left as it is; of the others one batch remains.
    wait_until("only the newest remains", || base_offsets(fetch(&mut connection, "t", 0, 0)) == [16]);
    assert_eq!((log_start(&mut connection, "t"), log_end(&mut connection, "t")), (0, 20));
    let next = batches_of(fetch(&mut connection, "t", 0, 3));
    assert!(next[0].header().last_offset() >= Offset::new(17), "a fetch into the gap gives what comes after");
    assert!(broker.running().broker().background_state().cleaner.rounds >= 1);
}

#[test]
fn a_record_without_a_key_is_refused_where_keys_are_needed() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic_with(&mut connection, "t", 1, &[("cleanup.policy", "compact")]);
    let mut builder = BatchBuilder::new(Compression::NONE);
    for key in [Some(&b"k"[..]), None] {
        let record = NewRecord { timestamp_ms: now_ms(), key, value: Some(b"v"), headers: &[] };
        builder.append(&record).unwrap();
    }
    let refused = produce(&mut connection, "t", 0, builder.finish_bytes().unwrap());
    assert_eq!(refused.error_code, ErrorCode::INVALID_RECORD);
    assert_eq!(refused.record_errors.iter().map(|error| error.batch_index).collect::<Vec<_>>(), [1]);
}
