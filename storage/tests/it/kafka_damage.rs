//! One partition for each kind of damage, on three kinds of start: each ends in the state that Kafka ended in, with Kafka's
//! bytes in its files, except where Kafka lost sound records, did not start, or left an index wrong. Each exception stands
//! here, and its kind in docs/format.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ottla_model::batch::RecordBatch;
use ottla_storage::conformance::committed_offsets;
use ottla_storage::{DiskLog, LoadedLog, Log, LogDir, ReadOutcome, ReadRequest};
use serde_json::Value;

use crate::archive::{AFTER_KAFKA_MS, KafkaSet, checksums, configs, expected_checksums};
use crate::kafka_sets::{answer, expected};
use crate::support::{bytes_of, request};

/// A kind of start: the expectation, and the files that are removed before.
type Start = (&'static str, &'static [&'static str]);

const STARTS: [Start; 3] = [
    ("clean", &[]),
    ("unclean", &[".kafka_cleanshutdown"]),
    ("unclean-rp0", &[".kafka_cleanshutdown", "recovery-point-offset-checkpoint"]),
];

const ALL: &[&str] = &["clean", "unclean", "unclean-rp0"];

/// Where a log ends otherwise than Kafka's: partition, starts, log end, readable records.
const OTHER_ENDS: &[(&str, &[&str], i64, usize)] = &[
    // Offsets that go back: Kafka empties the segment, ends, or finds the log's end too low. Here the batch is cut off.
    ("d.appended-below-base-0", ALL, 101, 100),
    ("d.appended-duplicate-0", &["unclean", "unclean-rp0"], 101, 100),
    ("d.appended-lower-offset-0", ALL, 101, 100),
    // Kafka does not start. Here the epochs are taken from the batches.
    ("d.epochs-count-wrong-0", ALL, 101, 100),
    ("d.epochs-garbage-0", ALL, 101, 100),
    ("d.epochs-version-one-0", ALL, 101, 100),
    // A marker of a clean stop that lied: Kafka does not start, or the log's end falls back over sound records.
    ("d.garbage-tail-0", &["clean"], 101, 100),
    ("d.prealloc-untrimmed-0", &["clean"], 101, 100),
    ("d.zero-tail-0", &["clean"], 101, 100),
    ("d.index-beyond-log-active-0", &["clean"], 101, 100),
    ("d.truncated-header-0", &["clean"], 97, 96),
    ("d.truncated-tail-0", &["clean"], 97, 96),
    // Kafka does not look at the magic; its consumers stay there.
    ("d.flip-sealed-magic-0", &["unclean-rp0"], 37, 37),
    // Kafka's broker sets the folder aside, as ours does. As a log it is whole.
    ("d.only-log-files-0", ALL, 101, 100),
    ("d.partition-metadata-missing-0", ALL, 101, 100),
    // The number of a file with a short name counts in Kafka, and nobody can read up to there.
    ("d.short-name-0", ALL, 101, 100),
];

/// Where the largest time is right here, and in Kafka as an index has it that is missing, cut or wrong.
const OTHER_TIMES: &[(&str, &[&str])] = &[
    ("d.index-zero-tail-active-0", &["clean"]),
    ("d.no-timeindex-active-0", &["clean"]),
    ("d.timeindex-far-future-sealed-0", &["clean", "unclean"]),
];

/// Where Kafka believes a wrong index of aborted transactions, and shows their records.
const OTHER_COMMITTED: &[(&str, &[&str])] =
    &[("d.txnindex-cut-0", &["clean"]), ("d.txnindex-flip-0", &["clean"])];

/// Files that differ in logs that end as Kafka's: starts, partition, files.
const OTHER_FILES: &[(&[&str], &str, &[&str])] = &[
    // A batch with offsets that were there before is cut off here.
    (&["clean"], "d.appended-duplicate-0", &["00000000000000000058.log"]),
    // Kafka leaves these indexes as they are or makes them empty; here they are made from the batches.
    (&["clean", "unclean"], "d.index-odd-size-sealed-0", &["00000000000000000032.index"]),
    // Kafka goes by a wrong index; here it goes once a wrong entry was met, and the next start makes one.
    (&["clean", "unclean"], "d.index-beyond-log-sealed-0", &["00000000000000000032.index"]),
    (&["clean", "unclean"], "d.truncated-sealed-0", &["00000000000000000032.index"]),
    (
        &["clean"],
        "d.index-zero-tail-active-0",
        &["00000000000000000058.index", "00000000000000000058.timeindex"],
    ),
    (&["clean"], "d.no-timeindex-active-0", &["00000000000000000061.timeindex"]),
    (&["clean", "unclean"], "d.no-timeindex-sealed-0", &["00000000000000000032.timeindex"]),
    (&["clean", "unclean"], "d.timeindex-far-future-sealed-0", &["00000000000000000032.timeindex"]),
    (&["clean", "unclean"], "d.timeindex-not-monotonic-sealed-0", &["00000000000000000032.timeindex"]),
    (&["clean", "unclean"], "d.timeindex-odd-size-sealed-0", &["00000000000000000032.timeindex"]),
    (
        &["clean", "unclean"],
        "d.swap-and-cleaned-0",
        &["00000000000000000000.index", "00000000000000000000.timeindex"],
    ),
    (
        &["clean", "unclean"],
        "d.swap-merged-0",
        &["00000000000000000000.index", "00000000000000000000.timeindex"],
    ),
    (&["clean"], "d.txnindex-cut-0", &["00000000000000000061.txnindex"]),
    (&["clean"], "d.txnindex-flip-0", &["00000000000000000058.txnindex"]),
    // Snapshots of no producer, which say nothing.
    (&["clean"], "d.log-start-beyond-end-0", &["00000000000000000121.snapshot"]),
    (&["clean"], "d.no-snapshots-0", &["00000000000000000032.snapshot", "00000000000000000065.snapshot"]),
    // Where segments are missing, Kafka believes the snapshot after them, and forgets old producers in it; here the
    // producers are those of the batches.
    (
        &["unclean-rp0"],
        "d.first-segment-missing-0",
        &["00000000000000000058.snapshot", "00000000000000000058.txnindex"],
    ),
    (&["unclean-rp0"], "d.log-missing-index-left-0", &["00000000000000000058.snapshot"]),
    (&["unclean-rp0"], "d.middle-segment-missing-0", &["00000000000000000065.snapshot"]),
    // An aborted transaction that began below the log start: Kafka forgets that it was aborted.
    (&["unclean-rp0"], "d.log-start-later-segment-0", &["00000000000000000058.txnindex"]),
];

/// All records that a consumer reads, or why it cannot go on.
fn readable(log: &DiskLog) -> Result<Vec<(i64, i64)>, String> {
    let start = log.positions().log_start;
    let mut next = start;
    let mut found = Vec::new();
    loop {
        let read = log.read(&ReadRequest { from: next, ..request(0) });
        let ReadOutcome::Found(slice) = read.map_err(|error| error.to_string())? else { return Ok(found) };
        let mut bytes = bytes_of(&slice);
        while let Some(batch) = RecordBatch::split_first(&mut bytes).map_err(|error| error.to_string())? {
            batch.verify_crc().map_err(|error| error.to_string())?;
            next = batch.header().next_offset();
            if !batch.header().is_control() {
                let records = batch.records(1 << 20).map_err(|error| error.to_string())?;
                let records = records.iter().map(Result::unwrap).filter(|record| record.offset >= start);
                found.extend(records.map(|record| (record.offset.get(), record.timestamp_ms)));
            }
        }
    }
}

fn ranges(offsets: &[i64]) -> Value {
    let mut ranges: Vec<[i64; 2]> = Vec::new();
    for offset in offsets {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == *offset => *last = *offset,
            _ => ranges.push([*offset, *offset]),
        }
    }
    serde_json::to_value(ranges).unwrap()
}

fn is_listed(table: &[(&str, &[&str])], name: &str, start: &str) -> bool {
    table.iter().any(|(partition, starts)| *partition == name && starts.contains(&start))
}

/// A partition after a start, beside what Kafka made of it.
struct Case<'a> {
    start: &'a str,
    name: String,
    loaded: &'a LoadedLog,
    kafka: &'a Value,
}

