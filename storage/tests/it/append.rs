//! What the files of a log on disk look like while it is written: rolls, index entries, preallocation, truncation. What
//! every log does is checked in `contract.rs`.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_model::{LeaderEpoch, Offset};
use ottla_storage::{Log, LogConfig, LogError, ReadEnd, ReadMode, ReadOutcome, ReadRequest};

use crate::support::{
    EPOCH, NOW_MS, TestLog, batch, batch_of, batch_of_bytes, batches, bytes_of, content, request, spans,
};

/// Rolls by size need not write a gibibyte.
fn small(segment_bytes: u32) -> LogConfig {
    LogConfig { segment_bytes, ..LogConfig::default() }
}

fn logs(test: &TestLog) -> Vec<i64> {
    test.names().iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect()
}

#[test]
fn a_read_stops_at_its_bounds_and_begins_with_the_batch_that_holds_the_offset() {
    let test = TestLog::new(small(2000));
    for _ in 0..20 {
        test.append(batch(NOW_MS, 5, 40));
    }
    let size = u64::try_from(batch(NOW_MS, 5, 40).size()).unwrap();
    assert!(logs(&test).len() > 3);
    let read = |request: &ReadRequest| match test.log.read(request).unwrap() {
        ReadOutcome::Found(slice) => slice.length,
        ReadOutcome::Empty => 0,
        ReadOutcome::WouldBlock => panic!("this read may wait"),
    };
    for from in 0..100 {
        let found = batches(&test.log, from, ReadEnd::LogEnd, 1);
        assert_eq!(found[0].header().base_offset().get(), from / 5 * 5);
        assert_eq!(found.last().unwrap().header().next_offset().get(), 100);
    }
    for end in (0..=100).step_by(5) {
        let found = batches(&test.log, 0, ReadEnd::Before(Offset::new(end)), 1 << 20);
        assert_eq!(found.len() as i64, end / 5);
    }
    assert_eq!(read(&ReadRequest { max_bytes: 1, ..request(7) }), size, "one batch at least");
    assert_eq!(read(&ReadRequest { max_bytes: 1, at_least_one_batch: false, ..request(7) }), 0);
    assert_eq!(read(&ReadRequest { max_bytes: size + 7, ..request(7) }), size + 7, "cut at the exact byte");
    assert_eq!(read(&ReadRequest { end: ReadEnd::Before(Offset::new(5)), ..request(7) }), 0);
    assert_eq!(read(&request(100)), 0);
    assert_eq!(read(&ReadRequest { mode: ReadMode::Cached, ..request(99) }), size);
    for wanted in [-1, 101] {
        let error = test.log.read(&request(wanted)).unwrap_err();
        assert!(matches!(error, LogError::OffsetOutOfRange { end, .. } if end == Offset::new(100)));
    }
}

#[test]
fn index_entries_stand_where_kafka_puts_them() {
    let config = LogConfig { index_interval_bytes: 1000, ..LogConfig::default() };
    let mut test = TestLog::new(config);
    for _ in 0..20 {
        test.append(batch_of_bytes(NOW_MS, 479));
    }
    test = test.stopped();
    let entries: Vec<(u32, u32)> = content(&test.file("00000000000000000000.index"))
        .chunks(8)
        .map(|entry| {
            let number = |at: usize| u32::from_be_bytes(entry[at..at + 4].try_into().unwrap());
            (number(0), number(4))
        })
        .collect();
    assert_eq!(entries, [(3, 1437), (6, 2874), (9, 4311), (12, 5748), (15, 7185), (18, 8622)]);
    let times = content(&test.file("00000000000000000000.timeindex"));
    assert_eq!(times.len(), 12, "the timestamp never grew after its first entry");
}

#[test]
fn a_segment_ends_where_the_next_batch_would_not_fit() {
    let test = TestLog::new(small(3 * 479));
    for _ in 0..7 {
        test.append(batch_of_bytes(NOW_MS, 479));
    }
    assert_eq!(logs(&test), [0, 3, 6]);
    let error = test.log.append_as_leader(batch_of_bytes(NOW_MS, 1438), EPOCH, NOW_MS).unwrap_err();
    assert!(matches!(error, LogError::BatchTooLarge { size: 1438, limit: 1437 }));
    assert_eq!(test.append(batch_of_bytes(NOW_MS, 1437)), 7);
    assert_eq!(logs(&test), [0, 3, 6, 7]);
}

