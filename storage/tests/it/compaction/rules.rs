//! The rules, one by one.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ottla_model::batch::{CheckedBatch, RecordBatch};
use ottla_model::compression::Codec;
use ottla_model::{LeaderEpoch, Offset};
use ottla_storage::compaction::{CleanError, CleanerLimits, Step};
use ottla_storage::{Damage, DiskLog, Log, LogConfig, LogError, ReadEnd};

use super::support::{
    Found, From, LIMITS, append, begin, clean, clean_wholly, finish, keyed, marker, newest, records,
};
use crate::support::{NOW_MS, batches, names, open, request};

const RETENTION_MS: i64 = 1000;

fn config() -> LogConfig {
    LogConfig {
        index_interval_bytes: 100,
        is_compacted: true,
        delete_retention_ms: RETENTION_MS,
        ..LogConfig::default()
    }
}

struct Rig {
    folder: tempfile::TempDir,
    log: Arc<DiskLog>,
}

impl Rig {
    fn new(config: &LogConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(open(folder.path(), config, false, 0).unwrap().0);
        Self { folder, log }
    }

    fn append(&self, pairs: &[super::support::Pair<'_>]) -> i64 {
        append(&self.log, keyed(pairs, From::default()))
    }

    fn append_from(&self, pairs: &[super::support::Pair<'_>], from: From) -> i64 {
        append(&self.log, keyed(pairs, from))
    }

    /// Everything so far may be compacted.
    fn roll(&self) {
        self.log.roll(NOW_MS).unwrap();
        self.log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    }

    fn clean(&self, now_ms: i64) {
        clean(&self.log, 0, now_ms).unwrap();
    }

    fn batches(&self) -> Vec<RecordBatch> {
        batches(&*self.log, self.log.positions().log_start.get(), ReadEnd::LogEnd, 1 << 20)
    }

    /// Base and last offset, and number of records, of each batch.
    fn shape(&self) -> Vec<(i64, i64, i32)> {
        let shape = |batch: &RecordBatch| {
            let header = batch.header();
            (header.base_offset().get(), header.last_offset().get(), header.record_count())
        };
        self.batches().iter().map(shape).collect()
    }

    fn records(&self) -> Vec<Found> {
        records(&self.log, false)
    }

    fn files(&self, suffix: &str) -> Vec<String> {
        names(self.folder.path()).into_iter().filter(|name| name.ends_with(suffix)).collect()
    }

    fn staged(&self) -> Vec<String> {
        let names = names(self.folder.path()).into_iter();
        names.filter(|name| name.ends_with(".cleaned") || name.ends_with(".swap")).collect()
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn of_each_key_the_newest_record_stays_at_its_offset() {
    let rig = Rig::new(&config());
    rig.append(&[(Some("a"), Some("1")), (Some("b"), Some("1")), (Some("a"), Some("2"))]);
    rig.append(&[(Some("c"), Some("1"))]);
    rig.append(&[(Some("c"), Some("2")), (Some("b"), Some("2"))]);
    rig.roll();
    rig.append(&[(Some("a"), Some("3"))]);
    rig.clean(NOW_MS);
    let expected = [
        (2, some("a"), some("2")),
        (4, some("c"), some("2")),
        (5, some("b"), some("2")),
        // The active segment neither changes nor counts.
        (6, some("a"), some("3")),
    ];
    assert_eq!(rig.records(), expected);
    assert_eq!(rig.shape(), [(0, 2, 1), (4, 5, 2), (6, 6, 1)]);
    // Who asks for an offset that is gone gets what comes after it.
    let at_three = batches(&*rig.log, 3, ReadEnd::LogEnd, 1 << 20);
    assert_eq!(at_three[0].header().base_offset(), Offset::new(4));
}

#[test]
fn a_batch_of_which_all_records_stay_is_not_touched() {
    let rig = Rig::new(&config());
    let from = From { codec: Codec::Gzip, timestamp_ms: NOW_MS - 5, ..From::default() };
    rig.append_from(&[(Some("a"), Some("1")), (Some("b"), Some("1"))], from);
    rig.append(&[(Some("c"), Some("1"))]);
    rig.roll();
    let before: Vec<_> = rig.batches().iter().map(|batch| batch.bytes().clone()).collect();
    rig.clean(NOW_MS);
    let after: Vec<_> = rig.batches().iter().map(|batch| batch.bytes().clone()).collect();
    assert_eq!(before, after);
}

#[test]
fn every_codec_stays_what_it_was() {
    for codec in Codec::ALL {
        let rig = Rig::new(&config());
        let from = From { codec, ..From::default() };
        rig.append_from(&[(Some("a"), Some("1")), (Some("b"), Some("1"))], from);
        rig.append_from(&[(Some("a"), Some("2"))], from);
        rig.roll();
        rig.clean(NOW_MS);
        assert_eq!(rig.shape(), [(0, 1, 1), (2, 2, 1)]);
        assert!(rig.batches().iter().all(|batch| batch.header().codec() == Some(codec)));
        assert_eq!(rig.records(), [(1, some("b"), some("1")), (2, some("a"), some("2"))]);
    }
}

#[test]
fn a_tombstone_gets_a_horizon_and_goes_in_the_first_round_that_is_not_before_it() {
    let rig = Rig::new(&config());
    rig.append(&[(Some("a"), Some("1"))]);
    rig.append(&[(Some("a"), None), (Some("b"), Some("1"))]);
    rig.append(&[(Some("z"), Some("1"))]);
    rig.roll();
    rig.clean(NOW_MS);
    let horizon = |rig: &Rig| rig.batches()[0].header().delete_horizon_ms();
    assert_eq!(rig.shape(), [(1, 2, 2), (3, 3, 1)]);
    assert_eq!(horizon(&rig), Some(NOW_MS + RETENTION_MS));
    // The time of the record is what it was.
    let batch = &rig.batches()[0];
    let first = batch.records(1 << 20).unwrap().iter().next().unwrap().unwrap().timestamp_ms;
    assert_eq!((first, batch.header().max_timestamp_ms()), (NOW_MS, NOW_MS));
    rig.clean(NOW_MS + RETENTION_MS - 1);
    assert_eq!(rig.shape(), [(1, 2, 2), (3, 3, 1)]);
    rig.clean(NOW_MS + RETENTION_MS);
    assert_eq!(rig.records(), [(2, some("b"), some("1")), (3, some("z"), some("1"))]);
    assert_eq!(horizon(&rig), Some(NOW_MS + RETENTION_MS), "the horizon of the batch stays");
}

#[test]
fn records_without_a_key_go() {
    let rig = Rig::new(&config());
    rig.append(&[(None, Some("1")), (Some(""), Some("1"))]);
    rig.append(&[(Some("z"), Some("1"))]);
    rig.roll();
    rig.append(&[(None, Some("2"))]);
    rig.clean(NOW_MS);
    assert_eq!(rig.records(), [(1, some(""), some("1")), (2, some("z"), some("1")), (3, None, some("2"))]);
}

#[test]
fn the_last_batch_of_a_round_stays_though_nothing_is_left_of_it() {
    let rig = Rig::new(&config());
    rig.append(&[(Some("a"), Some("1"))]);
    rig.append(&[(None, Some("1"))]);
    rig.append(&[(None, Some("2"))]);
    rig.roll();
    rig.clean(NOW_MS);
    assert_eq!(rig.shape(), [(0, 0, 1), (2, 2, 0)]);
    rig.append(&[(Some("b"), Some("1"))]);
    rig.roll();
    rig.clean(NOW_MS);
    assert_eq!(rig.shape(), [(0, 0, 1), (3, 3, 1)], "it goes once it is the last no more");
}

#[test]
fn the_last_batch_of_a_live_producer_stays_without_records_and_of_a_forgotten_one_goes() {
    let rig = Rig::new(&LogConfig { producer_id_expiration_ms: 10_000, ..config() });
    let from = |sequence| From { producer: Some((7, 2, sequence)), ..From::default() };
    rig.append_from(&[(Some("a"), Some("1"))], from(0));
    rig.append_from(&[(Some("a"), Some("2")), (Some("b"), Some("2"))], from(1));
    rig.append(&[(Some("a"), Some("3")), (Some("b"), Some("3"))]);
    rig.roll();
    rig.clean(NOW_MS);
    assert_eq!(rig.shape(), [(1, 2, 0), (3, 4, 2)]);
    let header = *rig.batches()[0].header();
    assert_eq!((header.base_sequence(), header.last_sequence()), (1, 2));
    assert_eq!((header.producer_epoch().get(), header.max_timestamp_ms()), (2, NOW_MS));
    // Its state is found again from that, and a retry is still known as one.
    let log = open(rig.folder.path(), &config(), false, 0).unwrap().0;
    let retry = keyed(&[(Some("a"), Some("2")), (Some("b"), Some("2"))], from(1));
    assert!(log.append_as_leader(retry, LeaderEpoch::new(3), NOW_MS).unwrap().duplicate);
    drop(log);
    assert_eq!(rig.log.expire_producers(NOW_MS + 10_000), 1);
    rig.clean(NOW_MS);
    assert_eq!(rig.shape(), [(3, 4, 2)]);
}

#[test]
fn aborted_records_go_at_once_and_their_marker_one_horizon_after_them() {
    let rig = Rig::new(&config());
    let from = |sequence| From { producer: Some((7, 0, sequence)), transactional: true, ..From::default() };
    rig.append(&[(Some("a"), Some("kept"))]);
    rig.append_from(&[(Some("a"), Some("aborted"))], from(0));
    append(&rig.log, marker(7, 0, false));
    rig.append_from(&[(Some("b"), Some("committed"))], from(1));
    append(&rig.log, marker(7, 0, true));
    rig.append(&[(Some("z"), Some("1"))]);
    rig.roll();
    rig.clean(NOW_MS);
    let left = [(0, some("a"), some("kept")), (3, some("b"), some("committed")), (5, some("z"), some("1"))];
    assert_eq!(rig.records(), left);
    let horizons = |rig: &Rig| -> Vec<_> {
        rig.batches().iter().map(|batch| batch.header().delete_horizon_ms()).collect()
    };
    assert_eq!(rig.shape().iter().map(|(base, ..)| *base).collect::<Vec<_>>(), [0, 2, 3, 4, 5]);
    assert_eq!(horizons(&rig), [None; 5], "in this round there were records of it");
    rig.clean(NOW_MS);
    assert_eq!(horizons(&rig), [None, Some(NOW_MS + RETENTION_MS), None, None, None]);
    rig.clean(NOW_MS + RETENTION_MS);
    assert_eq!(rig.shape().iter().map(|(base, ..)| *base).collect::<Vec<_>>(), [0, 3, 4, 5]);
    assert_eq!(newest(&rig.log)["a"], (0, "kept".to_owned()));
}

#[test]
fn a_marker_is_all_that_tells_of_a_producer_whose_epoch_was_raised_and_stays() {
    let rig = Rig::new(&config());
    let from = From { producer: Some((7, 0, 0)), transactional: true, ..From::default() };
    rig.append_from(&[(Some("a"), Some("1"))], from);
    // The coordinator ends it with a higher epoch, which fences the producer.
    append(&rig.log, marker(7, 1, false));
    rig.append(&[(Some("z"), Some("1"))]);
    rig.roll();
    for now_ms in [NOW_MS, NOW_MS + 1, NOW_MS + 2 * RETENTION_MS, NOW_MS + 4 * RETENTION_MS] {
        rig.clean(now_ms);
    }
    let shape = rig.shape();
    assert_eq!(shape, [(1, 1, 0), (2, 2, 1)]);
    assert!(rig.batches()[0].header().is_control());
    assert_eq!(rig.batches()[0].header().producer_epoch().get(), 1);
}

#[test]
fn what_is_undecided_or_not_replicated_or_not_durable_does_not_count() {
    let rig = Rig::new(&config());
    rig.append(&[(Some("a"), Some("1"))]);
    rig.roll();
    let from = From { producer: Some((7, 0, 0)), transactional: true, ..From::default() };
    let open = rig.append_from(&[(Some("a"), Some("2"))], from);
    rig.roll();
    rig.append(&[(Some("a"), Some("3"))]);
    rig.log.roll(NOW_MS).unwrap();
    let end =
        |high_watermark| rig.log.plan_cleaning(Offset::new(high_watermark), None, NOW_MS).unwrap().end.get();
    assert_eq!(end(100), open);
    append(&rig.log, marker(7, 0, true));
    assert_eq!(end(0), 0);
    assert_eq!(end(2), 1, "the marker is not replicated");
    assert_eq!(end(4), 2, "the recovery point");
    rig.log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    assert_eq!(end(4), 3);
}

#[test]
fn more_keys_than_the_map_holds_take_several_rounds_to_the_same_end() {
    let rig = Rig::new(&LogConfig { segment_bytes: 1 << 20, ..config() });
    for round in 0..3 {
        for chunk in 0..40 {
            let texts: Vec<_> = (0..10).map(|place| format!("key-{}", chunk * 10 + place)).collect();
            let value = format!("value-{round}");
            let pairs: Vec<_> = texts.iter().map(|key| (Some(key.as_str()), Some(value.as_str()))).collect();
            rig.append(&pairs);
        }
    }
    rig.append(&[(Some("last"), Some("1"))]);
    rig.roll();
    // Room for 90 keys, in one segment with 401.
    let limits = CleanerLimits { dedupe_buffer_bytes: 24 * 100, ..LIMITS };
    let (_, rounds) = clean_wholly(&rig.log, NOW_MS, limits);
    assert!(rounds > 10, "{rounds}");
    // A round sees only what it has not seen before, so the oldest go by and by.
    let (report, _) = clean_wholly(&rig.log, NOW_MS, LIMITS);
    assert_eq!(report.records_after, 401);
    assert!(newest(&rig.log).values().all(|(_, value)| value == "value-2" || value == "1"));
}

#[test]
fn a_batch_larger_than_all_buffers_and_than_a_segment_may_now_be_is_compacted() {
    let rig = Rig::new(&config());
    let large = "x".repeat(200_000);
    rig.append(&[(Some("a"), Some("1")), (Some("large"), Some(large.as_str()))]);
    rig.append(&[(Some("a"), Some("2"))]);
    rig.roll();
    rig.log.configure(LogConfig { segment_bytes: 1000, ..config() });
    rig.clean(NOW_MS);
    assert_eq!(rig.records(), [(1, some("large"), Some(large)), (2, some("a"), some("2"))]);
}

#[test]
fn a_segment_of_offsets_further_apart_than_31_bits_is_split_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let placed = |offset: i64, key: &str| {
        let mut batch = keyed(&[(Some(key), Some("1"))], From::default());
        batch.assign(Offset::new(offset), LeaderEpoch::new(3));
        batch.to_bytes()
    };
    let mut content = Vec::new();
    for (offset, key) in [(0, "a"), (9, "b"), (3_000_000_000, "c"), (3_000_000_001, "a")] {
        content.extend_from_slice(&placed(offset, key));
    }
    fs::write(folder.path().join("00000000000000000000.log"), content).unwrap();
    let log = Arc::new(open(folder.path(), &config(), false, 0).unwrap().0);
    let read = |log: &DiskLog, from: i64| {
        batches(log, from, ReadEnd::LogEnd, 1 << 20)[0].header().base_offset().get()
    };
    for (from, found) in
        [(0, 0), (10, 3_000_000_000), (2_999_999_999, 3_000_000_000), (3_000_000_000, 3_000_000_000)]
    {
        assert_eq!(read(&log, from), found);
    }
    append(&log, keyed(&[(Some("z"), Some("1"))], From::default()));
    log.roll(NOW_MS).unwrap();
    log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    clean(&log, 0, NOW_MS).unwrap();
    let offsets: Vec<_> = records(&log, false).iter().map(|(offset, ..)| *offset).collect();
    assert_eq!(offsets, [9, 3_000_000_000, 3_000_000_001, 3_000_000_002]);
    assert_eq!(read(&log, 10), 3_000_000_000);
    let rig = Rig { folder, log };
    let segments = [
        "00000000000000000000.log",
        "00000000003000000000.log",
        "00000000003000000002.log",
        "00000000003000000003.log",
    ];
    assert_eq!(rig.files(".log"), segments);
    let Rig { folder, log } = rig;
    drop(log);
    let log = open(folder.path(), &config(), false, 0).unwrap().0;
    assert_eq!(records(&log, false).len(), 4, "and again after a start");
}

#[test]
fn segments_whose_offsets_lie_too_far_apart_are_not_merged() {
    let rig = Rig::new(&config());
    for (offset, key) in [(0, "a"), (2_147_483_640, "b"), (2_147_483_647, "d"), (4_300_000_000, "a")] {
        let mut batch: CheckedBatch = keyed(&[(Some(key), Some("1"))], From::default());
        batch.assign(Offset::new(offset), LeaderEpoch::new(3));
        rig.log.append_as_follower(vec![batch], NOW_MS).unwrap();
        rig.roll();
    }
    rig.clean(NOW_MS);
    let offsets: Vec<_> = rig.records().iter().map(|(offset, ..)| *offset).collect();
    assert_eq!(offsets, [2_147_483_640, 2_147_483_647, 4_300_000_000]);
    for info in rig.log.segments().unwrap() {
        let last = info.end.get() - 1;
        assert!(info.bytes == 0 || last - info.base.get() <= i64::from(i32::MAX) || last > 4_000_000_000);
    }
    for (from, found) in [(1, 2_147_483_640), (2_147_483_641, 2_147_483_647), (2_147_483_648, 4_300_000_000)]
    {
        let first = batches(&*rig.log, from, ReadEnd::LogEnd, 1 << 20)[0].header().base_offset().get();
        assert_eq!(first, found);
    }
}

#[test]
fn small_segments_become_one_of_the_size_that_a_segment_may_have() {
    let rig = Rig::new(&LogConfig { segment_bytes: 300, ..config() });
    let value = "v".repeat(50);
    for number in 0..12 {
        let key = format!("k{number}");
        rig.append(&[(Some(key.as_str()), Some(value.as_str()))]);
    }
    rig.roll();
    assert_eq!(rig.files(".log").len(), 7);
    rig.log.configure(LogConfig { segment_bytes: 1000, ..config() });
    let kept = rig.records();
    let report = clean(&rig.log, 0, NOW_MS).unwrap();
    assert_eq!((report.segments_before, report.segments_after), (6, 2));
    assert_eq!(rig.files(".log").len(), 3);
    assert_eq!(rig.files(".snapshot").len(), 2, "producers are known where segments begin");
    assert_eq!(rig.records(), kept);
    // Old files wait for whoever reads them.
    assert!(!rig.files(".log.deleted").is_empty());
    for removed in report.removed {
        removed.delete().unwrap();
    }
    assert!(rig.files(".deleted").is_empty());
}

#[test]
fn the_time_of_a_file_and_the_leader_epochs_stay() {
    let rig = Rig::new(&LogConfig { segment_bytes: 200, ..config() });
    for number in 0..4 {
        let batch = keyed(&[(Some("a"), Some("v"))], From::default());
        rig.log.append_as_leader(batch, LeaderEpoch::new(number), NOW_MS).unwrap();
    }
    rig.roll();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    for name in rig.files(".log") {
        let file = fs::File::options().write(true).open(rig.folder.path().join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    rig.log.configure(LogConfig { segment_bytes: 2000, ..config() });
    let epochs: Vec<_> =
        (0..4).map(|number| rig.log.end_offset_for_epoch(LeaderEpoch::new(number))).collect();
    rig.clean(NOW_MS);
    let file = rig.folder.path().join("00000000000000000000.log");
    assert_eq!(fs::metadata(file).unwrap().modified().unwrap(), long_ago);
    let after: Vec<_> = (0..4).map(|number| rig.log.end_offset_for_epoch(LeaderEpoch::new(number))).collect();
    assert_eq!(epochs, after);
    assert_eq!(rig.batches()[0].header().leader_epoch(), LeaderEpoch::new(3));
}

#[test]
fn a_preallocated_log_has_no_zeros_after_a_compaction() {
    let rig = Rig::new(&LogConfig { preallocate: true, segment_bytes: 4096, ..config() });
    rig.append(&[(Some("a"), Some("1"))]);
    rig.append(&[(Some("a"), Some("2"))]);
    rig.roll();
    rig.clean(NOW_MS);
    let bytes = fs::metadata(rig.folder.path().join("00000000000000000000.log")).unwrap().len();
    assert_eq!(bytes, rig.log.segments().unwrap()[0].bytes);
    assert_eq!(rig.records(), [(1, some("a"), some("2"))]);
}

#[test]
fn messages_of_older_formats_make_a_log_uncleanable_with_their_place_and_change_nothing() {
    let vectors = include_str!("../../data/message-sets-v0-v1.jsonl");
    for name in ["v0-none-three", "v1-none-three", "v1-gzip-three"] {
        let line = vectors.lines().find(|line| line.contains(name)).unwrap();
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let hex = vector["hex"].as_str().unwrap();
        let content: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("00000000000000000000.log");
        fs::write(&path, &content).unwrap();
        let log = Arc::new(open(folder.path(), &config(), false, 0).unwrap().0);
        append(&log, keyed(&[(Some("k1"), Some("new"))], From::default()));
        let content = fs::read(&path).unwrap();
        log.roll(NOW_MS).unwrap();
        log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        let error = clean(&log, 0, NOW_MS).unwrap_err();
        assert!(error.is_lasting());
        let CleanError::Log(LogError::OldFormat { path: named, position: 0, magic }) = &error else {
            panic!("{name}: {error}");
        };
        assert_eq!((named, i8::from(name.starts_with("v1"))), (&path, *magic));
        assert_eq!(fs::read(&path).unwrap(), content);
        assert!(!names(folder.path()).iter().any(|name| name.ends_with(".cleaned")));
    }
}

#[test]
fn a_damaged_batch_makes_a_log_uncleanable_with_its_place_and_changes_nothing() {
    let rig = Rig::new(&config());
    rig.append(&[(Some("a"), Some("1"))]);
    let position = rig.log.positions().log_end.position;
    rig.append(&[(Some("a"), Some("2"))]);
    rig.roll();
    let path = rig.folder.path().join("00000000000000000000.log");
    let mut content = fs::read(&path).unwrap();
    *content.last_mut().unwrap() ^= 1;
    fs::write(&path, &content).unwrap();
    let error = clean(&rig.log, 0, NOW_MS).unwrap_err();
    assert!(error.is_lasting());
    let CleanError::Log(LogError::Damaged { path: named, position: at, damage }) = &error else {
        panic!("{error}");
    };
    assert_eq!((named, *at), (&path, position));
    assert!(matches!(damage, Damage::Checksum { .. }));
    assert_eq!(fs::read(&path).unwrap(), content);
    assert!(rig.staged().is_empty());
}

#[test]
fn a_cancelled_compaction_leaves_nothing_and_another_can_begin_only_then() {
    let rig = Rig::new(&config());
    for number in 0..10 {
        rig.append(&[(Some("a"), Some(format!("{number}").as_str()))]);
    }
    rig.roll();
    let before = rig.records();
    let mut cleaning = begin(&rig.log, 0, NOW_MS, LIMITS).unwrap();
    assert!(matches!(begin(&rig.log, 0, NOW_MS, LIMITS), Err(CleanError::Busy)));
    while rig.staged().is_empty() {
        assert!(matches!(cleaning.step().unwrap(), Step::More { .. }));
    }
    assert!(cleaning.take_removed().is_empty(), "nothing was exchanged yet");
    drop(cleaning);
    assert!(rig.staged().is_empty());
    assert_eq!(rig.records(), before);
    rig.clean(NOW_MS);
    assert_eq!(rig.records().len(), 1);
}

/// Steps until files are being written, does something to the log, and gives how the compaction then ended.
fn disturbed(rig: &Rig, disturb: impl FnOnce(&DiskLog)) -> CleanError {
    let mut cleaning = begin(&rig.log, 0, NOW_MS, LIMITS).unwrap();
    while rig.staged().is_empty() {
        cleaning.step().unwrap();
    }
    disturb(&rig.log);
    let error = finish(cleaning).unwrap_err();
    assert!(rig.staged().is_empty() && !error.is_lasting());
    error
}

#[test]
fn a_log_that_is_cut_or_closed_meanwhile_is_left_as_it_then_is() {
    let rig = || {
        let rig = Rig::new(&LogConfig { segment_bytes: 200, ..config() });
        for number in 0..10 {
            rig.append(&[(Some("a"), Some(format!("{number}").as_str()))]);
        }
        rig.roll();
        rig.log.configure(LogConfig { segment_bytes: 2000, ..config() });
        rig
    };
    let cut = rig();
    let error = disturbed(&cut, |log| log.truncate_to(Offset::new(3), NOW_MS).unwrap());
    assert!(matches!(error, CleanError::Changed), "{error}");
    assert_eq!(cut.records().len(), 3);

    let begun_anew = rig();
    let error = disturbed(&begun_anew, |log| log.restart_at(Offset::new(50), NOW_MS).unwrap());
    assert!(matches!(error, CleanError::Changed), "{error}");
    assert_eq!(begun_anew.records(), []);

    let shortened = rig();
    let error = disturbed(&shortened, |log| log.remove_segments(Offset::new(4)).unwrap().delete().unwrap());
    assert!(matches!(error, CleanError::Changed), "{error}");
    assert_eq!(shortened.records()[0].0, 4);

    let closed = rig();
    let error = disturbed(&closed, |log| log.close(NOW_MS).unwrap());
    assert!(matches!(error, CleanError::Log(LogError::Closed)), "{error}");
    assert_eq!(closed.records().len(), 10);
}

#[test]
fn retention_and_compaction_of_one_log_go_together() {
    let rig = Rig::new(&LogConfig { segment_bytes: 400, deletes: true, ..config() });
    for number in 0..30 {
        rig.append(&[(Some(format!("k{}", number % 20).as_str()), Some(format!("{number}").as_str()))]);
    }
    rig.roll();
    rig.clean(NOW_MS);
    let bases: Vec<_> = rig.log.segments().unwrap().iter().map(|info| info.base).collect();
    let kept: BTreeMap<_, _> =
        newest(&rig.log).into_iter().filter(|(_, at)| at.0 >= bases[1].get()).collect();
    rig.log.remove_segments(bases[1]).unwrap().delete().unwrap();
    assert_eq!(newest(&rig.log), kept);
    rig.log.raise_log_start(bases[1].next()).unwrap();
    rig.append(&[(Some("k3"), Some("again"))]);
    rig.roll();
    rig.clean(NOW_MS);
    assert_eq!(newest(&rig.log)["k3"].1, "again");
    assert!(rig.records().iter().filter(|(_, key, _)| *key == some("k3")).count() == 1);
    assert!(rig.log.read(&request(bases[0].get())).is_err());
}

#[test]
fn files_under_temporary_names_beside_a_sound_segment_are_gone_after_a_start_and_the_records_are_there() {
    for suffix in [".cleaned", ".swap", ".deleted"] {
        for with_index in [true, false] {
            let rig = Rig::new(&config());
            for number in 0..30 {
                rig.append(&[(
                    Some(format!("k{}", number % 7).as_str()),
                    Some(format!("{number}").as_str()),
                )]);
            }
            rig.roll();
            rig.append(&[(Some("z"), Some("1"))]);
            let before = rig.records();
            let Rig { folder, log } = rig;
            let end = log.positions().log_end.offset.get();
            log.close(NOW_MS).unwrap();
            drop(log);
            for kind in ["log", "index", "timeindex"].iter().take(if with_index { 3 } else { 1 }) {
                let live = folder.path().join(format!("00000000000000000000.{kind}"));
                fs::copy(&live, folder.path().join(format!("00000000000000000000.{kind}{suffix}"))).unwrap();
            }
            let log = open(folder.path(), &config(), false, end).unwrap().0;
            assert_eq!(records(&log, false), before, "{suffix} {with_index}");
            assert!(names(folder.path()).iter().all(|name| !name.ends_with(suffix)));
        }
    }
}

#[test]
fn a_compaction_that_ends_early_hands_over_the_files_that_have_left_the_log() {
    let rig = Rig::new(&LogConfig { segment_bytes: 300, ..config() });
    for number in 0..12 {
        rig.append(&[(Some("a"), Some(format!("{number}").as_str()))]);
    }
    rig.roll();
    let mut cleaning = begin(&rig.log, 0, NOW_MS, LIMITS).unwrap();
    while rig.files(".deleted").is_empty() {
        assert!(matches!(cleaning.step().unwrap(), Step::More { .. }));
    }
    let removed = cleaning.take_removed();
    drop(cleaning);
    assert!(removed.iter().all(|files| files.bytes() > 0));
    for files in removed {
        files.delete().unwrap();
    }
    assert!(rig.files(".deleted").is_empty() && rig.staged().is_empty());
    assert_eq!(newest(&rig.log)["a"], (11, "11".to_owned()));
}

#[test]
fn a_failed_fsync_of_a_new_file_ends_writing_to_the_directory() {
    use ottla_storage::LogOpening;
    use ottla_storage::io::sim::{Fault, SimDisk, errno};

    let failed = (0..200).find(|call| {
        let disk = SimDisk::new();
        disk.root().folder("t-0").create().unwrap();
        let opening = LogOpening {
            directory: disk.root().folder("t-0"),
            config: config(),
            is_clean: false,
            log_start: Offset::ZERO,
            recovery_point: Offset::ZERO,
            now_ms: NOW_MS,
        };
        let log = Arc::new(DiskLog::open(opening).unwrap().0);
        append(&log, keyed(&[(Some("a"), Some("1")), (Some("a"), Some("2"))], From::default()));
        log.roll(NOW_MS).unwrap();
        log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        disk.plan(disk.calls() + call, Fault::Error(errno::EIO));
        match clean(&log, 0, NOW_MS) {
            Err(CleanError::Log(LogError::DirectoryFailed(failure))) => {
                let again = keyed(&[(Some("a"), Some("3"))], From::default());
                let refused = log.append_as_leader(again, LeaderEpoch::new(3), NOW_MS);
                assert!(matches!(refused, Err(LogError::DirectoryFailed(_))));
                assert!(matches!(log.read(&request(0)), Err(LogError::DirectoryFailed(_))));
                failure.to_string().contains(".cleaned")
            }
            _ => false,
        }
    });
    assert!(failed.is_some());
}

#[test]
fn a_compaction_takes_no_more_memory_than_its_limits_say() {
    let rig = Rig::new(&LogConfig { segment_bytes: 1 << 20, index_interval_bytes: 4096, ..config() });
    let value = "v".repeat(100);
    for chunk in 0..900 {
        let keys: Vec<_> = (0..100).map(|place| format!("key-{}", (chunk * 100 + place) % 30_000)).collect();
        let pairs: Vec<_> = keys.iter().map(|key| (Some(key.as_str()), Some(value.as_str()))).collect();
        rig.append(&pairs);
    }
    rig.append(&[(Some("last"), Some("1"))]);
    rig.roll();
    let limits = CleanerLimits { dedupe_buffer_bytes: 1 << 20, load_factor: 0.9, io_buffer_bytes: 64 << 10 };
    let allocated = allocation_counter::measure(|| {
        let report = finish(begin(&rig.log, 0, NOW_MS, limits).unwrap()).unwrap();
        assert_eq!((report.records_after, report.is_partial), (30_001, false));
    });
    // The map, a piece to read and one to write with the batch that made it full, indexes, and small things.
    let bound = limits.dedupe_buffer_bytes + 4 * limits.io_buffer_bytes as u64 + (128 << 10);
    assert!(allocated.bytes_max <= bound, "{} of {bound}", allocated.bytes_max);
}
