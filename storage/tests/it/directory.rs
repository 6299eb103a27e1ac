//! Log directories: the lock, identity, creation and deletion of logs, checkpoints, stops.

use std::fs;

use ottla_model::{NodeId, Offset, PartitionIndex, TopicName, Uuid};
use ottla_storage::{Log, LogConfig, LogDir, LogDirError, LogError, MetaProperties, TopicPartition};

use crate::support::{EPOCH, NOW_MS, batch, names, request, spans};

fn named(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition { topic: TopicName::from(topic), partition: PartitionIndex::new(partition) }
}

fn load(directory: &LogDir) -> ottla_storage::LoadReport {
    directory.load(2, NOW_MS, &|_| LogConfig::default()).unwrap()
}

const TOPIC_ID: Uuid = Uuid::from_bytes([7; 16]);

#[test]
fn a_directory_has_one_owner_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = LogDir::open(folder.path()).unwrap();
    let refused = LogDir::open(folder.path()).unwrap_err();
    assert!(matches!(&refused, LogDirError::InUse { path } if path == folder.path()), "{refused}");
    drop(first);
    LogDir::open(folder.path()).unwrap();
}

#[test]
fn a_directory_is_empty_until_something_is_stored_in_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lost+found")).unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    assert!(directory.is_empty().unwrap());
    assert_eq!(directory.properties().unwrap(), None);
    let properties = MetaProperties {
        cluster_id: "MkU3OEVBNTcwNTJENDM2Qg".to_owned(),
        node_id: NodeId::new(4),
        directory_id: Some(TOPIC_ID),
    };
    directory.write_properties(&properties).unwrap();
    assert_eq!(directory.properties().unwrap(), Some(properties));
    assert!(!directory.is_empty().unwrap());
}

#[test]
fn logs_survive_an_orderly_stop_and_a_kill_with_all_that_is_known_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    assert!(load(&directory).logs.is_empty());
    for partition in 0..3 {
        let log = directory.create_log(&named("a.b-c", partition), TOPIC_ID, LogConfig::default(), NOW_MS);
        let log = log.unwrap();
        for _ in 0..=partition {
            log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS).unwrap();
        }
    }
    let again = directory.create_log(&named("a.b-c", 0), TOPIC_ID, LogConfig::default(), NOW_MS);
    assert!(matches!(again, Err(LogDirError::Exists { .. })));
    let marks = [(named("a.b-c", 1), Offset::new(15)), (named("a.b-c", 2), Offset::new(99))];
    directory.checkpoint_high_watermarks(&marks).unwrap();
    directory.close(41, NOW_MS).unwrap();
    drop(directory);

    let directory = LogDir::open(folder.path()).unwrap();
    assert!(directory.was_clean());
    assert_eq!(directory.previous_broker_epoch(), Some(41));
    let report = load(&directory);
    assert!(!names(folder.path()).contains(&".kafka_cleanshutdown".to_owned()));
    let told: Vec<_> = report
        .logs
        .iter()
        .map(|loaded| {
            let positions = loaded.log.positions();
            assert_eq!(loaded.topic_id, Some(TOPIC_ID));
            assert_eq!(loaded.recovery.scanned_segments, 0);
            assert_eq!(positions.recovery_point, positions.log_end.offset);
            (loaded.partition.partition.get(), positions.log_end.offset.get(), loaded.high_watermark.get())
        })
        .collect();
    assert_eq!(told, [(0, 10, 0), (1, 20, 15), (2, 30, 30)]);
    directory.log(&named("a.b-c", 0)).unwrap().append_as_leader(batch(NOW_MS, 5, 1), EPOCH, NOW_MS).unwrap();
    drop((directory, report));

    let directory = LogDir::open(folder.path()).unwrap();
    assert!(!directory.was_clean());
    let report = load(&directory);
    assert!(report.logs.iter().all(|loaded| loaded.recovery.scanned_segments == 1));
    assert_eq!(spans(&*report.logs[0].log), [(0, 9), (10, 14)]);
    assert_eq!(report.logs[0].log.positions().recovery_point.get(), 10);
}

#[test]
fn a_removed_log_is_gone_at_once_and_its_files_when_they_are_purged() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let name = named("t", 0);
    let log = directory.create_log(&name, TOPIC_ID, LogConfig::default(), NOW_MS).unwrap();
    log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS).unwrap();
    directory.remove_log(&name, NOW_MS).unwrap();
    assert!(directory.log(&name).is_none());
    let refused = log.append_as_leader(batch(NOW_MS, 10, 10), EPOCH, NOW_MS);
    assert!(matches!(refused, Err(LogError::Closed)));
    assert!(matches!(log.flush_up_to(Offset::MAX, NOW_MS), Err(LogError::Closed)));
    assert!(matches!(log.read(&request(0)), Err(LogError::Closed)));
    assert!(directory.failure().is_none(), "a flush that comes too late is no fault of the disk");
    let gone = format!("t-0.{}-delete", "07".repeat(16));
    assert_eq!(names(folder.path()), [".lock", &gone]);
    assert!(matches!(directory.remove_log(&name, NOW_MS), Err(LogDirError::Unknown { .. })));
    let anew = directory.create_log(&name, Uuid::from_bytes([8; 16]), LogConfig::default(), NOW_MS).unwrap();
    assert_eq!(anew.positions().log_end.offset, Offset::ZERO);
    drop(directory);

    let directory = LogDir::open(folder.path()).unwrap();
    let report = load(&directory);
    assert_eq!(report.logs.len(), 1);
    assert_eq!(directory.delete_due(NOW_MS).unwrap().folders, 1);
    let folders = || -> Vec<_> {
        names(folder.path())
            .into_iter()
            .filter(|name| !name.ends_with("-checkpoint") && name != ".lock")
            .collect()
    };
    assert_eq!(folders(), ["t-0"]);
    directory.set_aside(&name).unwrap();
    assert_eq!(folders(), [format!("t-0.{}-stray", "08".repeat(16))]);
    drop((directory, report));
    assert!(load(&LogDir::open(folder.path()).unwrap()).logs.is_empty());
}

