//! Retention on a disk: what goes, what is written down before, what readers keep, and what a crash leaves.

use std::fs;
use std::sync::Arc;

use ottla_model::{Offset, PartitionIndex, TopicName, Uuid};
use ottla_storage::io::sim::{Fault, SimDisk};
use ottla_storage::{
    DiskLog, Log, LogConfig, LogDir, LogError, ReadEnd, ReadOutcome, RetentionReport, TopicPartition,
};

use crate::support::{EPOCH, NOW_MS, batch, batch_of, batches, bytes_of, names, request, spans};

const TOPIC_ID: Uuid = Uuid::from_bytes([7; 16]);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn named(topic: &str) -> TopicPartition {
    TopicPartition { topic: TopicName::from(topic), partition: PartitionIndex::new(0) }
}

/// A batch of ten records fills a segment.
fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 300,
        retention_ms: Some(7 * DAY_MS),
        file_delete_delay_ms: 1000,
        ..LogConfig::default()
    }
}

fn append(log: &DiskLog, timestamp_ms: i64) {
    log.append_as_leader(batch(timestamp_ms, 10, 10), EPOCH, NOW_MS).unwrap();
}

fn filled(directory: &LogDir, topic: &str, config: LogConfig, days: &[i64]) -> Arc<DiskLog> {
    let log = directory.create_log(&named(topic), TOPIC_ID, config, NOW_MS).unwrap();
    for days in days {
        append(&log, NOW_MS - days * DAY_MS);
    }
    log
}

fn pass(directory: &LogDir, now_ms: i64) -> RetentionReport {
    directory.apply_retention(&|_, log| Some(log.positions().log_end.offset), now_ms).unwrap()
}

fn log_bytes(log: &DiskLog) -> u64 {
    log.segments().unwrap().iter().map(|segment| segment.bytes).sum()
}

#[test]
fn old_segments_are_renamed_and_deleted_once_their_time_has_come() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[9, 8, 3, 0]);
    let report = pass(&directory, NOW_MS);
    assert_eq!((report.logs.len(), report.failed.len()), (1, 0));
    assert_eq!((report.logs[0].plan.by_time, report.logs[0].plan.roll_first), (2, false));
    assert_eq!(log.positions().log_start.get(), 20);
    assert_eq!(spans(&*log), [(20, 29), (30, 39)]);
    let files = names(&log.path());
    assert!(files.contains(&"00000000000000000000.log.deleted".to_owned()), "{files:?}");
    assert!(files.contains(&"00000000000000000010.timeindex.deleted".to_owned()), "{files:?}");
    assert!(files.contains(&"00000000000000000010.snapshot.deleted".to_owned()), "{files:?}");
    assert!(
        files.contains(&"00000000000000000020.snapshot".to_owned()),
        "what recovery needs stays: {files:?}"
    );
    assert_eq!(directory.next_deletion_ms(), Some(NOW_MS + 1000));
    assert_eq!(directory.delete_due(NOW_MS + 999).unwrap().files, 0);
    assert!(directory.delete_due(NOW_MS + 1000).unwrap().files > 4);
    assert!(names(&log.path()).iter().all(|name| !name.ends_with(".deleted")));
    assert_eq!(directory.next_deletion_ms(), None);
    assert_eq!(pass(&directory, NOW_MS).logs.len(), 0);
}

#[test]
fn the_log_start_is_in_its_checkpoint_before_any_file_goes() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[9, 8, 0]);
    // The rename fails as long as a folder has the name that a file is to get.
    fs::create_dir_all(log.path().join("00000000000000000000.log.deleted/x")).unwrap();
    let report = pass(&directory, NOW_MS);
    assert!(matches!(report.failed.as_slice(), [(_, LogError::Io { .. })]), "{report:?}");
    assert_eq!(log.positions().log_start.get(), 20);
    let text = fs::read_to_string(folder.path().join("log-start-offset-checkpoint")).unwrap();
    assert_eq!(text, "0\n1\nt 0 20\n");
    fs::remove_dir_all(log.path().join("00000000000000000000.log.deleted")).unwrap();
    drop((directory, log));

    let directory = LogDir::open(folder.path()).unwrap();
    let report = directory.load(1, NOW_MS, &|_| config()).unwrap();
    assert_eq!(report.logs[0].log.positions().log_start.get(), 20, "what was gone does not come back");
}

