//! Every directory that Apache Kafka wrote: each partition gives exactly the records, epochs and offsets that Kafka's own
//! consumer and admin client got from it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ottla_model::batch::{LegacyBatch, LegacyRecord, RecordBatch, RecordView, TimestampType};
use ottla_storage::{LoadReport, LoadedLog, Log, LogDir, TimestampedOffset};
use serde_json::{Value, json};

use crate::archive::{
    AFTER_KAFKA_MS, KafkaSet, checksums, configs, expected_checksums, expected_sizes, found_sizes,
};
use crate::old_formats::{Stored, stored};

/// The directories, with the number of their partitions.
const SETS: [(&str, usize); 4] = [("clean", 37), ("killed", 9), ("v39", 17), ("v0v1", 17)];

fn load(set: &KafkaSet) -> (LogDir, LoadReport) {
    let directory = LogDir::open(&set.data()).unwrap();
    let report = directory.load(2, AFTER_KAFKA_MS, &configs(set.json("expect/start.json"))).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    (directory, report)
}

fn text(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| STANDARD.encode(bytes))
}

/// All records of the log in the form of the truth files; control batches are not shown to consumers.
pub(crate) fn records(log: &dyn Log, max_bytes: u64) -> Vec<Value> {
    let start = log.positions().log_start.get();
    let mut found = Vec::new();
    for entry in stored(log, max_bytes) {
        match entry {
            Stored::Batch(batch) if batch.header().is_control() => {}
            Stored::Batch(batch) => found.extend(batch_records(&batch)),
            Stored::Message(message) => found.extend(message_records(&message)),
        }
    }
    found.retain(|record| record["offset"].as_i64() >= Some(start));
    found
}

fn batch_records(batch: &RecordBatch) -> Vec<Value> {
    let in_truth = |record: RecordView<'_>| {
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
        value
    };
    batch.records(1 << 20).unwrap().iter().map(|record| in_truth(record.unwrap())).collect()
}

fn message_records(message: &LegacyBatch) -> Vec<Value> {
    let in_truth = |record: LegacyRecord| {
        let mut value = json!({
            "offset": record.offset.get(),
            "timestamp": record.timestamp_ms,
            "leader_epoch": -1,
            "key": text(record.key.as_deref()),
            "value": text(record.value.as_deref()),
        });
        if message.timestamp_type() == Some(TimestampType::LogAppendTime) {
            value["log_append_time"] = Value::from(true);
        }
        value
    };
    message.records(1 << 20).unwrap().into_iter().map(in_truth).collect()
}

/// An offset with its time and epoch as ListOffsets answers it.
pub(crate) fn answer(found: Option<TimestampedOffset>) -> (i64, i64, Option<i64>) {
    found.map_or((-1, -1, None), |found| {
        let epoch = i64::from(found.leader_epoch.get());
        (found.offset.get(), found.timestamp_ms, Some(epoch).filter(|epoch| *epoch >= 0))
    })
}

/// The same as an expectation has it.
pub(crate) fn expected(value: &Value) -> (i64, i64, Option<i64>) {
    let number = |name: &str| value[name].as_i64();
    (number("offset").unwrap(), number("timestamp").unwrap(), number("leader_epoch"))
}

fn check_records(set: &str, loaded: &LoadedLog, truth: &Value) {
    for max_bytes in [1, 700, 1 << 20] {
        let found = records(&*loaded.log, max_bytes);
        assert_eq!(&found, truth["read_uncommitted"].as_array().unwrap(), "{set}: {}", loaded.partition);
    }
}

fn check_offsets(set: &str, loaded: &LoadedLog, truth: &Value) -> usize {
    let offsets = &truth["list_offsets"];
    let positions = loaded.log.positions();
    let name = format!("{set}: {}", loaded.partition);
    assert_eq!(positions.log_start.get(), offsets["earliest"]["offset"], "{name}");
    assert_eq!(positions.log_end.offset.get(), offsets["latest"]["offset"], "{name}");
    let found = answer(loaded.log.offset_of_max_timestamp().unwrap());
    assert_eq!(found, expected(&offsets["max_timestamp"]), "{name}");
    let mut compared = 0;
    for (time, value) in offsets["by_timestamp"].as_object().into_iter().flatten() {
        let time: i64 = time.parse().unwrap();
        if time >= 0 {
            let found = answer(loaded.log.offset_for_time(time).unwrap());
            assert_eq!(found, expected(value), "{time} in {name}");
            compared += 1;
        }
    }
    compared
}

/// Checks every partition that has a truth, and says how many times were asked for.
fn check_all(name: &str, set: &KafkaSet, truths: &str, report: &LoadReport) -> usize {
    let truths = set.truths(truths);
    let mut compared = 0;
    let mut seen = BTreeSet::new();
    for loaded in &report.logs {
        let Some(truth) = truths.get(&loaded.partition.to_string()) else { continue };
        assert_eq!(loaded.topic_id.unwrap().to_string(), truth["topic_id"], "{}", loaded.partition);
        check_records(name, loaded, truth);
        compared += check_offsets(name, loaded, truth);
        seen.insert(loaded.partition.to_string());
    }
    let all: BTreeSet<_> = truths.into_keys().collect();
    assert_eq!(seen, all, "every truth of {name} has its partition");
    compared
}

#[test]
fn every_partition_of_every_directory_gives_what_kafka_gave() {
    for (name, partitions) in SETS {
        let set = KafkaSet::unpack(name);
        let (_directory, report) = load(&set);
        let compared = check_all(name, &set, "expect/truth", &report);
        assert_eq!(report.logs.len(), partitions);
        assert!(compared > 50, "{compared} times in {name}");
    }
}

#[test]
fn a_start_and_an_orderly_stop_leave_kafkas_bytes_in_every_file() {
    for (name, _) in SETS {
        let set = KafkaSet::unpack(name);
        let (directory, report) = load(&set);
        drop(report);
        directory.close(9, AFTER_KAFKA_MS).unwrap();
        let after = set.json("expect/start.json");
        let mut compared = 0;
        for (partition, about) in after["partitions"].as_object().unwrap() {
            let (sizes, sums) = (expected_sizes(about), expected_checksums(about));
            let folder = set.data().join(partition);
            if !sizes.is_empty() {
                assert_eq!(found_sizes(&folder), sizes, "{name}: {partition}");
                compared += sizes.len();
            }
            if !sums.is_empty() {
                assert_eq!(checksums(&folder), sums, "{name}: {partition}");
            }
        }
        assert!(compared > 30, "{compared} files in {name}");
    }
}

#[test]
fn nothing_that_a_killed_kafka_had_acknowledged_is_missing() {
    let set = KafkaSet::unpack("killed");
    let (_directory, report) = load(&set);
    let acknowledged = set.json("acked.json");
    assert!(!report.clean && acknowledged.as_object().unwrap().len() == 6);
    for loaded in &report.logs {
        if let Some(last) = acknowledged[loaded.partition.to_string()].as_i64() {
            assert!(loaded.log.positions().log_end.offset.get() > last, "{}", loaded.partition);
        }
        assert_eq!(loaded.recovery.cut, None, "{}", loaded.partition);
    }
}
