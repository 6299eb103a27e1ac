//! What readers of committed records see: in every directory that Apache Kafka wrote it is what Kafka's own consumer saw,
//! and it stays so over every kind of stop.

use std::fs;
use std::path::Path;

use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{Offset, ProducerEpoch, ProducerId};
use ottla_storage::conformance::committed_offsets;
use ottla_storage::io::sim::{Fault, SimDisk};
use ottla_storage::{DiskLog, LoadReport, Log, LogConfig, LogDir, LogError, LogOpening, Recovery};
use serde_json::{Value, json};

use crate::archive::{AFTER_KAFKA_MS, KafkaSet, configs};
use crate::support::{EPOCH, NOW_MS, TestLog};

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

/// One producer's side of the twin.
#[derive(Default)]
struct Twin {
    epoch: i16,
    sequence: i32,
    open: Vec<usize>,
}

#[test]
fn transactions_outlive_every_kind_of_stop() {
    for seed in 0..6 {
        let config = LogConfig { segment_bytes: 1500, index_interval_bytes: 150, ..LogConfig::default() };
        let mut test = TestLog::new(config);
        let mut dice = Dice(seed);
        let mut shown: Vec<bool> = Vec::new();
        let mut producers: [Twin; 4] = Default::default();
        let mut stops = 0;
        while stops < 12 {
            let id = dice.below(4);
            let producer = &mut producers[id];
            match dice.below(12) {
                0 => {
                    let durable = dice.below(shown.len() + 1);
                    let durable = test.log.flush_up_to(offset(durable), NOW_MS).unwrap().get();
                    test = if dice.below(2) == 0 { test.stopped() } else { test.killed(durable).0 };
                    stops += 1;
                    check_twin(&test, &shown, &producers, seed);
                }
                1..4 => {
                    let committed = dice.below(2) == 0;
                    producer.epoch += 1;
                    producer.sequence = 0;
                    test.append(marker(id, producer.epoch, committed));
                    shown.push(false);
                    for offset in producer.open.drain(..) {
                        shown[offset] = committed;
                    }
                }
                _ => {
                    let records = 1 + dice.below(3);
                    test.append(in_transaction(id, producer.epoch, producer.sequence, records));
                    producer.sequence += i32::try_from(records).unwrap();
                    producer.open.extend(shown.len()..shown.len() + records);
                    shown.resize(shown.len() + records, false);
                }
            }
        }
    }
}

fn check_twin(test: &TestLog, shown: &[bool], producers: &[Twin], seed: usize) {
    let end = offset(shown.len());
    assert_eq!(test.log.positions().log_end.offset, end, "seed {seed}");
    let first_open = producers.iter().filter_map(|producer| producer.open.first()).min().copied();
    assert_eq!(test.log.first_undecided(end), first_open.map(offset), "seed {seed}");
    let stable = first_open.unwrap_or(shown.len());
    let committed: Vec<_> = (0..stable).filter(|at| shown[*at]).map(|at| offset(at).get()).collect();
    assert_eq!(committed_offsets(&test.log, end, 700), committed, "seed {seed}");
    for (id, producer) in producers.iter().enumerate() {
        let known = test.log.producer(ProducerId::new(i64::try_from(id).unwrap()));
        let start = known.and_then(|known| known.transaction_start);
        assert_eq!(start, producer.open.first().map(|first| offset(*first)), "seed {seed}");
    }
}

#[test]
fn a_marker_that_cannot_be_listed_or_written_ends_nothing_and_can_be_sent_again() {
    for failing in 0..2 {
        let disk = SimDisk::new();
        let (log, _) = open_on(&disk);
        log.append_as_leader(in_transaction(1, 0, 0, 2), EPOCH, NOW_MS).unwrap();
        // The list's file is made and written, then the log.
        disk.plan(disk.calls() + 1 + failing, Fault::Error(28));
        let refused = log.append_as_leader(marker(1, 0, false), EPOCH, NOW_MS).unwrap_err();
        assert!(matches!(refused, LogError::Io { .. }), "{refused}");
        assert_eq!(log.first_undecided(offset(2)), Some(offset(0)));
        assert_eq!(log.aborted_transactions(offset(0), offset(9)).unwrap(), []);
        log.append_as_leader(in_transaction(2, 0, 0, 1), EPOCH, NOW_MS).unwrap();
        log.append_as_leader(marker(1, 0, false), EPOCH, NOW_MS).unwrap();
        let listed = log.aborted_transactions(offset(0), offset(9)).unwrap();
        let entry = listed.first().unwrap();
        assert_eq!((listed.len(), entry.last_offset, entry.last_stable), (1, offset(3), offset(2)));
        log.append_as_leader(marker(2, 0, true), EPOCH, NOW_MS).unwrap();
        log.close(NOW_MS).unwrap();
        drop(log);
        let (log, recovery) = open_on(&disk);
        assert_eq!(recovery.cut, None);
        assert_eq!(log.aborted_transactions(offset(0), offset(9)).unwrap(), listed);
    }
}

fn open_on(disk: &SimDisk) -> (DiskLog, Recovery) {
    DiskLog::open(LogOpening {
        directory: disk.root().folder("t-0"),
        config: LogConfig::default(),
        is_clean: false,
        log_start: Offset::ZERO,
        recovery_point: Offset::ZERO,
        now_ms: NOW_MS,
    })
    .unwrap()
}

fn offset(number: usize) -> Offset {
    Offset::new(i64::try_from(number).unwrap())
}

fn in_transaction(producer: usize, epoch: i16, sequence: i32, records: usize) -> CheckedBatch {
    let producer = ProducerId::new(i64::try_from(producer).unwrap());
    let builder =
        BatchBuilder::new(Compression::NONE).with_producer(producer, ProducerEpoch::new(epoch), sequence);
    let mut builder = builder.with_transactional(true);
    for _ in 0..records {
        builder.append(&NewRecord { timestamp_ms: NOW_MS, ..NewRecord::default() }).unwrap();
    }
    builder.finish().unwrap()
}

fn marker(producer: usize, epoch: i16, committed: bool) -> CheckedBatch {
    let marker = EndTxnMarker { committed, coordinator_epoch: 0 };
    let producer = ProducerId::new(i64::try_from(producer).unwrap());
    marker.to_batch(producer, ProducerEpoch::new(epoch), NOW_MS).unwrap()
}

struct Dice(usize);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