#[test]
fn a_reader_that_holds_a_slice_finishes_though_its_file_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[9, 0]);
    let ReadOutcome::Found(slice) = log.read(&request(0)).unwrap() else { panic!("there are records") };
    let before = bytes_of(&slice);
    pass(&directory, NOW_MS);
    directory.delete_due(i64::MAX).unwrap();
    assert!(!log.path().join("00000000000000000000.log.deleted").exists());
    assert_eq!(bytes_of(&slice), before);
    assert!(matches!(log.read(&request(5)), Err(LogError::OffsetOutOfRange { .. })));
}

#[test]
fn a_log_that_is_old_altogether_ends_up_empty_and_goes_on_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[8]);
    let report = pass(&directory, NOW_MS);
    assert!(report.logs[0].plan.roll_first);
    let positions = log.positions();
    assert_eq!((positions.log_start.get(), positions.log_end.offset.get()), (10, 10));
    assert_eq!(log_bytes(&log), 0);
    assert_eq!(pass(&directory, NOW_MS + 30 * DAY_MS).logs.len(), 0, "an empty last segment stays");
    append(&log, NOW_MS);
    assert_eq!(spans(&*log), [(10, 19)]);
    directory.close(1, NOW_MS).unwrap();
    drop((directory, log));
    let directory = LogDir::open(folder.path()).unwrap();
    let report = directory.load(1, NOW_MS, &|_| config()).unwrap();
    let log = &report.logs[0].log;
    assert_eq!((log.positions().log_start.get(), spans(&**log)), (10, vec![(10, 19)]));
}

#[test]
fn nothing_goes_above_the_bound_and_nothing_at_all_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[9, 9, 9]);
    directory.apply_retention(&|_, _| None, NOW_MS).unwrap();
    assert_eq!(log.positions().log_start.get(), 0);
    directory.apply_retention(&|_, _| Some(Offset::new(15)), NOW_MS).unwrap();
    assert_eq!(log.positions().log_start.get(), 10);
}

#[test]
fn size_counts_whatever_the_timestamps_and_the_log_start_whatever_the_policy() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let year_2100 = -40_000;
    let bytes = {
        let log = filled(&directory, "one", config(), &[0]);
        log_bytes(&log)
    };
    let by_size = LogConfig { retention_bytes: Some(2 * bytes), ..config() };
    let future = filled(&directory, "future", config(), &[year_2100, 9, 9]);
    let sized = filled(&directory, "sized", by_size, &[year_2100, 9, 9, 0]);
    let compact = LogConfig { is_compacted: true, deletes: false, ..config() };
    let compacted = filled(&directory, "compacted", compact, &[9, 9, 9]);
    compacted.raise_log_start(Offset::new(12)).unwrap();
    let report = pass(&directory, NOW_MS);
    assert_eq!(spans(&*future).len(), 3, "a timestamp in the future keeps its segment and all after it");
    let told = report.logs.iter().find(|log| log.partition == named("future")).unwrap();
    assert_eq!(told.plan.future.unwrap().timestamp_ms, NOW_MS + 40_000 * DAY_MS);
    assert_eq!(spans(&*sized), [(30, 39)], "two by size, then one by time");
    assert_eq!(compacted.positions().log_start.get(), 12);
    assert_eq!(compacted.first_segment_base().get(), 10);
}

