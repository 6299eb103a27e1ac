//! Messages of formats 0 and 1, which Kafka wrote before it knew batches: they are found, served as they are, recovered
//! and retained like batches, and only batches are written behind them. (What Kafka's clients got from such partitions is
//! compared in `kafka_sets`.)

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use ottla_model::Offset;
use ottla_model::batch::{BatchFrame, LegacyBatch, MAGIC, RecordBatch};
use ottla_storage::{Damage, DiskLog, Log, LogConfig, LogDir, ReadEnd, ReadOutcome, ReadRequest, Recovery};

use crate::archive::KafkaSet;
use crate::support::{EPOCH, NOW_MS, batch, batch_of, bytes_of, content, copy_folder, names, open, request};

/// What lies in a log: a batch, or a message with its size and last offset.
pub(crate) enum Stored {
    Batch(RecordBatch),
    Message(LegacyBatch),
}

impl Stored {
    fn take(bytes: &mut Bytes) -> Option<Self> {
        let frame = BatchFrame::peek(bytes).unwrap()?;
        if frame.magic() == MAGIC {
            let batch = RecordBatch::split_first(bytes).unwrap()?;
            batch.verify_crc().unwrap();
            return Some(Self::Batch(batch));
        }
        let message = LegacyBatch::split_first(bytes).unwrap()?;
        message.verify_crc().unwrap();
        Some(Self::Message(message))
    }

    fn last_offset(&self) -> i64 {
        match self {
            Self::Batch(batch) => batch.header().last_offset().get(),
            Self::Message(message) => message.last_offset().get(),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.bytes().len(),
            Self::Message(message) => message.size(),
        }
    }
}

/// Everything in a log, as a client gathers it with fetches of at most so many bytes.
pub(crate) fn stored(log: &dyn Log, max_bytes: u64) -> Vec<Stored> {
    let mut found = Vec::new();
    let mut next = log.positions().log_start;
    loop {
        let read = ReadRequest { max_bytes, end: ReadEnd::LogEnd, ..request(next.get()) };
        let ReadOutcome::Found(slice) = log.read(&read).unwrap() else { return found };
        let mut bytes = bytes_of(&slice);
        let before = next;
        while let Some(entry) = Stored::take(&mut bytes) {
            if entry.last_offset() >= next.get() {
                next = Offset::new(entry.last_offset() + 1);
                found.push(entry);
            }
        }
        assert!(next > before, "a read gives something new");
    }
}

fn lasts(log: &dyn Log) -> Vec<i64> {
    stored(log, 1 << 20).iter().map(Stored::last_offset).collect()
}

/// The settings of Kafka's old partitions.
fn config() -> LogConfig {
    LogConfig { index_interval_bytes: 100, segment_index_bytes: 4096, ..LogConfig::default() }
}

const OLD: [&str; 8] = [
    "v0-gzip-0",
    "v0-none-0",
    "v0-v1-v2-0",
    "v1-append-time-0",
    "v1-gzip-0",
    "v1-lz4-0",
    "v1-none-0",
    "v1-snappy-0",
];

fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(folder, copy.path());
    copy
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    let names = names(folder).into_iter().filter(|name| name.ends_with(".log"));
    names.map(|name| folder.join(name)).collect()
}

fn contents(folder: &Path, suffixes: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let names = names(folder).into_iter().filter(|name| suffixes.iter().any(|suffix| name.ends_with(suffix)));
    names.map(|name| (name.clone(), content(&folder.join(name)))).collect()
}

/// Where each message or batch of a file begins and ends, with its last offset.
fn layout(file: &[u8]) -> Vec<(usize, usize, i64)> {
    let mut bytes = Bytes::copy_from_slice(file);
    let mut at = 0;
    let mut found = Vec::new();
    while let Some(entry) = Stored::take(&mut bytes) {
        found.push((at, at + entry.size(), entry.last_offset()));
        at += entry.size();
    }
    assert_eq!(at, file.len());
    found
}

