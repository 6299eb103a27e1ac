//! Log directories as a set: which of them works, where partitions go, and their way from one to another through every
//! crash.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{NodeId, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName, Uuid};
use ottla_storage::compaction::{Cleaner, CleanerLimits, Step};
use ottla_storage::io::sim::{Fault, SimDisk};
use ottla_storage::{
    DiskLog, Log, LogConfig, LogDir, LogDirError, LogDirs, LogDirsReport, LogError, LogMove, MetaProperties,
    ReadEnd, TopicPartition,
};

use crate::support::{EPOCH, NOW_MS, batch, batch_of, batches, copy_folder, names, request, spans};

const TOPIC_ID: Uuid = Uuid::from_bytes([7; 16]);

fn named(partition: i32) -> TopicPartition {
    TopicPartition { topic: TopicName::from("t"), partition: PartitionIndex::new(partition) }
}

fn id(number: u8) -> Uuid {
    Uuid::from_bytes([number + 1; 16])
}

/// Four batches of ten records to a segment.
fn config() -> LogConfig {
    LogConfig { segment_bytes: 1000, index_interval_bytes: 100, ..LogConfig::default() }
}

fn identify(dir: &LogDir, number: u8) {
    let properties = MetaProperties {
        cluster_id: "MkU3OEVBNTcwNTJENDM2Qg".to_owned(),
        node_id: NodeId::new(1),
        directory_id: Some(id(number)),
    };
    if dir.properties().unwrap().is_none() {
        dir.write_properties(&properties).unwrap();
    }
}

/// Directories `0`, `1`, … of a folder.
struct Home {
    folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

impl Home {
    fn new(count: u8) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = (0..count).map(|number| folder.path().join(number.to_string())).collect();
        Self { folder, paths }
    }

    fn open(&self) -> LogDirs {
        let dirs = LogDirs::open(&self.paths, 100).unwrap();
        for dir in dirs.iter() {
            let number = dir.path().file_name().unwrap().to_str().unwrap().parse().unwrap();
            identify(dir, number);
        }
        dirs
    }

    fn load(&self) -> (LogDirs, LogDirsReport) {
        let dirs = self.open();
        let report = load(&dirs).unwrap();
        (dirs, report)
    }

    fn folders(&self, number: usize) -> Vec<String> {
        let found = names(&self.paths[number]).into_iter();
        found.filter(|name| self.paths[number].join(name).is_dir()).collect()
    }

    fn path(&self, number: usize, name: &str) -> PathBuf {
        self.paths[number].join(name)
    }
}

fn load(dirs: &LogDirs) -> Result<LogDirsReport, LogDirError> {
    dirs.load(1, NOW_MS, &|_| config())
}

fn make(dirs: &LogDirs, number: u8, partition: i32, batches: i64) -> Arc<DiskLog> {
    let dir = dirs.by_id(id(number)).unwrap();
    let log = dir.create_log(&named(partition), TOPIC_ID, config(), NOW_MS).unwrap();
    for _ in 0..batches {
        log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS).unwrap();
    }
    log
}

fn copied(dirs: &LogDirs, partition: i32, target: u8) -> LogMove {
    let mut moving = dirs.begin_move(&named(partition), id(target)).unwrap();
    while moving.copy(500).unwrap().missing_bytes > 0 {}
    moving
}

fn where_is(dirs: &LogDirs, partition: i32) -> Option<Uuid> {
    dirs.find(&named(partition)).and_then(|(dir, _)| dir.id())
}

#[test]
fn a_partition_goes_where_it_is_assigned_or_where_there_are_fewest() {
    let home = Home::new(3);
    let (dirs, _) = home.load();
    make(&dirs, 0, 0, 1);
    make(&dirs, 0, 1, 1);
    make(&dirs, 1, 2, 1);
    let place = |assigned, is_new| dirs.place(assigned, is_new).unwrap().id();
    assert_eq!(place(Some(id(0)), true), Some(id(0)));
    assert_eq!(place(None, true), Some(id(2)));
    assert_eq!(place(Some(Uuid::ZERO), false), Some(id(2)), "an unassigned one goes anywhere");
    make(&dirs, 2, 3, 1);
    assert_eq!(place(None, true), Some(id(1)), "of several with the same number the first");
}