#[test]
fn records_stamped_by_the_broker_go_by_that_time_whatever_their_own_says() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[]);
    // Of clients that are 40,000 days ahead, or behind.
    for (days_ahead, stamped_days) in [(40_000, 9), (-10_000, 8), (-10_000, 0)] {
        let mut batch = batch(NOW_MS + days_ahead * DAY_MS, 10, 10);
        batch.stamp_log_append_time(NOW_MS - stamped_days * DAY_MS);
        log.append_as_leader(batch, EPOCH, NOW_MS).unwrap();
    }
    let report = pass(&directory, NOW_MS);
    assert_eq!((report.logs[0].plan.by_time, report.logs[0].plan.future), (2, None));
    assert_eq!(spans(&*log), [(20, 29)]);
    assert_eq!(pass(&directory, NOW_MS + 7 * DAY_MS).logs.len(), 0);
    assert_eq!(pass(&directory, NOW_MS + 7 * DAY_MS + 1).logs[0].plan.by_time, 1);
    assert_eq!(spans(&*log), []);
}

#[test]
fn epochs_and_producers_of_what_is_gone_are_forgotten_and_the_rest_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = directory.create_log(&named("t"), TOPIC_ID, config(), NOW_MS).unwrap();
    for (number, epoch) in [(0, 3), (1, 3), (2, 5), (3, 6)] {
        let epoch = ottla_model::LeaderEpoch::new(epoch);
        log.append_as_leader(batch_of(9, 0, number * 10, 10), epoch, NOW_MS).unwrap();
    }
    log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    directory.checkpoint().unwrap();
    log.raise_log_start(Offset::new(25)).unwrap();
    pass(&directory, NOW_MS);
    directory.delete_due(i64::MAX).unwrap();
    assert_eq!(log.first_segment_base().get(), 20);
    let epoch = |log: &DiskLog, offset| log.epoch_for_offset(Offset::new(offset)).map(|epoch| epoch.get());
    assert_eq!((epoch(&log, 24), epoch(&log, 25), epoch(&log, 30)), (None, Some(5), Some(6)));
    let snapshots: Vec<_> =
        names(&log.path()).into_iter().filter(|name| name.ends_with(".snapshot")).collect();
    assert_eq!(snapshots, ["00000000000000000020.snapshot", "00000000000000000030.snapshot"]);
    drop((directory, log));

    let directory = LogDir::open(folder.path()).unwrap();
    let report = directory.load(1, NOW_MS, &|_| config()).unwrap();
    let log = &report.logs[0].log;
    assert_eq!(log.positions().log_start.get(), 25);
    assert_eq!((epoch(log, 24), epoch(log, 25)), (None, Some(5)));
    let again =
        log.append_as_leader(batch_of(9, 0, 30, 10), ottla_model::LeaderEpoch::new(6), NOW_MS).unwrap();
    assert!(again.duplicate, "its newest batches are known as before");
}

#[test]
fn a_log_whose_start_lies_beyond_its_records_begins_anew_there() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    drop(filled(&directory, "t", config(), &[0, 0]));
    drop(directory);
    fs::write(folder.path().join("log-start-offset-checkpoint"), "0\n1\nt 0 77\n").unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let report = directory.load(1, NOW_MS, &|_| config()).unwrap();
    let log = &report.logs[0].log;
    let positions = log.positions();
    assert_eq!((positions.log_start.get(), positions.log_end.offset.get()), (77, 77));
    append(log, NOW_MS);
    assert_eq!(spans(&**log), [(77, 86)]);
}

#[test]
fn entries_of_a_deleted_partition_do_not_meet_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[0, 0, 0]);
    log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    log.raise_log_start(Offset::new(25)).unwrap();
    directory.checkpoint().unwrap();
    directory.remove_log(&named("t"), NOW_MS).unwrap();
    let log = filled(&directory, "t", config(), &[0]);
    drop((directory, log));
    let directory = LogDir::open(folder.path()).unwrap();
    let report = directory.load(1, NOW_MS, &|_| config()).unwrap();
    assert_eq!(spans(&*report.logs[0].log), [(0, 9)]);
}