impl Case<'_> {
    fn check(&self, after_recovery: &Value) {
        let (start, name) = (self.start, &self.name);
        let positions = self.loaded.log.positions();
        let end = positions.log_end.offset.get();
        let found = readable(&self.loaded.log);
        let other =
            OTHER_ENDS.iter().find(|(partition, starts, ..)| partition == name && starts.contains(&start));
        if let Some((_, _, other_end, records)) = other {
            let is_kafkas = self.kafka["latest"] == end && self.kafka["records_read"] == *records;
            assert!(!is_kafkas, "{start}: {name} ends as Kafka's");
            assert_eq!((end, found.unwrap().len()), (*other_end, *records), "{start}: {name}");
            return;
        }
        assert_eq!(positions.log_start.get(), self.kafka["earliest"], "{start}: {name}");
        assert_eq!(end, self.kafka["latest"], "{start}: {name}");
        if !self.kafka["read_error"].is_null() {
            assert!(found.is_err(), "{start}: {name} is read, which Kafka cannot: {found:?}");
            return;
        }
        let found = found.unwrap();
        assert_eq!(found.len(), self.kafka["records_read"], "{start}: {name}");
        self.check_times(&found);
        let committed = ranges(&committed_offsets(&*self.loaded.log, positions.log_end.offset, 1 << 20));
        let is_other = is_listed(OTHER_COMMITTED, name, start);
        let right = if is_other { after_recovery } else { self.kafka };
        assert_eq!(committed, right["committed_offset_ranges"], "{start}: {name}");
        assert!(
            !is_other || committed != self.kafka["committed_offset_ranges"],
            "{start}: {name} is as Kafka's"
        );
    }

    fn check_times(&self, records: &[(i64, i64)]) {
        let found = answer(self.loaded.log.offset_of_max_timestamp().unwrap());
        let kafkas = expected(&self.kafka["max_timestamp"]);
        if is_listed(OTHER_TIMES, &self.name, self.start) {
            assert_ne!(found, kafkas, "{}: {}", self.start, self.name);
            // A marker may have the largest time; no consumer sees it.
            let largest = records.iter().map(|(_, time)| *time).max();
            assert!(Some(found.1) >= largest, "{}: {} {found:?}", self.start, self.name);
        } else {
            assert_eq!(found, kafkas, "{}: {}", self.start, self.name);
        }
    }
}

