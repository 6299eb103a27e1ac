//! A log directory that Apache Kafka wrote: it opens, gives exactly the records and offsets that Kafka gave, and comes
//! out of a recovery with Kafka's own bytes in every file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ottla_model::batch::TimestampType;
use ottla_model::{LeaderEpoch, NodeId, Offset};
use ottla_storage::{LoadReport, Log, LogConfig, LogDir, ReadEnd, TopicPartition};
use serde_json::{Value, json};

use crate::support::{NOW_MS, batches, content, copy_folder};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/clean")
}

/// The settings that the topics had when Kafka wrote them.
fn config(partition: &TopicPartition) -> LogConfig {
    let (index_interval_bytes, segment_index_bytes, segment_ms) = match partition.topic.as_str() {
        "append-time" | "tx-span" => (1, 64, None),
        "dis.order_ly" => (100, 4096, Some(4000)),
        "epochs" => (50, 4096, None),
        "compact.keep" => (60, 4096, Some(1000)),
        "tx-mixed" => (100, 4096, None),
        "empty" | "source" | "over_ridden.by-config" => (300, 4096, None),
        _ => (300, 4096, Some(4000)),
    };
    let default = LogConfig::default();
    LogConfig {
        index_interval_bytes,
        segment_index_bytes,
        segment_ms: segment_ms.unwrap_or(default.segment_ms),
        producer_id_expiration_ms: i64::MAX,
        ..default
    }
}

/// A copy of the directory, changed as the test says.
fn copy(change: impl FnOnce(&Path)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&data(), folder.path());
    change(folder.path());
    folder
}

fn load(folder: &Path) -> (LogDir, LoadReport) {
    let directory = LogDir::open(folder).unwrap();
    let report = directory.load(2, NOW_MS, &config).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(report.logs.len(), 18);
    (directory, report)
}

fn truth(partition: &TopicPartition) -> Value {
    let text = fs::read_to_string(data().join(format!("{partition}.truth.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// All records of the log in the form of the truth files; control batches are not shown to consumers.
fn records(log: &dyn Log, max_bytes: u64) -> Vec<Value> {
    let start = log.positions().log_start.get();
    let mut found = Vec::new();
    for batch in batches(log, start, ReadEnd::LogEnd, max_bytes) {
        if batch.header().is_control() {
            continue;
        }
        let records = batch.records(1 << 20).unwrap();
        for record in &records {
            let record = record.unwrap();
            if record.offset.get() < start {
                continue;
            }
            let text = |bytes: Option<&[u8]>| bytes.map(|bytes| STANDARD.encode(bytes));
            let mut value = json!({
                "offset": record.offset.get(),
                "timestamp": record.timestamp_ms,
                "leader_epoch": batch.header().leader_epoch().get(),
                "key": text(record.key),
                "value": text(record.value),
            });
            let headers: Vec<Value> = record
                .headers
                .map(|(key, value)| json!([String::from_utf8(key.to_vec()).unwrap(), text(value)]))
                .collect();
            if batch.header().timestamp_type() == TimestampType::LogAppendTime {
                value["log_append_time"] = Value::from(true);
            }
            if !headers.is_empty() {
                value["headers"] = Value::from(headers);
            }
            found.push(value);
        }
    }
    found
}

fn files(folder: &Path, suffixes: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for partition in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(entries) = fs::read_dir(&partition) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if suffixes.iter().any(|suffix| path.to_str().unwrap().ends_with(suffix)) {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), content(&path));
            }
        }
    }
    found
}

/// Producer snapshots that Kafka, too, drops when it is started: of an earlier stop, or below the log start.
const DROPPED_BY_A_START: [&str; 3] = [
    "epochs-0/00000000000000000021.snapshot",
    "trimmed-1/00000000000000000033.snapshot",
    "trimmed-1/00000000000000000090.snapshot",
];

fn assert_same_files(folder: &Path, suffixes: &[&str], but_for: &[&str]) {
    let (mut found, mut expected) = (files(folder, suffixes), files(&data(), suffixes));
    let is_compared = |path: &Path| !but_for.iter().any(|name| path.ends_with(name));
    expected
        .retain(|path, _| is_compared(path) && !DROPPED_BY_A_START.iter().any(|name| path.ends_with(name)));
    found.retain(|path, _| is_compared(path));
    for path in found.keys() {
        assert!(expected.contains_key(path), "{} is too much", path.display());
    }
    for (path, bytes) in &expected {
        assert_eq!(found.get(path), Some(bytes), "{}", path.display());
    }
    assert!(expected.len() > 20);
}

const ALL: &[&str] = &[".log", ".index", ".timeindex", ".snapshot"];

#[test]
fn a_clean_directory_of_kafkas_serves_exactly_the_records_that_kafka_served() {
    let folder = copy(|_| {});
    let (directory, report) = load(folder.path());
    assert!(report.clean && directory.previous_broker_epoch().is_some());
    assert_eq!(directory.properties().unwrap().unwrap().node_id, NodeId::new(1));
    for loaded in &report.logs {
        let truth = truth(&loaded.partition);
        assert_eq!(loaded.topic_id.unwrap().to_string(), truth["topic_id"]);
        assert_eq!(loaded.recovery.scanned_segments, 0);
        for max_bytes in [1, 700, 1 << 20] {
            let expected = truth["read_uncommitted"].as_array().unwrap();
            assert_eq!(&records(&*loaded.log, max_bytes), expected, "{}", loaded.partition);
        }
    }
}

