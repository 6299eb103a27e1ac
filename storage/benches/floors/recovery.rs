//! Recovery of four partitions that were never flushed, on one core and on two, beside reading the same files by `pread` and
//! taking a checksum.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, PartitionIndex, TopicName, Uuid};
use ottla_storage::{Log, LogConfig, LogDir, TopicPartition};

use crate::{NOW_MS, batch, report};

const PARTITIONS: i32 = 4;
const BYTES_EACH: usize = 256 << 20;
const WINDOW_BYTES: usize = 1 << 20;
const PAIRS: usize = 5;

pub(crate) fn run() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    for threads in [1, 2] {
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            pairs.push((recover(folder.path(), threads), read(folder.path(), threads)));
        }
        let gigabytes = (usize::try_from(PARTITIONS).unwrap() * BYTES_EACH) as f64 / 1e9;
        let name = format!("recover from the page cache, {threads} thread(s)");
        report(&name, "s/GB of wall time", gigabytes, &pairs, "at most 1.11 (0.9 of the floor's rate)");
    }
}

fn fill(path: &Path) {
    let directory = LogDir::open(path).unwrap();
    directory.load(1, NOW_MS, &|_| LogConfig::default()).unwrap();
    let bytes = batch(64 << 10, 1024);
    for number in 0..PARTITIONS {
        let partition =
            TopicPartition { topic: TopicName::new("recovered"), partition: PartitionIndex::new(number) };
        let log = directory
            .create_log(&partition, Uuid::from_bytes([7; 16]), LogConfig::default(), NOW_MS)
            .unwrap();
        for _ in 0..BYTES_EACH / bytes.len() {
            let checked = CheckedBatch::from_leader(&bytes).unwrap();
            log.append_as_leader(checked, LeaderEpoch::new(0), NOW_MS).unwrap();
        }
    }
    directory.checkpoint().unwrap();
}

fn recover(path: &Path, threads: usize) -> Duration {
    let directory = LogDir::open(path).unwrap();
    let started = Instant::now();
    let report = directory.load(threads, NOW_MS, &|_| LogConfig::default()).unwrap();
    let took = started.elapsed();
    assert!(!report.clean && report.failed.is_empty());
    took
}

fn read(path: &Path, threads: usize) -> Duration {
    let mut logs: Vec<PathBuf> = Vec::new();
    for number in 0..PARTITIONS {
        logs.push(path.join(format!("recovered-{number}/00000000000000000000.log")));
    }
    let started = Instant::now();
    std::thread::scope(|scope| {
        for share in logs.chunks(logs.len() / threads) {
            scope.spawn(move || share.iter().for_each(|path| read_one(path)));
        }
    });
    started.elapsed()
}

fn read_one(path: &Path) {
    let file = File::open(path).unwrap();
    let mut window = vec![0; WINDOW_BYTES];
    let mut position = 0;
    loop {
        let count = file.read_at(&mut window, position).unwrap();
        if count == 0 {
            return;
        }
        assert_ne!(ottla_model::crc32c::checksum(&window[..count]), 0);
        position += count as u64;
    }
}
