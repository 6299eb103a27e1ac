//! Compaction of 1 GiB with three million keys: how much memory it takes beside `log.cleaner.dedupe.buffer.size`, and what
//! appends to another log take meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ottla_model::batch::{BatchBuilder, CheckedBatch, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, PartitionIndex, TopicName, Uuid};
use ottla_storage::compaction::{Cleaner, CleanerLimits, Step};
use ottla_storage::{DiskLog, Log, LogConfig, LogDir, TopicPartition};

use crate::{NOW_MS, batch};

const KEYS: u64 = 3_000_000;
const RECORDS_A_BATCH: u64 = 50;
const VALUE_BYTES: usize = 330;
const APPENDS_ALONE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_micros(500);

pub(crate) fn run() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    directory.load(1, NOW_MS, &|_| LogConfig::default()).unwrap();
    let config = LogConfig {
        is_compacted: true,
        deletes: false,
        segment_bytes: 256 << 20,
        min_cleanable_dirty_ratio: 0.0,
        ..LogConfig::default()
    };
    let log = make(&directory, "compacted", config);
    fill(&log);
    let beside = make(&directory, "beside", LogConfig::default());

    let done = AtomicBool::new(false);
    let alone = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(APPENDS_ALONE);
            done.store(true, Ordering::Relaxed);
        });
        appends(&beside, &done)
    });
    done.store(false, Ordering::Relaxed);
    let before = resident_bytes();
    let (meanwhile, most, took) = std::thread::scope(|scope| {
        let cleaning = scope.spawn(|| {
            let outcome = compact(&log);
            done.store(true, Ordering::Relaxed);
            outcome
        });
        let meanwhile = appends(&beside, &done);
        let (most, took) = cleaning.join().unwrap();
        (meanwhile, most, took)
    });
    let limit = CleanerLimits::default().dedupe_buffer_bytes;
    println!(
        "compact {} MiB with {KEYS} keys: {:.1} s, {} MiB more memory, where log.cleaner.dedupe.buffer.size is {} MiB",
        log_bytes(folder.path()) >> 20,
        took.as_secs_f64(),
        most.saturating_sub(before) >> 20,
        limit >> 20,
    );
    let ratio = meanwhile.as_secs_f64() / alone.as_secs_f64();
    println!("appends beside it: p99 {meanwhile:?}, alone {alone:?}, ratio {ratio:.2}, goal at most 2");
}

fn make(directory: &LogDir, topic: &str, config: LogConfig) -> Arc<DiskLog> {
    let name = TopicPartition { topic: TopicName::new(topic), partition: PartitionIndex::new(0) };
    directory.create_log(&name, Uuid::from_bytes([7; 16]), config, NOW_MS).unwrap()
}

fn fill(log: &DiskLog) {
    let value = [b'v'; VALUE_BYTES];
    for first in (0..KEYS).step_by(usize::try_from(RECORDS_A_BATCH).unwrap()) {
        let mut builder = BatchBuilder::new(Compression::NONE);
        for key in first..first + RECORDS_A_BATCH {
            let key = key.to_be_bytes();
            let (key, value) = (Some(&key[..]), Some(&value[..]));
            builder.append(&NewRecord { timestamp_ms: NOW_MS, key, value, ..NewRecord::default() }).unwrap();
        }
        log.append_as_leader(builder.finish().unwrap(), LeaderEpoch::new(0), NOW_MS).unwrap();
    }
    log.roll(NOW_MS).unwrap();
    log.flush_up_to(log.positions().log_end.offset, NOW_MS).unwrap();
}

/// Compacts in one round; the most memory that was seen, and how long it took.
fn compact(log: &Arc<DiskLog>) -> (u64, Duration) {
    let started = Instant::now();
    let end = log.positions().log_end.offset;
    let plan = log.plan_cleaning(end, None, NOW_MS).unwrap();
    let cleaner = Cleaner::new(CleanerLimits::default()).unwrap();
    let mut cleaning = cleaner.begin(log, &plan, NOW_MS, 1).unwrap();
    let mut most = 0;
    loop {
        let step = cleaning.step().unwrap();
        most = most.max(resident_bytes());
        if let Step::Done(report) = step {
            assert_eq!(report.records_after, KEYS);
            report.removed.into_iter().for_each(|files| files.delete().unwrap());
            return (most, started.elapsed());
        }
    }
}

/// Appends with a pause between, until told; the 99th percentile of how long one took.
fn appends(log: &DiskLog, done: &AtomicBool) -> Duration {
    let bytes = batch(16 << 10, 1024);
    let mut took = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let checked = CheckedBatch::from_leader(&bytes).unwrap();
        let started = Instant::now();
        log.append_as_leader(checked, LeaderEpoch::new(0), NOW_MS).unwrap();
        took.push(started.elapsed());
        std::thread::sleep(PAUSE);
    }
    took.sort_unstable();
    took[took.len() * 99 / 100]
}

fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    // Mapped files count as memory of the page cache, not of ours.
    let number = |at: usize| text.split(' ').nth(at).unwrap().parse::<u64>().unwrap();
    (number(1) - number(2)) * PAGE_BYTES
}

fn log_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder.join("compacted-0")).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}