#[test]
fn a_segment_ends_by_the_time_of_its_records_and_not_by_the_clock() {
    let test = TestLog::new(LogConfig { segment_ms: 1000, ..LogConfig::default() });
    let append = |timestamp_ms, now_ms| {
        test.log.append_as_leader(batch(timestamp_ms, 1, 1), EPOCH, now_ms).unwrap().rolled_at
    };
    assert_eq!(append(5000, NOW_MS), None);
    assert_eq!(append(6000, NOW_MS + 1_000_000), None);
    assert_eq!(append(4000, NOW_MS), None, "an older record does not end it");
    assert_eq!(append(6001, NOW_MS), Some(Offset::new(3)));
    assert_eq!(append(7001, NOW_MS), None);
    assert_eq!(append(7002, NOW_MS), Some(Offset::new(5)));
}

#[test]
fn without_timestamps_the_age_of_the_segment_counts() {
    let test = TestLog::new(LogConfig { segment_ms: 1000, ..LogConfig::default() });
    let append = |now_ms| test.log.append_as_leader(batch(-1, 1, 1), EPOCH, now_ms).unwrap().rolled_at;
    assert_eq!(append(NOW_MS), None);
    assert_eq!(append(NOW_MS + 1000), None);
    assert_eq!(append(NOW_MS + 1001), Some(Offset::new(2)));
}

#[test]
fn jitter_takes_less_than_its_bound_off_a_segments_time() {
    let config = LogConfig { segment_ms: 100_000, segment_jitter_ms: 50_000, ..LogConfig::default() };
    let mut lengths = Vec::new();
    for _ in 0..20 {
        let test = TestLog::new(config.clone());
        test.append(batch(0, 1, 1));
        let length = (0..).step_by(500).find(|timestamp| {
            let info = test.log.append_as_leader(batch(*timestamp, 1, 1), EPOCH, NOW_MS).unwrap();
            info.rolled_at.is_some()
        });
        lengths.push(length.unwrap());
    }
    assert!(lengths.iter().all(|length| (50_000..=100_500).contains(length)), "{lengths:?}");
    lengths.dedup();
    assert!(lengths.len() > 10, "logs do not roll all at once: {lengths:?}");
}

#[test]
fn a_full_index_ends_its_segment() {
    let config = LogConfig { segment_index_bytes: 60, index_interval_bytes: 1, ..LogConfig::default() };
    let test = TestLog::new(config);
    for number in 0..16 {
        test.append(batch(1000 + number, 1, 1));
    }
    // Room for five time entries, of which one is kept for the end; the first batch is never entered.
    assert_eq!(logs(&test), [0, 5, 10, 15]);
}

#[test]
fn the_time_of_a_record_finds_it_across_segments_and_disorder() {
    let test = TestLog::new(small(400));
    let times = [50, 10, 70, 70, 20, 90, 5, 80, 100, 100, 30];
    for time in times {
        test.append(batch(time, 1, 40));
    }
    assert!(logs(&test).len() > 3);
    for wanted in 0..110 {
        let expected = times.iter().position(|time| *time >= wanted);
        let found = test.log.offset_for_time(wanted).unwrap();
        assert_eq!(found.map(|f| f.offset.get()), expected.map(|at| at as i64), "{wanted}");
        assert_eq!(found.map(|f| f.leader_epoch), expected.map(|_| EPOCH));
    }
    let largest = test.log.offset_of_max_timestamp().unwrap().unwrap();
    assert_eq!((largest.offset, largest.timestamp_ms), (Offset::new(8), 100));
    assert_eq!(TestLog::new(small(400)).log.offset_of_max_timestamp().unwrap(), None);
}

#[test]
fn a_truncated_log_goes_on_as_if_it_had_never_been_longer() {
    for offset in [0, 1, 5, 7, 12, 29, 30, 31] {
        let mut test = TestLog::new(LogConfig { index_interval_bytes: 50, ..small(1000) });
        for number in 0..30 {
            test.append(batch_of(9, 0, number, 1));
        }
        test.log.begin_epoch(LeaderEpoch::new(4));
        test.log.truncate_to(Offset::new(offset), NOW_MS).unwrap();
        let end = offset.min(30);
        assert_eq!(test.end(), end);
        assert_eq!(spans(&test.log), (0..end).map(|o| (o, o)).collect::<Vec<_>>());
        assert!(test.log.positions().recovery_point.get() <= end);
        let next = i32::try_from(end).unwrap();
        assert_eq!(test.append(batch_of(9, 0, next, 1)), end, "the producer's state is as of then");
        assert_eq!(test.append(batch_of(9, 0, next + 1, 1)), end + 1);
        assert_eq!(test.log.end_offset_for_epoch(EPOCH).unwrap().end_offset.get(), end + 2);
        let before = spans(&test.log);
        test = test.stopped();
        assert_eq!(spans(&test.log), before);
        let found = test.log.offset_for_time(NOW_MS).unwrap().unwrap();
        assert_eq!(found.offset, Offset::ZERO);
    }
}