/// A file as the only segment of a log, without indexes, opened as after a kill.
fn opened_alone(name: &str, bytes: &[u8]) -> (tempfile::TempDir, DiskLog, Recovery) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let (log, recovery) = open(folder.path(), &config(), false, 0).unwrap();
    (folder, log, recovery)
}

#[test]
fn every_kind_of_message_is_served_as_it_lies_there_after_any_start() {
    let vectors = include_str!("../data/message-sets-v0-v1.jsonl");
    let mut tried = 0;
    for line in vectors.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let Some(hex) = vector["hex"].as_str() else { continue };
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("00000000000000000000.log");
        let expected: Vec<i64> = vector["batches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["lastOffset"].as_i64().unwrap())
            .collect();
        for is_clean in [true, false] {
            fs::write(&path, &bytes).unwrap();
            let (log, recovery) = open(folder.path(), &config(), is_clean, 0).unwrap();
            assert_eq!((recovery.cut, recovery.holes), (None, vec![]), "{}", vector["name"]);
            assert_eq!(lasts(&log), expected, "{}", vector["name"]);
            assert_eq!(content(&path), bytes);
        }
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn a_recovery_without_indexes_makes_kafkas_own() {
    let set = KafkaSet::unpack("v0v1");
    for name in OLD {
        let kafkas = contents(&set.data().join(name), &[".log", ".index", ".timeindex"]);
        for is_clean in [true, false] {
            let copy = copy_of(&set.path("raw").join(name));
            assert!(!names(copy.path()).iter().any(|name| name.ends_with("index")));
            let (log, recovery) = open(copy.path(), &config(), is_clean, 0).unwrap();
            assert_eq!(recovery.cut, None, "{name}");
            log.close(NOW_MS).unwrap();
            assert_eq!(contents(copy.path(), &[".log", ".index", ".timeindex"]), kafkas, "{name} {is_clean}");
        }
    }
}

#[test]
fn a_file_that_ends_anywhere_loses_the_message_that_is_cut_and_nothing_else() {
    let set = KafkaSet::unpack("v0v1");
    let mut cuts = 0;
    for name in OLD {
        for path in logs(&set.data().join(name)) {
            let file = content(&path);
            let layout = layout(&file);
            let name = path.file_name().unwrap().to_str().unwrap();
            for bytes in (0..file.len()).step_by(7) {
                let (folder, log, recovery) = opened_alone(name, &file[..bytes]);
                let kept: Vec<i64> =
                    layout.iter().filter(|(_, end, _)| *end <= bytes).map(|(.., last)| *last).collect();
                assert_eq!(lasts(&log), kept, "{} cut at {bytes}", path.display());
                let end = layout.iter().map(|(_, end, _)| *end).filter(|end| *end <= bytes).max();
                let end = end.unwrap_or_default();
                assert_eq!(recovery.cut.is_some(), end < bytes, "{} cut at {bytes}", path.display());
                assert_eq!(content(&folder.path().join(name)), file[..end]);
                cuts += 1;
            }
        }
    }
    assert!(cuts > 1000, "{cuts}");
}

#[test]
fn a_byte_that_changed_cuts_the_log_at_its_message_and_new_batches_go_there() {
    let set = KafkaSet::unpack("v0v1");
    let mut flips = 0;
    for name in ["v0-none-0", "v0-v1-v2-0", "v1-gzip-0"] {
        for path in logs(&set.data().join(name)) {
            let file = content(&path);
            let name = path.file_name().unwrap().to_str().unwrap();
            for (number, (begin, end, _)) in layout(&file).into_iter().enumerate() {
                // The offset in front is covered by no checksum; nor is a batch's epoch.
                let is_batch = i8::try_from(file[begin + 16]) == Ok(MAGIC);
                let covered = (begin + 8..end).filter(|at| !is_batch || !(12..16).contains(&(at - begin)));
                for at in covered.step_by(5) {
                    let mut flipped = file.clone();
                    flipped[at] ^= 1 << (at % 8);
                    let (_folder, log, recovery) = opened_alone(name, &flipped);
                    let cut = recovery.cut.unwrap();
                    assert_eq!(cut.position, begin as u64, "{} byte {at}: {}", path.display(), cut.damage);
                    let kept = lasts(&log);
                    assert_eq!(kept.len(), number, "{} byte {at}", path.display());
                    let next = log.positions().log_end.offset.get();
                    let appended = log.append_as_leader(batch(NOW_MS, 2, 10), EPOCH, NOW_MS).unwrap();
                    assert_eq!(appended.base_offset.get(), next);
                    assert_eq!(lasts(&log), [kept, vec![next + 1]].concat());
                    flips += 1;
                }
            }
        }
    }
    assert!(flips > 500, "{flips}");
}

#[test]
fn a_message_whose_content_changed_is_told_by_its_checksum() {
    let set = KafkaSet::unpack("v0v1");
    for (name, at) in [("v0-none-0", 30), ("v1-none-0", 40), ("v1-lz4-0", 100)] {
        let path = &logs(&set.data().join(name))[0];
        let mut file = content(path);
        file[at] ^= 1;
        let (_folder, _log, recovery) = opened_alone("00000000000000000000.log", &file);
        assert!(matches!(recovery.cut.unwrap().damage, Damage::Checksum { .. }), "{name}");
    }
}

#[test]
fn offsets_that_go_back_end_the_log() {
    let set = KafkaSet::unpack("v0v1");
    let file = content(&logs(&set.data().join("v1-none-0"))[0]);
    let (begin, ..) = layout(&file)[5];
    let mut changed = file.clone();
    changed[begin + 7] = 2;
    let (_folder, log, recovery) = opened_alone("00000000000000000000.log", &changed);
    let cut = recovery.cut.unwrap();
    assert_eq!(cut.position, begin as u64);
    let damage = Damage::Offsets { base: Offset::new(2), last: Offset::new(2), expected: Offset::new(5) };
    assert_eq!(cut.damage, damage);
    assert_eq!(lasts(&log), [0, 1, 2, 3, 4]);
}

#[test]
fn batches_are_written_behind_old_messages_and_both_come_back_after_any_end() {
    let set = KafkaSet::unpack("v0v1");
    for name in OLD {
        let copy = copy_of(&set.data().join(name));
        let untouched = contents(copy.path(), &[".log"]);
        let (log, recovery) = open(copy.path(), &config(), true, 100).unwrap();
        assert_eq!(recovery.cut, None);
        let old = lasts(&log);
        let end = log.positions().log_end.offset.get();
        for sequence in 0..3 {
            let appended = log.append_as_leader(batch_of(7, 0, sequence, 1), EPOCH, NOW_MS).unwrap();
            assert_eq!(appended.base_offset.get(), end + i64::from(sequence));
        }
        let expected: Vec<i64> = old.into_iter().chain(end..end + 3).collect();
        assert_eq!(lasts(&log), expected, "{name}");
        drop(log);
        for (is_clean, point) in [(false, 0), (false, end), (true, end + 3)] {
            let (log, recovery) = open(copy.path(), &config(), is_clean, point).unwrap();
            assert_eq!((recovery.cut, recovery.missing_below), (None, None), "{name}");
            assert_eq!(lasts(&log), expected, "{name}");
            let retry = log.append_as_leader(batch_of(7, 0, 2, 1), EPOCH, NOW_MS).unwrap();
            assert!(retry.duplicate, "{name}: the producer is known");
            log.close(NOW_MS).unwrap();
        }
        for (file, old) in untouched {
            assert!(content(&copy.path().join(&file)).starts_with(&old), "{name}/{file}");
        }
    }
}

#[test]
fn old_messages_bring_no_leader_epoch_and_no_producer() {
    let set = KafkaSet::unpack("v0v1");
    for name in OLD.iter().filter(|name| **name != "v0-v1-v2-0") {
        let copy = copy_of(&set.path("raw").join(name));
        fs::write(copy.path().join("leader-epoch-checkpoint"), "").unwrap();
        let (log, _) = open(copy.path(), &config(), false, 0).unwrap();
        assert_eq!(log.latest_epoch(), None, "{name}");
        assert!(log.producers().is_empty(), "{name}");
    }
}

#[test]
fn a_log_start_and_a_truncation_within_a_compressed_message_work_as_within_a_batch() {
    let set = KafkaSet::unpack("v0v1");
    let copy = copy_of(&set.data().join("v1-gzip-0"));
    let (log, _) = open(copy.path(), &config(), true, 100).unwrap();
    let old = lasts(&log);
    let (inner, last) = (22, *old.iter().find(|last| **last > 22).unwrap());
    log.raise_log_start(Offset::new(inner)).unwrap();
    assert_eq!(lasts(&log)[0], last);
    let found = log.offset_for_time(0).unwrap().unwrap();
    assert_eq!((found.offset.get(), found.leader_epoch.get()), (inner, -1));
    log.truncate_to(Offset::new(inner + 2), NOW_MS).unwrap();
    assert_eq!(log.positions().log_end.offset.get(), inner + 2);
    assert_eq!(
        log.append_as_leader(batch(NOW_MS, 1, 1), EPOCH, NOW_MS).unwrap().base_offset.get(),
        inner + 2
    );
}

#[test]
fn retention_goes_by_the_messages_times_and_where_they_have_none_by_the_files() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let set = KafkaSet::unpack("v0v1");
    let directory = LogDir::open(&set.data()).unwrap();
    let config = |_: &_| LogConfig { retention_ms: Some(DAY_MS), ..config() };
    let report = directory.load(2, NOW_MS, &config).unwrap();
    assert!(report.failed.is_empty());
    let all = |_: &_, log: &DiskLog| Some(log.positions().log_end.offset);
    let starts = || {
        let log_start = |name: &str| {
            let loaded = report.logs.iter().find(|loaded| loaded.partition.to_string() == name).unwrap();
            loaded.log.positions().log_start.get()
        };
        ["v1-none-0", "v1-gzip-0", "v0-none-0", "v0-gzip-0"].map(log_start)
    };
    // Times of 2017, and files of today.
    let modified = fs::metadata(set.data().join("v0-none-0/00000000000000000000.log")).unwrap().modified();
    let today = modified.unwrap().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let today = i64::try_from(today).unwrap();
    directory.apply_retention(&all, today + DAY_MS / 2).unwrap();
    assert_eq!(starts(), [32, 32, 0, 0]);
    directory.apply_retention(&all, today + 2 * DAY_MS).unwrap();
    assert_eq!(starts(), [32, 32, 32, 32]);
}

#[test]
fn a_search_for_a_time_ends_in_messages_without_time_unless_their_file_is_older() {
    let set = KafkaSet::unpack("v0v1");
    let copy = copy_of(&set.data().join("v0-v1-v2-0"));
    let time_ms = 1_500_000_012_800;
    let found = || {
        let (log, _) = open(copy.path(), &config(), true, 100).unwrap();
        log.offset_for_time(time_ms).unwrap().map(|found| (found.offset.get(), found.timestamp_ms))
    };
    let first = fs::File::options().write(true).open(&logs(copy.path())[0]).unwrap();
    let changed = |ms| first.set_modified(UNIX_EPOCH + Duration::from_millis(ms)).unwrap();
    changed(1_500_000_012_800);
    assert_eq!(found(), None, "as Kafka answers");
    changed(1_500_000_012_799);
    assert_eq!(found(), Some((14, time_ms)));
}
