//! Opening 10,000 partitions after a clean stop, beside opening three files of each; with one segment each, and with twenty.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, PartitionIndex, TopicName, Uuid};
use ottla_storage::{Log, LogConfig, LogDir, TopicPartition};

use crate::{NOW_MS, batch, report};

const PARTITIONS: i32 = 10_000;
const PAIRS: usize = 5;

pub(crate) fn run() {
    for segments in [1, 20] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path(), segments);
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            pairs.push((load(folder.path()), open_files(folder.path())));
        }
        let name = format!("start with 10,000 partitions of {segments} segment(s)");
        report(&name, "s of wall time", 1.0, &pairs, "at most 2, and 0.5 s");
    }
}

/// One partition is made by the library, the others are copies of it: ten thousand fsyncs would take minutes.
fn fill(path: &Path, segments: usize) {
    let name = |number: i32| TopicPartition {
        topic: TopicName::new("many"),
        partition: PartitionIndex::new(number),
    };
    let directory = LogDir::open(path).unwrap();
    directory.load(1, NOW_MS, &|_| LogConfig::default()).unwrap();
    let log =
        directory.create_log(&name(0), Uuid::from_bytes([7; 16]), LogConfig::default(), NOW_MS).unwrap();
    for _ in 0..segments {
        log.roll(NOW_MS).unwrap();
        let checked = CheckedBatch::from_leader(&batch(1024, 256)).unwrap();
        log.append_as_leader(checked, LeaderEpoch::new(0), NOW_MS).unwrap();
    }
    directory.close(1, NOW_MS).unwrap();
    let end = log.positions().log_end.offset;
    drop(directory);
    let files: Vec<_> = std::fs::read_dir(path.join("many-0"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
        .collect();
    let mut points = format!("0\n{PARTITIONS}\n");
    for number in 0..PARTITIONS {
        let folder = path.join(name(number).to_string());
        if number > 0 {
            std::fs::create_dir(&folder).unwrap();
            for (file, contents) in &files {
                std::fs::write(folder.join(file), contents).unwrap();
            }
        }
        points.push_str(&format!("many {number} {end}\n"));
    }
    std::fs::write(path.join("recovery-point-offset-checkpoint"), &points).unwrap();
    std::fs::write(path.join("replication-offset-checkpoint"), &points).unwrap();
}

fn load(path: &Path) -> Duration {
    let marker = path.join(".kafka_cleanshutdown");
    if !marker.exists() {
        std::fs::write(&marker, "{\"version\":0,\"brokerEpoch\":1}").unwrap();
    }
    let directory = LogDir::open(path).unwrap();
    let started = Instant::now();
    let report = directory.load(2, NOW_MS, &|_| LogConfig::default()).unwrap();
    let took = started.elapsed();
    assert!(report.clean && report.failed.is_empty());
    assert_eq!(report.logs.len(), usize::try_from(PARTITIONS).unwrap());
    took
}

/// The least that a start can do that opens each partition: its log and both indexes.
fn open_files(path: &Path) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for half in [0, 1] {
            scope.spawn(move || {
                for number in (half..PARTITIONS).step_by(2) {
                    for kind in ["log", "index", "timeindex"] {
                        let file = path.join(format!("many-{number}/00000000000000000000.{kind}"));
                        drop(File::open(file).unwrap());
                    }
                }
            });
        }
    });
    started.elapsed()
}