#[test]
fn a_directory_that_cannot_be_opened_takes_only_its_own_partitions_with_it() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    make(&dirs, 0, 0, 1);
    make(&dirs, 1, 1, 1);
    drop(dirs);
    fs::rename(&home.paths[1], home.folder.path().join("away")).unwrap();
    fs::write(&home.paths[1], "no folder").unwrap();
    let (dirs, report) = home.load();
    assert_eq!(report.loaded.len(), 1);
    assert_eq!(where_is(&dirs, 0), Some(id(0)));
    assert_eq!(where_is(&dirs, 1), None);
    let failed = dirs.failed();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].0, home.paths[1]);
    assert!(!dirs.have_all_failed());
    // What was there before must not be made anew, empty, elsewhere; what is new may go anywhere.
    let refused = dirs.place(Some(id(1)), false).unwrap_err();
    assert!(matches!(&refused, LogDirError::Offline { path, .. } if *path == home.paths[1]), "{refused}");
    assert!(matches!(dirs.place(None, false), Err(LogDirError::Offline { .. })));
    assert_eq!(dirs.place(Some(id(1)), true).unwrap().id(), Some(id(0)));
    assert_eq!(dirs.place(Some(id(0)), false).unwrap().id(), Some(id(0)));
}

#[test]
fn without_any_directory_that_works_there_is_no_set() {
    let home = Home::new(2);
    for path in &home.paths {
        fs::write(path, "no folder").unwrap();
    }
    assert!(matches!(LogDirs::open(&home.paths, 100), Err(LogDirError::Log(LogError::DirectoryFailed(_)))));
}

#[test]
fn a_directory_in_use_is_refused_altogether() {
    let home = Home::new(2);
    let one = LogDir::open(&home.paths[1]).unwrap();
    assert!(matches!(LogDirs::open(&home.paths, 100), Err(LogDirError::InUse { .. })));
    drop(one);
    home.open();
}

#[test]
fn a_directory_whose_checkpoints_do_not_read_is_offline_and_the_others_serve() {
    for file in
        ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"]
    {
        let home = Home::new(2);
        let (dirs, _) = home.load();
        make(&dirs, 0, 0, 1);
        make(&dirs, 1, 1, 1);
        drop(dirs);
        fs::write(home.path(1, file), "0\n5\nnonsense\n").unwrap();
        let (dirs, report) = home.load();
        assert_eq!(report.loaded.len(), 1, "{file}");
        assert_eq!((where_is(&dirs, 0), where_is(&dirs, 1)), (Some(id(0)), None), "{file}");
        let failure = dirs.by_id(id(1)).unwrap().failure().unwrap().to_string();
        assert!(failure.contains(file), "{failure}");
        assert!(matches!(dirs.place(Some(id(1)), false), Err(LogDirError::Offline { .. })), "{file}");
    }
}

#[test]
fn a_failed_directory_answers_reads_and_writes_alike_and_the_other_goes_on() {
    let disk = SimDisk::new();
    let dirs: Vec<_> = ["0", "1"]
        .iter()
        .zip(0..)
        .map(|(name, number)| {
            let dir = Arc::new(LogDir::open_unlocked(disk.root().folder(name)).unwrap());
            identify(&dir, number);
            dir
        })
        .collect();
    let dirs = LogDirs::of(dirs);
    load(&dirs).unwrap();
    let (failing, other) = (make(&dirs, 0, 0, 1), make(&dirs, 1, 1, 1));
    // The next call is the fsync of the log's file.
    disk.plan(disk.calls(), Fault::Error(ottla_storage::io::sim::errno::EIO));
    assert!(matches!(failing.flush_up_to(Offset::MAX, NOW_MS), Err(LogError::DirectoryFailed(_))));
    let append = |log: &DiskLog| log.append_as_leader(batch(NOW_MS, 1, 1), EPOCH, NOW_MS);
    assert!(matches!(append(&failing), Err(LogError::DirectoryFailed(_))));
    assert!(matches!(failing.read(&request(0)), Err(LogError::DirectoryFailed(_))));
    assert!(matches!(failing.offset_for_time(0), Err(LogError::DirectoryFailed(_))));
    append(&other).unwrap();
    other.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    assert_eq!(spans(&*other).len(), 2);
    let failed = dirs.failed();
    assert_eq!((failed.len(), failed[0].1), (1, Some(id(0))));
    assert!(failed[0].2.to_string().contains(".log"), "{}", failed[0].2);
    assert!(dirs.begin_move(&named(1), id(0)).is_err(), "nothing moves into a failed directory");
}

