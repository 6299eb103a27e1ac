//! What readers of committed records see: in every directory that Apache Kafka wrote it is what Kafka's own consumer saw,
//! and the lists of aborted transactions come back byte for byte.

use std::fs;
use std::path::Path;

use ottla_model::Offset;
use ottla_storage::conformance::committed_offsets;
use ottla_storage::{LoadReport, Log, LogConfig, LogDir};
use serde_json::{Value, json};

use crate::archive::{AFTER_KAFKA_MS, KafkaSet, configs};

fn load(set: &KafkaSet) -> (LogDir, LoadReport) {
    let directory = LogDir::open(&set.data()).unwrap();
    let configs = configs(set.json("expect/start.json"));
    let config = |partition: &_| LogConfig { producer_id_expiration_ms: i64::MAX, ..configs(partition) };
    let report = directory.load(2, AFTER_KAFKA_MS, &config).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    (directory, report)
}

/// Runs of consecutive offsets, inclusive, as the truth files have them.
fn ranges(offsets: &[i64]) -> Vec<Value> {
    offsets
        .chunk_by(|before, after| before + 1 == *after)
        .map(|run| json!([run.first().unwrap(), run.last().unwrap()]))
        .collect()
}

/// Compares every partition with the truth; says how many there were with hidden records.
fn check(set: &KafkaSet) -> usize {
    let (_directory, report) = load(set);
    let truths = set.truths("expect/truth");
    let mut with_hidden = 0;
    for (name, truth) in &truths {
        let loaded = report.logs.iter().find(|loaded| loaded.partition.to_string() == *name).unwrap();
        let end = loaded.log.positions().log_end.offset;
        let stable = loaded.log.first_undecided(end).unwrap_or(end).get();
        assert_eq!(truth["list_offsets"]["latest_read_committed"]["offset"], stable, "{name}");
        let expected = truth["read_committed_offset_ranges"].as_array().unwrap();
        for max_bytes in [1, 300, 1 << 20] {
            let found = committed_offsets(&*loaded.log, end, max_bytes);
            assert_eq!(&ranges(&found), expected, "{name} in reads of {max_bytes} bytes");
            with_hidden += usize::from(found.len() < truth["read_uncommitted"].as_array().unwrap().len());
        }
    }
    assert!(truths.len() > 5);
    with_hidden / 3
}

fn remove(folder: &Path, suffixes: &[&str]) -> usize {
    let mut removed = 0;
    for partition in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(entries) = fs::read_dir(&partition) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if suffixes.iter().any(|suffix| path.to_str().unwrap().ends_with(suffix)) {
                fs::remove_file(path).unwrap();
                removed += 1;
            }
        }
    }
    removed
}

#[test]
fn committed_records_and_last_stable_offsets_are_those_of_kafkas_consumer() {
    for (name, with_hidden) in [("clean", 6), ("v39", 1), ("killed", 1)] {
        assert_eq!(check(&KafkaSet::unpack(name)), with_hidden, "{name}");
    }
}

#[test]
fn the_same_is_seen_after_a_recovery_that_makes_every_list_anew() {
    let set = KafkaSet::unpack("clean");
    fs::remove_file(set.data().join(".kafka_cleanshutdown")).unwrap();
    fs::remove_file(set.data().join("recovery-point-offset-checkpoint")).unwrap();
    assert!(remove(&set.data(), &[".txnindex", ".snapshot", ".index", ".timeindex"]) > 100);
    assert_eq!(check(&set), 6);
}

#[test]
fn the_same_is_seen_after_a_clean_start_that_misses_the_indexes() {
    let set = KafkaSet::unpack("clean");
    assert!(remove(&set.data(), &[".txnindex", ".index"]) > 40);
    assert_eq!(check(&set), 6);
}

#[test]
fn the_producers_of_open_transactions_are_known_with_where_they_began() {
    let set = KafkaSet::unpack("clean");
    let (_directory, report) = load(&set);
    let truths = set.truths("expect/truth");
    for name in ["tx-open-0", "tx-open-1"] {
        let log = &report.logs.iter().find(|loaded| loaded.partition.to_string() == name).unwrap().log;
        let starts: Vec<_> = log.producers().iter().filter_map(|info| info.transaction_start).collect();
        let stable = &truths[name]["list_offsets"]["latest_read_committed"]["offset"];
        assert_eq!(starts.iter().min().map(|start| start.get()), stable.as_i64());
        for info in log.producers() {
            assert_eq!(log.producer(info.producer_id), Some(info));
        }
        assert_eq!(log.first_undecided(Offset::ZERO), starts.iter().min().copied());
    }
}