#[test]
fn a_log_that_starts_anew_begins_empty_at_its_offset() {
    let mut test = TestLog::new(small(500));
    for number in 0..20 {
        test.append(batch_of(9, 0, number, 1));
    }
    test.log.restart_at(Offset::new(1000), NOW_MS).unwrap();
    let positions = test.log.positions();
    assert_eq!((positions.log_start.get(), positions.log_end.offset.get()), (1000, 1000));
    assert_eq!(test.log.latest_epoch(), None);
    assert_eq!(logs(&test), [1000]);
    assert_eq!(test.append(batch_of(9, 0, 77, 2)), 1000);
    test = test.stopped();
    assert_eq!(spans(&test.log), [(1000, 1001)]);
    assert_eq!(test.log.positions().log_start.get(), 1000);
}

#[test]
fn a_preallocated_file_has_its_size_at_once_and_loses_it_at_the_end() {
    let mut test = TestLog::new(LogConfig { preallocate: true, ..small(4096) });
    let name = "00000000000000000000.log";
    test.append(batch(NOW_MS, 2, 10));
    assert_eq!(content(&test.file(name)).len(), 4096);
    let (reopened, recovery) = test.killed(0);
    test = reopened;
    assert_eq!(recovery.cut, None, "room that was never written is no loss");
    assert_eq!(test.append(batch(NOW_MS, 2, 10)), 2);
    let size = test.log.size_bytes();
    test = test.stopped();
    assert_eq!(content(&test.file(name)).len() as u64, size);
    assert_eq!(spans(&test.log), [(0, 1), (2, 3)]);
}

#[test]
fn readers_beside_a_writer_that_rolls_see_whole_batches_in_order_and_never_an_error() {
    let test = TestLog::new(LogConfig { index_interval_bytes: 100, ..small(3000) });
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = || {
            let mut next = 0;
            loop {
                let was_done = done.load(Ordering::Acquire);
                let outcome = test.log.read(&ReadRequest { max_bytes: 777, ..request(next) }).unwrap();
                match outcome {
                    ReadOutcome::Found(slice) => {
                        let mut bytes = bytes_of(&slice);
                        while let Ok(Some(batch)) = ottla_model::batch::RecordBatch::split_first(&mut bytes) {
                            batch.verify_crc().unwrap();
                            assert_eq!(batch.header().base_offset().get(), next);
                            next = batch.header().next_offset().get();
                        }
                    }
                    _ if was_done => return next,
                    _ => std::thread::yield_now(),
                }
            }
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        for number in 0..2000 {
            test.append(batch(NOW_MS + number, 3, 20));
            if number % 100 == 0 {
                test.log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
            }
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            assert_eq!(reader.join().unwrap(), 6000);
        }
    });
    assert!(logs(&test).len() > 50);
}

