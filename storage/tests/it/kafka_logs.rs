//! Files of logs that Apache Kafka wrote: a start and a stop leave them as Kafka's own start and stop do, and a recovery
//! writes Kafka's own bytes into every file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ottla_model::{LeaderEpoch, NodeId, Offset};
use ottla_storage::{LoadReport, Log, LogConfig, LogDir};

use crate::archive::{KafkaSet, configs};
use crate::support::{NOW_MS, content};

/// The directory, changed as the test says.
fn changed(change: impl FnOnce(&Path)) -> KafkaSet {
    let set = KafkaSet::unpack("clean");
    change(&set.data());
    set
}

fn load(set: &KafkaSet) -> (LogDir, LoadReport) {
    let directory = LogDir::open(&set.data()).unwrap();
    let configs = configs(set.json("expect/start.json"));
    // Producers of 2023 are remembered, as they were by the broker that wrote them.
    let config = |partition: &_| LogConfig { producer_id_expiration_ms: i64::MAX, ..configs(partition) };
    let report = directory.load(2, NOW_MS, &config).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(report.logs.len(), 37);
    (directory, report)
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
const DROPPED_BY_A_START: [&str; 6] = [
    "__consumer_offsets-1/00000000000000000012.snapshot",
    "__transaction_state-0/00000000000000000110.snapshot",
    "__transaction_state-1/00000000000000000028.snapshot",
    "epochs-0/00000000000000000021.snapshot",
    "trimmed-1/00000000000000000033.snapshot",
    "trimmed-1/00000000000000000090.snapshot",
];

/// The files are those of the directory as Kafka left it, but for some.
fn assert_same_files(folder: &Path, suffixes: &[&str], but_for: &[&str]) {
    let kafkas = KafkaSet::unpack("clean");
    let (mut found, mut expected) = (files(folder, suffixes), files(&kafkas.data(), suffixes));
    let is_compared = |path: &Path| !but_for.iter().any(|name| path.to_str().unwrap().contains(name));
    let is_dropped = |path: &Path| DROPPED_BY_A_START.iter().any(|name| path.ends_with(name));
    expected.retain(|path, _| is_compared(path) && !is_dropped(path));
    found.retain(|path, _| is_compared(path));
    for path in found.keys() {
        assert!(expected.contains_key(path), "{} is too much", path.display());
    }
    for (path, bytes) in &expected {
        assert_eq!(found.get(path), Some(bytes), "{}", path.display());
    }
    assert!(expected.len() > 20);
}

const ALL: &[&str] = &[".log", ".index", ".timeindex", ".txnindex", ".snapshot"];

#[test]
fn a_clean_start_scans_nothing_and_knows_who_wrote_the_directory() {
    let set = KafkaSet::unpack("clean");
    let (directory, report) = load(&set);
    assert!(report.clean && directory.previous_broker_epoch().is_some());
    assert_eq!(directory.properties().unwrap().unwrap().node_id, NodeId::new(1));
    for loaded in &report.logs {
        assert_eq!(loaded.recovery.scanned_segments, 0);
        assert_eq!(loaded.high_watermark, loaded.log.positions().log_end.offset);
    }
}

#[test]
fn opening_and_closing_a_clean_directory_changes_no_byte_of_a_log() {
    let set = KafkaSet::unpack("clean");
    let (directory, _) = load(&set);
    directory.close(9, NOW_MS).unwrap();
    assert_same_files(&set.data(), ALL, &[]);
    assert_same_files(&set.data(), &[".log", "partition.metadata"], &[]);
    let marker = fs::read_to_string(set.data().join(".kafka_cleanshutdown")).unwrap();
    assert_eq!(marker, "{\"version\":0,\"brokerEpoch\":9}");
    let starts = fs::read_to_string(set.data().join("log-start-offset-checkpoint")).unwrap();
    assert_eq!(starts, "0\n2\ntrimmed 0 37\ntrimmed 1 90\n");
}

#[test]
fn recovery_from_the_first_byte_writes_kafkas_indexes_and_snapshots_byte_for_byte() {
    let set = changed(|folder| {
        fs::remove_file(folder.join(".kafka_cleanshutdown")).unwrap();
        fs::remove_file(folder.join("recovery-point-offset-checkpoint")).unwrap();
        for path in files(folder, &[".index", ".timeindex", ".txnindex", ".snapshot"]).keys() {
            fs::remove_file(folder.join(path)).unwrap();
        }
    });
    let (directory, report) = load(&set);
    assert!(!report.clean);
    for loaded in &report.logs {
        assert_eq!(loaded.recovery.cut, None);
    }
    directory.close(9, NOW_MS).unwrap();
    // Kafka was stopped several times while it wrote these. At each start it counts the bytes since the last index entry
    // from 0, so that who makes the index anew finds more to enter, and it forgets producers whose records are a day old.
    let made_in_several_runs = [
        "__consumer_offsets-",
        "__transaction_state-",
        "epochs-0/00000000000000000000.index",
        "epochs-0/00000000000000000000.timeindex",
        "epochs-0/00000000000000000026.snapshot",
        "-delete/",
        "tx-open-0/00000000000000000012.snapshot",
        "tx-open-1/00000000000000000009.snapshot",
        // A compaction took the aborted records: whoever makes the list anew has none to list.
        "compact.tx-0/00000000000000000000.txnindex",
    ];
    assert_same_files(&set.data(), ALL, &made_in_several_runs);
}

#[test]
fn epochs_are_those_of_the_checkpoint_and_come_back_from_the_batches_without_it() {
    let set = changed(|folder| fs::remove_file(folder.join(".kafka_cleanshutdown")).unwrap());
    let check = |report: &LoadReport| {
        let epochs = report.logs.iter().find(|loaded| loaded.partition.topic.as_str() == "epochs").unwrap();
        assert_eq!(epochs.log.latest_epoch(), Some(LeaderEpoch::new(4)));
        let end =
            |epoch| epochs.log.end_offset_for_epoch(LeaderEpoch::new(epoch)).map(|e| e.end_offset.get());
        let text =
            fs::read_to_string(KafkaSet::unpack("clean").data().join("epochs-0/leader-epoch-checkpoint"))
                .unwrap();
        let starts: Vec<i64> =
            text.lines().skip(2).map(|line| line.split_once(' ').unwrap().1.parse().unwrap()).collect();
        assert_eq!(end(0), Some(starts[1]));
        assert_eq!(end(3), Some(starts[2]));
        assert_eq!(end(4), Some(epochs.log.positions().log_end.offset.get()));
        assert_eq!(epochs.log.epoch_for_offset(Offset::new(starts[1])), Some(LeaderEpoch::new(2)));
    };
    let (directory, report) = load(&set);
    check(&report);
    drop((directory, report));
    fs::remove_file(set.data().join("epochs-0/leader-epoch-checkpoint")).unwrap();
    fs::remove_file(set.data().join("recovery-point-offset-checkpoint")).unwrap();
    check(&load(&set).1);
}