#[test]
fn two_directories_with_one_id_are_refused() {
    let home = Home::new(2);
    drop(home.load());
    fs::copy(home.path(0, "meta.properties"), home.path(1, "meta.properties")).unwrap();
    assert!(matches!(load(&home.open()), Err(LogDirError::SameId { .. })));
}

#[test]
fn a_partition_in_two_directories_is_refused_and_nothing_is_touched() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    make(&dirs, 0, 0, 3);
    drop(dirs);
    copy_folder(&home.path(0, "t-0"), &home.path(1, "t-0"));
    let refused = load(&home.open()).unwrap_err();
    assert!(matches!(&refused, LogDirError::Twice { partition, .. } if *partition == named(0)), "{refused}");
    assert_eq!((home.folders(0), home.folders(1)), (vec!["t-0".to_owned()], vec!["t-0".to_owned()]));
    fs::remove_dir_all(home.path(1, "t-0")).unwrap();
    let (dirs, _) = home.load();
    assert_eq!(where_is(&dirs, 0), Some(id(0)));
}

#[test]
fn a_partition_moves_while_it_serves_with_all_that_is_known_of_it() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    let log = dirs.by_id(id(0)).unwrap().create_log(&named(0), TOPIC_ID, config(), NOW_MS).unwrap();
    let mut sequence = 0;
    let mut append = |log: &DiskLog, batches: i32| {
        for _ in 0..batches {
            let epoch = ottla_model::LeaderEpoch::new(3 + sequence / 100);
            log.append_as_leader(batch_of(9, 0, sequence, 10), epoch, NOW_MS).unwrap();
            sequence += 10;
        }
    };
    append(&log, 25);
    log.raise_log_start(Offset::new(13)).unwrap();
    dirs.by_id(id(0)).unwrap().set_cleaner_offset(&named(0), Offset::new(50)).unwrap();
    let mut moving = dirs.begin_move(&named(0), id(1)).unwrap();
    assert!(matches!(dirs.begin_move(&named(0), id(1)), Err(LogDirError::Moving { .. })));
    let first = moving.copy(700).unwrap();
    assert!(first.copied_bytes >= 700 && first.missing_bytes > 0, "{first:?}");
    append(&log, 10);
    while moving.copy(700).unwrap().missing_bytes > 0 {}
    append(&log, 1);
    assert_eq!(home.folders(1), [format!("t-0.{}-future", "07".repeat(16))]);
    let before = spans(&*log);
    let positions = log.positions();
    let moved = moving.finish(NOW_MS, NOW_MS + 1000).unwrap();
    assert_eq!(where_is(&dirs, 0), Some(id(1)));
    assert_eq!(spans(&*moved), before);
    assert_eq!(moved.positions().log_start.get(), 13);
    assert_eq!(moved.positions().log_end.offset, positions.log_end.offset);
    assert_eq!(moved.positions().recovery_point, positions.log_end.offset);
    assert_eq!(moved.latest_epoch(), log.latest_epoch());
    assert!(matches!(log.read(&request(20)), Err(LogError::Closed)));
    assert!(matches!(log.append_as_leader(batch(NOW_MS, 1, 1), EPOCH, NOW_MS), Err(LogError::Closed)));
    let again = batch_of(9, 0, 350, 10);
    let again = moved.append_as_leader(again, ottla_model::LeaderEpoch::new(6), NOW_MS).unwrap();
    assert!(again.duplicate, "the producer's last batch is known");
    append(&moved, 1);
    let (old, new) = (dirs.by_id(id(0)).unwrap(), dirs.by_id(id(1)).unwrap());
    assert_eq!((old.cleaner_offset(&named(0)), new.cleaner_offset(&named(0))), (None, Some(Offset::new(50))));
    assert_eq!(home.folders(0), [format!("t-0.{}-delete", "07".repeat(16))]);
    assert_eq!(home.folders(1), ["t-0"]);
    assert!(!names(&home.path(1, "t-0")).contains(&"moved-here".to_owned()));
    assert_eq!(old.delete_due(NOW_MS + 1000).unwrap().folders, 1);
    drop((dirs, log, moved));

    let (dirs, report) = home.load();
    assert_eq!(where_is(&dirs, 0), Some(id(1)));
    let (_, log) = dirs.find(&named(0)).unwrap();
    assert_eq!(log.positions().log_start.get(), 13);
    assert_eq!(spans(&*log).len(), before.len() + 1);
    assert!(report.interrupted.is_empty());
    // And back again.
    drop((report, log));
    let moved = copied(&dirs, 0, 0).finish(NOW_MS, NOW_MS).unwrap();
    assert_eq!((where_is(&dirs, 0), spans(&*moved).len()), (Some(id(0)), before.len() + 1));
}