#[test]
fn an_error_of_the_system_keeps_its_kind_and_names_the_file() {
    let test = TestLog::new(small(500));
    test.append(batch(NOW_MS, 1, 300));
    std::fs::remove_dir_all(test.folder.path()).unwrap();
    let error = test.log.append_as_leader(batch(NOW_MS, 1, 300), EPOCH, NOW_MS).unwrap_err();
    let LogError::Io { path, source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    assert!(path.starts_with(test.folder.path()));
    assert_eq!(test.end(), 1, "what failed is not counted");
}

#[test]
fn a_read_that_may_not_wait_says_so_until_another_has_warmed_the_segment() {
    let mut test = TestLog::new(small(2000));
    for _ in 0..20 {
        test.append(batch(NOW_MS, 5, 40));
    }
    test = test.stopped();
    let cached = ReadRequest { mode: ReadMode::Cached, ..request(7) };
    assert!(
        matches!(test.log.read(&cached).unwrap(), ReadOutcome::WouldBlock),
        "its index is not mapped yet"
    );
    assert!(matches!(test.log.read(&request(7)).unwrap(), ReadOutcome::Found(_)));
    assert!(matches!(test.log.read(&cached).unwrap(), ReadOutcome::Found(_)));
    let path = test.file("00000000000000000000.log");
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    // A file system that lives in memory keeps the pages, and then nothing has to wait.
    let is_kept = matches!(test.log.read(&cached).unwrap(), ReadOutcome::Found(_));
    assert!(matches!(test.log.read(&request(7)).unwrap(), ReadOutcome::Found(_)));
    assert!(is_kept || matches!(test.log.read(&cached).unwrap(), ReadOutcome::Found(_)));
}

#[test]
fn a_compacted_log_rolls_at_the_latest_when_its_records_are_to_be_compacted() {
    let config = LogConfig { segment_ms: 5000, max_compaction_lag_ms: 1000, ..LogConfig::default() };
    for (is_compacted, expected) in [(true, vec![0, 2]), (false, vec![0])] {
        let test = TestLog::new(LogConfig { is_compacted, ..config.clone() });
        for timestamp_ms in [NOW_MS, NOW_MS + 1000, NOW_MS + 1001] {
            test.append(batch(timestamp_ms, 1, 10));
        }
        let bases: Vec<i64> = test.log.segments().unwrap().iter().map(|it| it.base.get()).collect();
        assert_eq!(bases, expected);
    }
}

#[test]
fn a_roll_takes_the_file_that_a_flush_prepared_and_leaves_the_rest_to_the_next_flush() {
    for preallocate in [false, true] {
        let mut test = TestLog::new(LogConfig { preallocate, index_interval_bytes: 50, ..small(1000) });
        while test.log.positions().log_end.position < 500 {
            test.append(batch(NOW_MS, 1, 50));
        }
        test.log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        assert!(test.names().contains(&"next-segment".to_owned()));
        while test.log.segments().unwrap().len() == 1 {
            test.append(batch(NOW_MS, 1, 50));
        }
        let base = test.log.segments().unwrap()[1].base;
        let live = format!("{:020}.log", base.get());
        let written = test.log.positions().log_end.position;
        assert_eq!(fs::metadata(test.file(&live)).unwrap().len(), if preallocate { 1000 } else { written });
        let snapshot = format!("{:020}.snapshot", base.get());
        for name in ["next-segment", &snapshot, "00000000000000000000.timeindex"] {
            assert!(!test.names().contains(&name.to_owned()), "{name}");
        }
        test.log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        for name in [&snapshot, "00000000000000000000.timeindex", "00000000000000000000.index"] {
            assert!(test.names().contains(&name.to_owned()), "{name}");
        }
        let end = test.end();
        while test.log.positions().log_end.position < 500 {
            test.append(batch(NOW_MS, 1, 50));
        }
        test.log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        // Neither kind of stop leaves it there.
        test = test.killed(end).0;
        assert!(!test.names().contains(&"next-segment".to_owned()));
        test.append(batch(NOW_MS, 1, 50));
        test.log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        test = test.stopped();
        assert!(!test.names().contains(&"next-segment".to_owned()));
        assert!(test.end() > end);
    }
}

#[test]
fn rolls_without_a_flush_keep_few_segments_waiting() {
    let test = TestLog::new(small(300));
    for _ in 0..40 {
        test.append(batch(NOW_MS, 1, 100));
    }
    let segments = test.log.segments().unwrap().len();
    let sealed = test.names().iter().filter(|name| name.ends_with(".timeindex")).count();
    assert!(segments > 10 && segments - sealed <= 5, "{sealed} of {segments}");
    assert_eq!(test.log.offset_for_time(NOW_MS).unwrap().unwrap().offset, Offset::ZERO);
    test.log.truncate_to(Offset::new(35), NOW_MS).unwrap();
    let (test, recovery) = test.killed(0);
    assert_eq!((test.end(), recovery.cut), (35, None));
}

#[test]
fn room_that_was_set_aside_changes_no_size_and_goes_at_a_stop() {
    let mut test = TestLog::new(LogConfig::default());
    test.append(batch(NOW_MS, 1, 50));
    let log = test.file("00000000000000000000.log");
    let bytes = test.log.positions().log_end.position;
    test.log.reserve_ahead(1 << 20).unwrap();
    assert_eq!(fs::metadata(&log).unwrap().len(), bytes);
    test.append(batch(NOW_MS, 1, 50));
    test = test.stopped();
    let about = fs::metadata(&log).unwrap();
    assert_eq!(about.len(), bytes * 2);
    let blocks = |about: &fs::Metadata| std::os::unix::fs::MetadataExt::blocks(about);
    assert!(blocks(&about) < 64, "the room was given back");
    test.log.reserve_ahead(4 << 20).unwrap();
    test = test.killed(0).0;
    test = test.stopped();
    assert!(blocks(&fs::metadata(&log).unwrap()) < 64, "also what was set aside before a kill");
    assert_eq!(test.end(), 2);
}