#[test]
fn offsets_for_times_are_those_that_kafka_answers() {
    let folder = copy(|_| {});
    let (_directory, report) = load(folder.path());
    let mut compared = 0;
    for loaded in &report.logs {
        let truth = truth(&loaded.partition);
        let offsets = &truth["list_offsets"];
        let positions = loaded.log.positions();
        assert_eq!(positions.log_start.get(), offsets["earliest"]["offset"]);
        assert_eq!(positions.log_end.offset.get(), offsets["latest"]["offset"]);
        assert_eq!(loaded.high_watermark, positions.log_end.offset);
        let answer = |found: Option<ottla_storage::TimestampedOffset>| {
            found.map_or((-1, -1, None), |f| {
                (f.offset.get(), f.timestamp_ms, Some(i64::from(f.leader_epoch.get())))
            })
        };
        let expected = |value: &Value| {
            let number = |name: &str| value[name].as_i64();
            (number("offset").unwrap(), number("timestamp").unwrap(), number("leader_epoch"))
        };
        let found = answer(loaded.log.offset_of_max_timestamp().unwrap());
        assert_eq!(found, expected(&offsets["max_timestamp"]), "{}", loaded.partition);
        for (time, value) in offsets["by_timestamp"].as_object().into_iter().flatten() {
            let time: i64 = time.parse().unwrap();
            if time >= 0 {
                let found = answer(loaded.log.offset_for_time(time).unwrap());
                assert_eq!(found, expected(value), "{time} in {}", loaded.partition);
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn opening_and_closing_a_clean_directory_changes_no_byte_of_a_log() {
    let folder = copy(|_| {});
    let (directory, _) = load(folder.path());
    directory.close(9, NOW_MS).unwrap();
    assert_same_files(folder.path(), ALL, &[]);
    assert_same_files(folder.path(), &[".log", ".txnindex", "partition.metadata"], &[]);
    let marker = fs::read_to_string(folder.path().join(".kafka_cleanshutdown")).unwrap();
    assert_eq!(marker, "{\"version\":0,\"brokerEpoch\":9}");
    let starts = fs::read_to_string(folder.path().join("log-start-offset-checkpoint")).unwrap();
    assert_eq!(starts, "0\n2\ntrimmed 0 37\ntrimmed 1 90\n");
}

#[test]
fn recovery_from_the_first_byte_writes_kafkas_indexes_and_snapshots_byte_for_byte() {
    let folder = copy(|folder| {
        fs::remove_file(folder.join(".kafka_cleanshutdown")).unwrap();
        fs::remove_file(folder.join("recovery-point-offset-checkpoint")).unwrap();
        for path in files(folder, &[".index", ".timeindex", ".snapshot"]).keys() {
            fs::remove_file(folder.join(path)).unwrap();
        }
    });
    let (directory, report) = load(folder.path());
    assert!(!report.clean);
    for loaded in &report.logs {
        assert_eq!(loaded.recovery.cut, None);
    }
    directory.close(9, NOW_MS).unwrap();
    // Kafka was stopped twice while it wrote this segment. At each start it counts the bytes since the last index entry
    // from 0, so that who makes the index anew finds more to enter, and it forgets producers whose records are a day old.
    let made_in_several_runs = [
        "epochs-0/00000000000000000000.index",
        "epochs-0/00000000000000000000.timeindex",
        "epochs-0/00000000000000000026.snapshot",
    ];
    assert_same_files(folder.path(), ALL, &made_in_several_runs);
}

#[test]
fn epochs_are_those_of_the_checkpoint_and_come_back_from_the_batches_without_it() {
    let folder = copy(|folder| fs::remove_file(folder.join(".kafka_cleanshutdown")).unwrap());
    let check = |report: &LoadReport| {
        let epochs = report.logs.iter().find(|loaded| loaded.partition.topic.as_str() == "epochs").unwrap();
        assert_eq!(epochs.log.latest_epoch(), Some(LeaderEpoch::new(4)));
        let end =
            |epoch| epochs.log.end_offset_for_epoch(LeaderEpoch::new(epoch)).map(|e| e.end_offset.get());
        let text = fs::read_to_string(data().join("epochs-0/leader-epoch-checkpoint")).unwrap();
        let starts: Vec<i64> =
            text.lines().skip(2).map(|line| line.split_once(' ').unwrap().1.parse().unwrap()).collect();
        assert_eq!(end(0), Some(starts[1]));
        assert_eq!(end(3), Some(starts[2]));
        assert_eq!(end(4), Some(epochs.log.positions().log_end.offset.get()));
        assert_eq!(epochs.log.epoch_for_offset(Offset::new(starts[1])), Some(LeaderEpoch::new(2)));
    };
    let (directory, report) = load(folder.path());
    check(&report);
    drop((directory, report));
    fs::remove_file(folder.path().join("epochs-0/leader-epoch-checkpoint")).unwrap();
    fs::remove_file(folder.path().join("recovery-point-offset-checkpoint")).unwrap();
    check(&load(folder.path()).1);
}