#[test]
fn a_move_follows_a_log_that_retention_and_truncation_change() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    let log = make(&dirs, 0, 0, 30);
    let mut moving = copied(&dirs, 0, 1);
    log.raise_log_start(Offset::new(100)).unwrap();
    dirs.by_id(id(0))
        .unwrap()
        .apply_retention(&|_, log| Some(log.positions().log_end.offset), NOW_MS)
        .unwrap();
    dirs.by_id(id(0)).unwrap().delete_due(i64::MAX).unwrap();
    log.truncate_to(Offset::new(250), NOW_MS).unwrap();
    for _ in 0..3 {
        log.append_as_leader(batch(NOW_MS + 5, 7, 12), EPOCH, NOW_MS).unwrap();
    }
    while moving.copy(900).unwrap().missing_bytes > 0 {}
    let before: Vec<_> =
        batches(&*log, 100, ReadEnd::LogEnd, 1 << 20).iter().map(|b| b.bytes().to_vec()).collect();
    let first = log.first_segment_base();
    let moved = moving.finish(NOW_MS, NOW_MS).unwrap();
    let after: Vec<_> =
        batches(&*moved, 100, ReadEnd::LogEnd, 1 << 20).iter().map(|b| b.bytes().to_vec()).collect();
    assert_eq!(after, before);
    assert_eq!(moved.first_segment_base(), first);
    assert_eq!(moved.positions().log_start.get(), 100);
}

