//! Opening 10,000 partitions after a clean stop, beside opening three files of each; with one segment each, and with twenty.
//! And the same where every log has to be opened, as after a stop of Apache Kafka's.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, PartitionIndex, TopicName, Uuid};
use ottla_storage::{Log, LogConfig, LogDir, TopicPartition};

use crate::{NOW_MS, batch, report};

const PARTITIONS: i32 = 10_000;
const PAIRS: usize = 7;
const OPENED_PAIRS: usize = 3;

/// What only Ottla leaves at a clean stop.
const MEMORY: &str = ".ottla-clean-stop";

pub(crate) fn run() {
    for segments in [1, 20] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path(), segments);
        let mut opened = Vec::new();
        let mut remembered = Vec::new();
        for number in 0..OPENED_PAIRS {
            let (took, directory) = load(folder.path());
            opened.push((took, open_files(folder.path())));
            if number + 1 == OPENED_PAIRS {
                directory.close(1, NOW_MS).unwrap();
            } else {
                leave_marker(folder.path());
            }
        }
        for _ in 0..PAIRS {
            let (took, directory) = load(folder.path());
            directory.close(1, NOW_MS).unwrap();
            remembered.push((took, open_files(folder.path())));
        }
        let name = format!("start with 10,000 partitions of {segments} segment(s)");
        report(&name, "s of wall time", 1.0, &remembered, "at most 2, and 0.5 s");
        report(&format!("{name}, all opened"), "s of wall time", 1.0, &opened, "none");
    }
}

/// One partition is made by the library, the others are copies of it: to make ten thousand takes minutes.
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
    std::fs::remove_file(path.join(MEMORY)).unwrap();
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

fn leave_marker(path: &Path) {
    std::fs::write(path.join(".kafka_cleanshutdown"), "{\"version\":0,\"brokerEpoch\":1}").unwrap();
}

fn load(path: &Path) -> (Duration, LogDir) {
    let directory = LogDir::open(path).unwrap();
    let started = Instant::now();
    let report = directory.load(2, NOW_MS, &|_| LogConfig::default()).unwrap();
    let took = started.elapsed();
    assert!(report.clean && report.failed.is_empty());
    assert_eq!(report.logs.len(), usize::try_from(PARTITIONS).unwrap());
    (took, directory)
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