/// The files of a folder by their checksums, but for those that only wait for their deletion and empty ones that say
/// as much as none.
fn comparable(files: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_empty = |name: &str, crc: &str| name.ends_with(".txnindex") && crc == "00000000";
    files.into_iter().filter(|(name, crc)| !name.ends_with(".deleted") && !is_empty(name, crc)).collect()
}

fn differing(set: &KafkaSet, name: &str, kafka: &Value) -> BTreeSet<String> {
    let found = comparable(checksums(&set.data().join(name)));
    let expected = comparable(expected_checksums(kafka));
    let names: BTreeSet<_> = found.keys().chain(expected.keys()).cloned().collect();
    names.into_iter().filter(|name| found.get(name) != expected.get(name)).collect()
}

fn is_compared(name: &str) -> bool {
    name.starts_with("d.") && !name.ends_with("-stray") && !name.starts_with("d.directory-")
}

#[test]
fn every_kind_of_damage_ends_as_in_kafka_or_with_more_records() {
    let after_recovery = KafkaSet::unpack("damaged").json("expect/unclean-rp0.json");
    let mut others = Vec::new();
    for (start, removed) in STARTS {
        let set = KafkaSet::unpack("damaged");
        for name in removed {
            fs::remove_file(set.data().join(name)).unwrap();
        }
        let about = set.json(&format!("expect/{start}.json"));
        let directory = LogDir::open(&set.data()).unwrap();
        let report = directory.load(2, AFTER_KAFKA_MS, &configs(about.clone())).unwrap();
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        let mut checked = 0;
        for loaded in &report.logs {
            let name = loaded.partition.to_string();
            if is_compared(&name) {
                let kafka = &about["partitions"][&name];
                let case = Case { start, name: name.clone(), loaded, kafka };
                case.check(&after_recovery["partitions"][&name]);
                checked += 1;
            }
            // What Kafka's retention did at once.
            drop(loaded.log.remove_segments(loaded.log.positions().log_start).unwrap());
        }
        assert_eq!(checked, 74, "{start}");
        drop(report);
        directory.close(9, AFTER_KAFKA_MS).unwrap();
        others.extend(other_files(start, &set, &about));
    }
    assert!(others.is_empty(), "{others:#?}");
}