#[test]
fn a_move_follows_a_compaction_and_takes_aborted_transactions_along() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    let config = LogConfig { is_compacted: true, deletes: false, min_cleanable_dirty_ratio: 0.0, ..config() };
    let log = dirs.by_id(id(0)).unwrap().create_log(&named(0), TOPIC_ID, config, NOW_MS).unwrap();
    let append = |batch| log.append_as_leader(batch, EPOCH, NOW_MS).unwrap();
    for round in 0..40_u8 {
        append(keyed(&[b'k', round % 3], None));
    }
    for sequence in 0..3 {
        append(keyed(b"aborted", Some(sequence)));
    }
    let marker = EndTxnMarker { committed: false, coordinator_epoch: 1 };
    append(marker.to_batch(ProducerId::new(5), ProducerEpoch::new(1), NOW_MS).unwrap());
    append(keyed(b"last", None));
    log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    let mut moving = copied(&dirs, 0, 1);
    let bytes = log.size_bytes();
    clean(&log);
    assert!(log.size_bytes() < bytes, "the compaction has exchanged segments");
    while moving.copy(300).unwrap().missing_bytes > 0 {}
    append(keyed(b"later", None));
    let bytes = |log: &DiskLog| -> Vec<_> {
        batches(log, 0, ReadEnd::LogEnd, 1 << 20).iter().map(|batch| batch.bytes().to_vec()).collect()
    };
    let aborted = |log: &DiskLog| log.aborted_transactions(Offset::ZERO, Offset::MAX).unwrap();
    let (before, aborted_before) = (bytes(&log), aborted(&log));
    let moved = moving.finish(NOW_MS, NOW_MS).unwrap();
    assert_eq!(bytes(&moved), before);
    assert_eq!(aborted(&moved), aborted_before);
    assert_eq!(moved.producers(), log.producers());
    drop((dirs, log));
    let (dirs, _) = home.load();
    assert_eq!(aborted(&dirs.find(&named(0)).unwrap().1), aborted_before, "also by a scan");
}

fn keyed(key: &[u8], transaction: Option<i32>) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Compression::NONE).with_transactional(transaction.is_some());
    if let Some(sequence) = transaction {
        builder = builder.with_producer(ProducerId::new(5), ProducerEpoch::new(0), sequence);
    }
    let value = [b'v'; 100];
    let record = NewRecord { timestamp_ms: NOW_MS, key: Some(key), value: Some(&value), headers: &[] };
    builder.append(&record).unwrap();
    builder.finish().unwrap()
}

fn clean(log: &Arc<DiskLog>) {
    let plan = log.plan_cleaning(log.positions().log_end.offset, None, NOW_MS).unwrap();
    let cleaner = Cleaner::new(CleanerLimits::default()).unwrap();
    let mut cleaning = cleaner.begin(log, &plan, NOW_MS, 7).unwrap();
    while let Step::More { .. } = cleaning.step().unwrap() {}
}

#[test]
fn a_move_can_be_given_up_and_ends_with_its_topic() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    let log = make(&dirs, 0, 0, 3);
    copied(&dirs, 0, 1).cancel().unwrap();
    assert!(home.folders(1).is_empty());
    log.append_as_leader(batch(NOW_MS, 1, 1), EPOCH, NOW_MS).unwrap();
    let mut moving = copied(&dirs, 0, 1);
    dirs.by_id(id(0)).unwrap().remove_log(&named(0), NOW_MS).unwrap();
    assert!(matches!(moving.copy(1), Err(LogDirError::Log(LogError::Closed))));
    assert!(moving.finish(NOW_MS, NOW_MS).is_err());
    assert_eq!(where_is(&dirs, 0), None);
    assert!(matches!(dirs.begin_move(&named(0), id(1)), Err(LogDirError::Unknown { .. })));
}

#[test]
fn an_interrupted_move_is_told_at_the_start_and_can_be_begun_anew() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    make(&dirs, 0, 0, 9);
    let mut moving = dirs.begin_move(&named(0), id(1)).unwrap();
    moving.copy(900).unwrap();
    drop((moving, dirs));
    let (dirs, report) = home.load();
    let told: Vec<_> =
        report.interrupted.iter().map(|(partition, dir)| (partition.clone(), dir.id())).collect();
    assert_eq!(told, [(named(0), Some(id(1)))]);
    assert_eq!(where_is(&dirs, 0), Some(id(0)));
    assert_eq!(dirs.by_id(id(1)).unwrap().held(), 1);
    let moved = copied(&dirs, 0, 1).finish(NOW_MS, NOW_MS).unwrap();
    assert_eq!(spans(&*moved).len(), 9);
    assert_eq!(home.folders(1), ["t-0"]);
}