#[test]
fn a_log_that_did_not_open_keeps_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = filled(&directory, "t", config(), &[0, 0]);
    log.raise_log_start(Offset::new(12)).unwrap();
    directory.checkpoint().unwrap();
    directory.checkpoint_high_watermarks(&[(named("t"), Offset::new(20))]).unwrap();
    drop((directory, log));
    fs::write(folder.path().join("t-0/partition.metadata"), "nonsense").unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    assert_eq!(directory.load(1, NOW_MS, &|_| config()).unwrap().failed.len(), 1);
    directory.checkpoint().unwrap();
    directory.checkpoint_high_watermarks(&[]).unwrap();
    let file = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(file("log-start-offset-checkpoint"), "0\n1\nt 0 12\n");
    assert_eq!(file("replication-offset-checkpoint"), "0\n1\nt 0 20\n");
    let log = directory.create_log(&named("t"), TOPIC_ID, config(), NOW_MS).unwrap();
    assert_eq!((log.positions().log_start.get(), spans(&*log)), (12, vec![(10, 19)]));
}

/// Appends, flushes and retention on a disk that loses power at one call; afterwards the log start never falls behind
/// what a pass had written down, and everything flushed above it is there, in one run.
#[test]
fn a_crash_at_any_call_of_retention_brings_nothing_back_and_loses_nothing() {
    let life = |disk: &SimDisk, known: &mut (i64, i64)| -> Result<(), ottla_storage::LogDirError> {
        let directory = LogDir::open_unlocked(disk.root().folder("d"))?;
        disk.root().sync().map_err(|_| ottla_storage::LogDirError::NoDirectory)?;
        directory.load(1, NOW_MS, &|_| config())?;
        let log = directory.create_log(&named("t"), TOPIC_ID, config(), NOW_MS)?;
        for round in 0..6_i64 {
            for _ in 0..2 {
                log.append_as_leader(batch(NOW_MS + round * DAY_MS, 10, 10), EPOCH, NOW_MS)?;
            }
            known.1 = log.flush_up_to(Offset::MAX, NOW_MS)?.get();
            directory.checkpoint()?;
            let report = directory.apply_retention(
                &|_, log| Some(log.positions().log_end.offset),
                NOW_MS + (round + 5) * DAY_MS,
            )?;
            if let Some((_, error)) = report.failed.into_iter().next() {
                return Err(error.into());
            }
            known.0 = log.positions().log_start.get();
            directory.delete_due(if round % 2 == 0 { i64::MAX } else { 0 })?;
        }
        Ok(())
    };
    let calls = {
        let disk = SimDisk::new();
        let mut known = (0, 0);
        life(&disk, &mut known).unwrap();
        assert!(known.0 >= 60, "retention had something to do: {known:?}");
        disk.calls()
    };
    for call in 4..calls {
        let disk = SimDisk::new();
        disk.plan(call, Fault::Crash);
        let mut known = (0, 0);
        assert!(life(&disk, &mut known).is_err(), "call {call}");
        for seed in 0..3 {
            let after = disk.after_crash(call * 10 + seed);
            let directory = LogDir::open_unlocked(after.root().folder("d")).unwrap();
            let report = directory.load(1, NOW_MS, &|_| config()).unwrap();
            assert!(report.failed.is_empty(), "call {call} seed {seed}: {:?}", report.failed);
            let Some(loaded) = report.logs.first() else {
                assert_eq!(known, (0, 0), "call {call} seed {seed}");
                continue;
            };
            let positions = loaded.log.positions();
            assert!(positions.log_start.get() >= known.0, "call {call} seed {seed}: {positions:?} {known:?}");
            assert!(
                positions.log_end.offset.get() >= known.1,
                "call {call} seed {seed}: {positions:?} {known:?}"
            );
            let mut next = None;
            for batch in batches(&*loaded.log, positions.log_start.get(), ReadEnd::LogEnd, 1 << 20) {
                let base = batch.header().base_offset();
                assert!(
                    next.is_none_or(|next| next == base),
                    "call {call} seed {seed}: {base} after {next:?}"
                );
                next = Some(batch.header().next_offset());
            }
            assert!(next.is_none_or(|next| next == positions.log_end.offset), "call {call} seed {seed}");
        }
    }
}
