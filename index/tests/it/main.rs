//! The index formats against bytes and answers of Apache Kafka's own classes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod txn_index;

use ottla_index::{ActiveIndex, Entry, OffsetEntry, RelativeOffset, SealedIndex, TimeEntry};
use ottla_model::Offset;
use serde_json::Value;

/// Room for every vector.
const BYTES_MAX: u32 = 4096;

fn vectors(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bytes(vector: &Value) -> Vec<u8> {
    let hex = vector["hex"].as_str().unwrap().as_bytes();
    hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

fn relative(offset: &Value) -> RelativeOffset {
    RelativeOffset::of(Offset::new(number(offset)), Offset::new(100)).unwrap()
}

/// A target as a key of the index: what lies outside of the segment's reach is as far as one can go.
fn key(target: i64) -> Option<RelativeOffset> {
    let highest = 100 + i64::from(i32::MAX);
    RelativeOffset::of(Offset::new(target.min(highest)), Offset::new(100))
}

#[test]
fn offset_lookups_answer_as_kafka_does_in_mapped_owned_and_growing_form() {
    let mut compared = 0;
    for vector in vectors(include_str!("../data/offset-indexes.jsonl")) {
        let bytes = bytes(&vector);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        std::fs::write(&path, &bytes).unwrap();
        let mapped = SealedIndex::<OffsetEntry>::map(&std::fs::File::open(&path).unwrap()).unwrap();
        let owned = SealedIndex::<OffsetEntry>::from_bytes(bytes.clone());
        let active = ActiveIndex::<OffsetEntry>::from_bytes(bytes, BYTES_MAX);
        for lookup in vector["lookups"].as_array().unwrap() {
            let expected = (number(&lookup["offset"]), number(&lookup["position"]));
            for found in [
                key(number(&lookup["target"])).and_then(|key| mapped.floor(key)),
                key(number(&lookup["target"])).and_then(|key| owned.floor(key)),
                key(number(&lookup["target"])).and_then(|key| active.floor(key)),
            ] {
                let found = found.map_or((100, 0), |entry| {
                    (entry.offset.at(Offset::new(100)).get(), i64::from(entry.position))
                });
                assert_eq!(found, expected, "{} in {}", lookup["target"], vector["case"]);
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn offset_entries_are_written_as_kafka_writes_them() {
    for vector in vectors(include_str!("../data/offset-indexes.jsonl")) {
        let mut index = ActiveIndex::<OffsetEntry>::new(BYTES_MAX);
        for entry in vector["entries"].as_array().unwrap() {
            let position = u32::try_from(number(&entry["position"])).unwrap();
            index.push(OffsetEntry { offset: relative(&entry["offset"]), position }).unwrap();
        }
        let mut expected = bytes(&vector);
        expected.truncate(index.len() * OffsetEntry::BYTES);
        assert_eq!(index.bytes_from(0), expected, "{}", vector["case"]);
    }
}

#[test]
fn time_lookups_and_bytes_are_as_kafkas() {
    let mut compared = 0;
    for vector in vectors(include_str!("../data/time-indexes.jsonl")) {
        if vector.get("hex").is_none() {
            continue;
        }
        let bytes = bytes(&vector);
        let sealed = SealedIndex::<TimeEntry>::from_bytes(bytes.clone());
        let mut active = ActiveIndex::<TimeEntry>::new(BYTES_MAX);
        for entry in vector["entries"].as_array().unwrap() {
            let pushed = active.push_if_later(number(&entry["timestamp"]), relative(&entry["offset"]));
            assert_eq!(pushed, Ok(true));
        }
        assert_eq!(active.bytes_from(0), bytes);
        for lookup in vector["lookups"].as_array().unwrap() {
            let target = number(&lookup["target"]);
            let expected = (number(&lookup["timestamp"]), number(&lookup["offset"]));
            for found in [sealed.floor(target), active.floor(target)] {
                let found =
                    found.map_or((-1, 100), |e| (e.timestamp_ms, e.offset.at(Offset::new(100)).get()));
                assert_eq!(found, expected, "{target} in {}", vector["case"]);
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn a_time_index_takes_the_appends_that_kafka_takes() {
    let vectors = vectors(include_str!("../data/time-indexes.jsonl"));
    let vector = vectors.iter().find(|vector| vector.get("appends").is_some()).unwrap();
    let mut index = ActiveIndex::<TimeEntry>::new(BYTES_MAX);
    for append in vector["appends"].as_array().unwrap() {
        let offset = RelativeOffset::of(Offset::new(number(&append["offset"])), Offset::ZERO).unwrap();
        let pushed = index.push_if_later(number(&append["timestamp"]), offset);
        assert_eq!(pushed.is_err(), append.get("error").is_some(), "{append}");
        if let Some(entries) = append["entriesAfter"].as_u64() {
            assert_eq!(index.len() as u64, entries, "{append}");
        }
    }
}