#[test]
fn a_copy_without_its_log_becomes_the_log_unless_a_directory_is_missing() {
    let home = Home::new(3);
    let (dirs, _) = home.load();
    make(&dirs, 0, 0, 5);
    drop((copied(&dirs, 0, 1), dirs));
    fs::remove_dir_all(home.path(0, "t-0")).unwrap();
    let future = format!("t-0.{}-future", "07".repeat(16));
    fs::rename(&home.paths[2], home.folder.path().join("away")).unwrap();
    fs::write(&home.paths[2], "no folder").unwrap();
    let (dirs, report) = home.load();
    assert_eq!((where_is(&dirs, 0), report.interrupted.len()), (None, 1));
    assert_eq!(home.folders(1), [future]);
    drop((dirs, report));
    fs::remove_file(&home.paths[2]).unwrap();
    fs::rename(home.folder.path().join("away"), &home.paths[2]).unwrap();
    let (dirs, report) = home.load();
    assert_eq!((where_is(&dirs, 0), report.interrupted.len()), (Some(id(1)), 0));
    assert_eq!(spans(&*dirs.find(&named(0)).unwrap().1).len(), 5);
}

#[test]
fn a_call_that_fails_during_a_move_leaves_the_log_where_it_was_or_where_it_goes() {
    let life = |disk: &SimDisk, call: Option<u64>| {
        let dirs = two(disk);
        load(&dirs).unwrap();
        let log = make(&dirs, 0, 0, 9);
        log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        let begun = disk.calls();
        if let Some(call) = call {
            disk.plan(begun + call, Fault::Error(ottla_storage::io::sim::errno::EIO));
        }
        let moved = move_all(&dirs, &log);
        (dirs, log, moved, disk.calls() - begun)
    };
    let (.., calls) = life(&SimDisk::new(), None);
    let mut ends = [0; 3];
    for call in 0..calls {
        let disk = SimDisk::new();
        let (dirs, log, moved, _) = life(&disk, Some(call));
        let append = |log: &DiskLog| log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS);
        let mut expected: Vec<_> = (0..11).map(|number| (number * 10, number * 10 + 9)).collect();
        match moved {
            Ok(moved) => {
                append(&moved).unwrap();
                assert!(append(&log).is_err(), "call {call}: one log at a time takes writes");
                ends[0] += 1;
            }
            Err(error) => match append(&log) {
                Ok(_) => ends[1] += 1,
                Err(LogError::DirectoryFailed(_) | LogError::Closed) => {
                    expected.pop();
                    ends[2] += 1;
                }
                Err(other) => panic!("call {call}: {error}, then {other}"),
            },
        }
        drop((dirs, log));
        // As after a kill: everything that was written is there.
        let dirs = two(&disk);
        load(&dirs).unwrap();
        let (_, log) = dirs.find(&named(0)).unwrap_or_else(|| panic!("call {call}: the log is gone"));
        assert_eq!(spans(&*log), expected, "call {call}");
    }
    assert!(ends.iter().all(|end| *end > 0), "{ends:?}");
}

fn two(disk: &SimDisk) -> LogDirs {
    let dir = |name: &str, number| {
        let dir = Arc::new(LogDir::open_unlocked(disk.root().folder(name)).unwrap());
        identify(&dir, number);
        dir
    };
    let dirs = LogDirs::of(vec![dir("0", 0), dir("1", 1)]);
    disk.root().sync().unwrap();
    dirs
}

/// A move, with an append in its middle that is tried again where it hits the fault.
fn move_all(dirs: &LogDirs, log: &DiskLog) -> Result<Arc<DiskLog>, LogDirError> {
    let append = || log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS);
    let begun = dirs.begin_move(&named(0), id(1));
    let first = begun.and_then(|mut moving| moving.copy(900).map(|_| moving));
    append().or_else(|_| append()).unwrap();
    let mut moving = first?;
    while moving.copy(900)?.missing_bytes > 0 {}
    moving.finish(NOW_MS, NOW_MS)
}