#[test]
fn one_log_that_cannot_be_opened_does_not_keep_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    for partition in 0..3 {
        directory.create_log(&named("t", partition), TOPIC_ID, LogConfig::default(), NOW_MS).unwrap();
    }
    directory.close(1, NOW_MS).unwrap();
    drop(directory);
    fs::write(folder.path().join("t-1/partition.metadata"), "nonsense").unwrap();
    fs::write(folder.path().join("t-2/partition.metadata"), "version: 0\ntopic_id: x").unwrap();
    fs::create_dir(folder.path().join("neither-this")).unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let report = load(&directory);
    assert_eq!(report.logs.len(), 1);
    let failed: Vec<_> = report.failed.iter().map(|(folder, _)| folder.as_str()).collect();
    assert_eq!(failed, ["t-1", "t-2"]);
    assert!(report.failed.iter().all(|(_, error)| matches!(error, LogError::Malformed { .. })));
    directory.close(2, NOW_MS).unwrap();
    assert!(names(folder.path()).contains(&".kafka_cleanshutdown".to_owned()), "what failed is as it was");
}

#[test]
fn a_log_that_was_not_recovered_keeps_its_recovery_point_and_the_stop_from_being_clean() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let log = directory.create_log(&named("t", 0), TOPIC_ID, LogConfig::default(), NOW_MS).unwrap();
    log.append_as_leader(batch(NOW_MS, 7, 10), EPOCH, NOW_MS).unwrap();
    log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
    directory.checkpoint().unwrap();
    drop((directory, log));
    let id = folder.path().join("t-0/partition.metadata");
    let sound = fs::read(&id).unwrap();
    fs::write(&id, "nonsense").unwrap();
    for _ in 0..2 {
        let directory = LogDir::open(folder.path()).unwrap();
        assert_eq!(load(&directory).failed.len(), 1);
        directory.close(2, NOW_MS).unwrap();
        assert!(!names(folder.path()).contains(&".kafka_cleanshutdown".to_owned()));
        let points = fs::read_to_string(folder.path().join("recovery-point-offset-checkpoint")).unwrap();
        assert_eq!(points, "0\n1\nt 0 7\n");
    }
    fs::write(&id, sound).unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    let report = load(&directory);
    assert_eq!(report.logs[0].recovery.scanned_segments, 1);
    assert_eq!(spans(&*report.logs[0].log), [(0, 6)]);
}

#[test]
fn an_internal_log_lives_beside_the_topics_and_is_not_loaded_with_them() {
    let folder = tempfile::tempdir().unwrap();
    for run in 0..3 {
        let directory = LogDir::open(folder.path()).unwrap();
        let opened = directory.open_internal("__cluster_metadata-0", LogConfig::default(), NOW_MS);
        let (log, recovery) = opened.unwrap();
        assert_eq!(recovery.cut, None);
        assert_eq!(log.positions().log_end.offset.get(), run * 2);
        log.append_as_leader(batch(NOW_MS, 2, 10), EPOCH, NOW_MS).unwrap();
        log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        assert!(load(&directory).logs.is_empty());
        if run == 1 {
            log.close(NOW_MS).unwrap();
            directory.close(1, NOW_MS).unwrap();
        }
    }
}

#[test]
fn how_far_a_log_was_compacted_is_kept_and_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cleaner-offset-checkpoint");
    let directory = LogDir::open(folder.path()).unwrap();
    load(&directory);
    let (one, other) = (named("a", 1), named("b", 0));
    for name in [&one, &other] {
        directory.create_log(name, TOPIC_ID, LogConfig::default(), NOW_MS).unwrap();
        assert_eq!(directory.cleaner_offset(name), None);
    }
    directory.set_cleaner_offset(&one, Offset::new(70)).unwrap();
    directory.set_cleaner_offset(&other, Offset::new(5)).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "0\n2\na 1 70\nb 0 5\n");
    directory.lower_cleaner_offset(&one, Offset::new(60)).unwrap();
    directory.lower_cleaner_offset(&other, Offset::new(60)).unwrap();
    drop(directory);

    let directory = LogDir::open(folder.path()).unwrap();
    load(&directory);
    assert_eq!(directory.cleaner_offset(&one), Some(Offset::new(60)));
    assert_eq!(directory.cleaner_offset(&other), Some(Offset::new(5)));
    directory.remove_log(&one, NOW_MS).unwrap();
    assert_eq!(directory.cleaner_offset(&one), None);
    assert_eq!(fs::read_to_string(&file).unwrap(), "0\n1\nb 0 5\n");
    drop(directory);

    fs::write(&file, "0\n2\nb 0 5\n").unwrap();
    let directory = LogDir::open(folder.path()).unwrap();
    load(&directory);
    assert_eq!(directory.cleaner_offset(&other), None, "what does not read is compacted anew");
}

#[test]
fn a_directory_that_was_removed_is_not_made_again_for_a_new_partition() {
    let above = tempfile::tempdir().unwrap();
    let path = above.path().join("data");
    let directory = LogDir::open(&path).unwrap();
    directory.load(1, NOW_MS, &|_| LogConfig::default()).unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    let name = TopicPartition { topic: TopicName::new("late"), partition: PartitionIndex::new(0) };
    let made = directory.create_log(&name, Uuid::from_bytes([7; 16]), LogConfig::default(), NOW_MS);
    assert!(made.is_err());
    assert!(directory.failure().is_some());
    assert!(!path.exists());
}