/// The partitions of which other files differ from Kafka's than may.
fn other_files(start: &str, set: &KafkaSet, about: &Value) -> Vec<String> {
    let mut others = Vec::new();
    let mut compared = 0;
    for (name, kafka) in about["partitions"].as_object().unwrap().iter().filter(|(name, _)| is_compared(name))
    {
        let ends_elsewhere =
            |other: &&(&str, &[&str], i64, usize)| other.0 == name && other.1.contains(&start);
        if OTHER_ENDS.iter().any(|other| ends_elsewhere(&other)) {
            continue;
        }
        let other =
            OTHER_FILES.iter().find(|(starts, partition, _)| partition == name && starts.contains(&start));
        let allowed: BTreeSet<String> =
            other.into_iter().flat_map(|(_, _, files)| *files).map(|file| (*file).to_owned()).collect();
        let found = differing(set, name, kafka);
        if found != allowed {
            others.push(format!("{start}: {name}: {found:?} where {allowed:?} may"));
        }
        compared += 1;
    }
    assert!(compared > 55, "{compared} partitions after {start}");
    others
}

/// Does to a directory what a case says.
fn edit(set: &KafkaSet, edit: &Value) {
    use base64::Engine as _;
    let path = set.data().join(edit["path"].as_str().unwrap());
    match edit["op"].as_str().unwrap() {
        "delete" => fs::remove_file(path).unwrap(),
        "mkdir" => fs::create_dir(path).unwrap(),
        "copy_dir" => crate::support::copy_folder(&set.data().join(edit["source"].as_str().unwrap()), &path),
        "write" => {
            let text = edit["base64"].as_str().unwrap();
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap();
        }
        other => panic!("no edit {other}"),
    }
}

/// Cases whose edits concern logs. Who a directory belongs to is its owner's to judge.
fn concerns_logs(case: &Value) -> bool {
    let edits = case["edits"].as_array().unwrap();
    let known = ["delete", "mkdir", "copy_dir", "write"];
    edits
        .iter()
        .all(|edit| known.contains(&edit["op"].as_str().unwrap()) && edit["path"] != "meta.properties")
}

#[test]
fn a_directory_with_a_bad_file_serves_its_logs_or_says_which_file_is_bad() {
    let cases = KafkaSet::unpack("whole").json("cases.json");
    let mut refused = BTreeSet::new();
    let mut tried = 0;
    for case in cases.as_array().unwrap().iter().filter(|case| concerns_logs(case)) {
        let name = case["case"].as_str().unwrap();
        let set = KafkaSet::unpack("whole");
        for change in case["edits"].as_array().unwrap() {
            edit(&set, change);
        }
        tried += 1;
        let directory = LogDir::open(&set.data()).unwrap();
        let report = match directory.load(2, AFTER_KAFKA_MS, &|_| ottla_storage::LogConfig::default()) {
            Ok(report) => report,
            Err(error) => {
                assert_eq!(case["started"], false, "{name}: Kafka started, here {error}");
                assert!(error.to_string().contains("checkpoint"), "{name}: {error}");
                refused.insert(name.to_owned());
                continue;
            }
        };
        for partition in ["w.one-0", "w.two-0"] {
            if let Some((_, error)) = report.failed.iter().find(|(failed, _)| failed == partition) {
                assert_eq!(case["started"], false, "{name}: Kafka started, here {error}");
                assert!(error.to_string().contains("partition.metadata"), "{name}: {error}");
                refused.insert(format!("{name}: {partition}"));
                continue;
            }
            let loaded = report.logs.iter().find(|loaded| loaded.partition.to_string() == partition).unwrap();
            assert_eq!(readable(&loaded.log).unwrap().len(), 100, "{name}: {partition}");
            assert_eq!(loaded.log.positions().log_end.offset.get(), 101, "{name}: {partition}");
        }
    }
    assert_eq!(tried, 23);
    let refused: Vec<_> = refused.iter().map(String::as_str).collect();
    let expected = [
        "high-watermark-garbage",
        "log-start-garbage",
        "partition-metadata-empty: w.one-0",
        "partition-metadata-garbage: w.one-0",
        "recovery-point-garbage",
        "recovery-point-short",
    ];
    assert_eq!(refused, expected);
}