/// Appends, flushes and a move there and back, with a loss of power at one call: every flushed record is in the one log
/// that there is, and the interrupted move can be begun anew.
#[test]
fn a_crash_at_any_call_of_a_move_leaves_the_log_in_one_place() {
    let life = |disk: &SimDisk, dirs: &LogDirs, flushed: &mut i64| -> Result<(), LogDirError> {
        let mut log = dirs.find(&named(0)).unwrap().1;
        for round in 0..2_u8 {
            let target = id(1 - round);
            let mut moving = dirs.begin_move(&named(0), target)?;
            moving.copy(900)?;
            log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS)?;
            *flushed = log.flush_up_to(Offset::MAX, NOW_MS)?.get();
            dirs.iter().try_for_each(|dir| dir.checkpoint())?;
            while moving.copy(900)?.missing_bytes > 0 {}
            log = moving.finish(NOW_MS, NOW_MS)?;
            log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS)?;
            *flushed = log.flush_up_to(Offset::MAX, NOW_MS)?.get();
            for dir in dirs.iter() {
                dir.delete_due(i64::MAX)?;
            }
        }
        let _ = disk;
        Ok(())
    };
    let begin = |disk: &SimDisk| {
        let dirs = two(disk);
        load(&dirs).unwrap();
        let log = make(&dirs, 0, 0, 9);
        log.raise_log_start(Offset::new(5)).unwrap();
        log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        dirs.iter().for_each(|dir| dir.checkpoint().unwrap());
        dirs
    };
    let calls = {
        let disk = SimDisk::new();
        let dirs = begin(&disk);
        let begun = disk.calls();
        life(&disk, &dirs, &mut 0).unwrap();
        disk.calls() - begun
    };
    let mut places: BTreeMap<Option<Uuid>, usize> = BTreeMap::new();
    for call in 0..calls {
        let disk = SimDisk::new();
        let dirs = begin(&disk);
        disk.plan(disk.calls() + call, Fault::Crash);
        let mut flushed = 90;
        assert!(life(&disk, &dirs, &mut flushed).is_err() || call + 3 > calls, "call {call}");
        for seed in 0..4 {
            let seed = call * 10 + seed;
            let after = disk.after_crash(seed);
            let dirs = two(&after);
            let report = load(&dirs).unwrap_or_else(|error| panic!("call {call} seed {seed}: {error}"));
            let (dir, log) =
                dirs.find(&named(0)).unwrap_or_else(|| panic!("call {call} seed {seed}: no log"));
            *places.entry(dir.id()).or_default() += 1;
            let target = if dir.id() == Some(id(0)) { 1 } else { 0 };
            let positions = log.positions();
            assert_eq!(positions.log_start.get(), 5, "call {call} seed {seed}");
            let end = positions.log_end.offset.get();
            assert!(end >= flushed, "call {call} seed {seed}: {end} of {flushed}");
            let expected: Vec<_> = (0..end / 10).map(|number| (number * 10, number * 10 + 9)).collect();
            assert_eq!(spans(&*log), expected, "call {call} seed {seed}");
            for (partition, _) in &report.interrupted {
                assert_eq!(*partition, named(0));
            }
            let moved = copied(&dirs, 0, target).finish(NOW_MS, NOW_MS).unwrap();
            assert_eq!(spans(&*moved), expected, "call {call} seed {seed}");
        }
    }
    assert_eq!(places.len(), 2, "{places:?}");
}

#[test]
fn the_folders_of_another_partition_are_not_touched_by_a_move() {
    let home = Home::new(2);
    let (dirs, _) = home.load();
    make(&dirs, 0, 0, 2);
    make(&dirs, 0, 10, 2);
    let other = home.path(1, &format!("t-10.{}-future", "07".repeat(16)));
    drop((copied(&dirs, 10, 1), dirs));
    assert!(Path::new(&other).exists());
    let (dirs, _) = home.load();
    copied(&dirs, 0, 1).finish(NOW_MS, NOW_MS).unwrap();
    assert!(Path::new(&other).exists());
    assert!(dirs.by_id(id(1)).unwrap().drop_future(&named(10)).unwrap());
    assert!(!Path::new(&other).exists());
}
