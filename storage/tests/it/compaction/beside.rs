//! Readers and an appender go on while segments are exchanged under them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use ottla_model::Offset;
use ottla_model::batch::RecordBatch;
use ottla_storage::compaction::CleanerLimits;
use ottla_storage::{DiskLog, Log, LogConfig, ReadOutcome, ReadRequest};

use super::support::{Dice, From, LIMITS, append, begin, finish, keyed};
use crate::support::{NOW_MS, bytes_of, open, request};

const KEYS: u64 = 20;
const ROUNDS: usize = 12;
/// So many at most beside the compactions.
const APPENDS: usize = 2000;

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 3000,
        index_interval_bytes: 200,
        is_compacted: true,
        min_cleanable_dirty_ratio: 0.0,
        ..LogConfig::default()
    }
}

/// Reads from places here and there to the end. What it finds is whole, goes up, and is what was appended there.
fn read_on(log: &DiskLog, is_over: &AtomicBool, seed: u64) -> u64 {
    let mut dice = Dice(seed);
    let mut read = 0;
    while !is_over.load(Ordering::Relaxed) {
        let end = log.positions().log_end.offset.get();
        let mut next = i64::try_from(dice.below(end.unsigned_abs() + 1)).unwrap();
        for _ in 0..50 {
            let request = ReadRequest { max_bytes: 400, ..request(next) };
            let slice = match log.read(&request).unwrap() {
                ReadOutcome::Found(slice) => slice,
                _ => break,
            };
            let mut bytes = bytes_of(&slice);
            while let Some(batch) = RecordBatch::split_first(&mut bytes).unwrap() {
                batch.verify_crc().unwrap();
                let header = batch.header();
                assert!(header.last_offset().get() >= next, "{} after {next}", header.last_offset());
                for record in &batch.records(1 << 20).unwrap() {
                    let record = record.unwrap();
                    let value = std::str::from_utf8(record.value.unwrap()).unwrap();
                    assert_eq!(value.parse::<i64>().unwrap(), record.offset.get());
                }
                next = header.next_offset().get();
                read += 1;
            }
        }
        let found = log.offset_for_time(NOW_MS).unwrap();
        assert!(found.is_some_and(|found| found.timestamp_ms >= NOW_MS));
    }
    read
}

/// Appends batches whose values are their records' offsets.
fn append_on(log: &DiskLog, is_over: &AtomicBool, end: &AtomicI64) {
    let mut dice = Dice(1);
    for _ in 0..APPENDS {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        append_one(log, &mut dice, end);
    }
}

fn append_one(log: &DiskLog, dice: &mut Dice, end: &AtomicI64) {
    let base = end.load(Ordering::Relaxed);
    let texts: Vec<_> =
        (0..3).map(|place| (format!("k{}", dice.below(KEYS)), (base + place).to_string())).collect();
    let pairs: Vec<_> = texts.iter().map(|(key, value)| (Some(key.as_str()), Some(value.as_str()))).collect();
    assert_eq!(append(log, keyed(&pairs, From::default())), base);
    end.store(base + 3, Ordering::Relaxed);
}

#[test]
fn readers_and_an_appender_notice_nothing_of_a_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(open(folder.path(), &config(), false, 0).unwrap().0);
    let (is_over, end) = (AtomicBool::new(false), AtomicI64::new(0));
    let mut dice = Dice(2);
    for _ in 0..200 {
        append_one(&log, &mut dice, &end);
    }
    let read = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (log, is_over, read) = (&log, &is_over, &read);
            scope.spawn(move || read.fetch_add(read_on(log, is_over, seed), Ordering::Relaxed));
        }
        scope.spawn(|| append_on(&log, &is_over, &end));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let limits = CleanerLimits { io_buffer_bytes: 2000, ..LIMITS };
            for _ in 0..ROUNDS {
                log.roll(NOW_MS).unwrap();
                log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
                let report = finish(begin(&log, 0, NOW_MS, limits).unwrap()).unwrap();
                assert!(report.segments_before > 0);
                for removed in report.removed {
                    removed.delete().unwrap();
                }
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        assert!(done.is_ok());
    });
    assert!(read.load(Ordering::Relaxed) > 0);
    log.roll(NOW_MS).unwrap();
    log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    let report = finish(begin(&log, 0, NOW_MS, LIMITS).unwrap()).unwrap();
    assert_eq!(report.records_after, KEYS);
}

#[test]
fn what_was_found_before_an_exchange_is_read_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(open(folder.path(), &config(), false, 0).unwrap().0);
    let (mut dice, end) = (Dice(3), AtomicI64::new(0));
    for _ in 0..20 {
        append_one(&log, &mut dice, &end);
    }
    log.roll(NOW_MS).unwrap();
    log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    let ReadOutcome::Found(slice) = log.read(&request(0)).unwrap() else { panic!("nothing") };
    let before = bytes_of(&slice);
    for removed in finish(begin(&log, 0, NOW_MS, LIMITS).unwrap()).unwrap().removed {
        removed.delete().unwrap();
    }
    assert_eq!(bytes_of(&slice), before);
    let ReadOutcome::Found(after) = log.read(&request(0)).unwrap() else { panic!("nothing") };
    assert!(bytes_of(&after).len() < before.len());
}
