//! What is left of a log after every kind of end: killed, torn, flipped, with files missing or too many.

use std::fs;

use ottla_model::{LeaderEpoch, Offset};
use ottla_storage::{Damage, Log, LogConfig};

use crate::support::{NOW_MS, TestLog, batch, batch_of, content, copy_folder, names, open, spans};

fn config() -> LogConfig {
    LogConfig { segment_bytes: 1000, index_interval_bytes: 150, ..LogConfig::default() }
}

/// Thirty batches of two records each by two producers, over several segments.
fn written() -> TestLog {
    let test = TestLog::new(config());
    for number in 0..15 {
        test.append(batch_of(1, 0, number * 2, 2));
        test.append(batch_of(2, 5, number * 2, 2));
    }
    assert!(test.names().iter().filter(|name| name.ends_with(".log")).count() >= 3);
    test
}

fn whole() -> Vec<(i64, i64)> {
    (0..30).map(|number| (number * 2, number * 2 + 1)).collect()
}

fn last_log(test: &TestLog) -> String {
    test.names().into_iter().rfind(|name| name.ends_with(".log")).unwrap()
}

#[test]
fn a_killed_log_comes_back_whole_and_goes_on() {
    for recovery_point in [0, 1, 20, 59, 60, 1000] {
        let (test, recovery) = written().killed(recovery_point);
        assert_eq!(recovery.cut, None);
        assert!(recovery.scanned_segments >= 1);
        assert_eq!(spans(&test.log), whole());
        assert_eq!(test.log.latest_epoch(), Some(LeaderEpoch::new(3)));
        let retry = test.log.append_as_leader(batch_of(1, 0, 28, 2), LeaderEpoch::new(3), NOW_MS).unwrap();
        assert!(retry.duplicate, "a producer's retry is known after a crash");
        assert_eq!(test.append(batch_of(1, 0, 30, 2)), 60);
        assert_eq!(test.append(batch_of(2, 5, 30, 2)), 62);
    }
}

#[test]
fn only_what_lies_at_or_after_the_recovery_point_is_scanned() {
    let (_, all) = written().killed(0);
    let (_, some) = written().killed(55);
    let (_, last) = written().killed(60);
    assert!(some.scanned_segments < all.scanned_segments);
    assert!(last.scanned_segments <= some.scanned_segments);
    assert!(last.scanned_bytes < all.scanned_bytes);
}

#[test]
fn files_after_a_kill_and_an_orderly_stop_are_those_of_an_orderly_stop_alone() {
    let stopped = written().stopped();
    let (recovered, _) = written().killed(0);
    let recovered = recovered.stopped();
    assert_eq!(recovered.names(), stopped.names());
    for name in stopped.names() {
        assert_eq!(content(&recovered.file(&name)), content(&stopped.file(&name)), "{name}");
    }
}

#[test]
fn a_log_torn_at_any_byte_of_its_last_batch_loses_that_batch_alone_and_says_so() {
    let test = written();
    let name = last_log(&test);
    let bytes = content(&test.file(&name));
    let start = bytes.len() - batch_of(2, 5, 28, 2).size();
    for torn in start..bytes.len() {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(test.folder.path(), folder.path());
        fs::write(folder.path().join(&name), &bytes[..torn]).unwrap();
        let (log, recovery) = open(folder.path(), &config(), false, 60).unwrap();
        assert_eq!(spans(&log), whole()[..29], "torn at {torn}");
        assert_eq!(log.positions().log_end.offset.get(), 58);
        let cut = recovery.cut;
        if torn == start {
            assert_eq!(cut, None, "nothing of the batch is left to be cut");
            continue;
        }
        let cut = cut.unwrap();
        assert_eq!(cut.file, folder.path().join(&name));
        assert_eq!((cut.position, cut.bytes), (start as u64, (torn - start) as u64));
        assert!(matches!(cut.damage, Damage::HeaderCut { .. } | Damage::BatchCut { .. }), "{cut:?}");
        assert_eq!(content(&folder.path().join(&name)).len(), start);
        let next = log.append_as_leader(batch_of(2, 5, 28, 2), LeaderEpoch::new(3), NOW_MS).unwrap();
        assert_eq!(next.base_offset.get(), 58, "the producer may send it again");
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_segment_cuts_the_log_at_its_batch() {
    let test = written();
    let name = "00000000000000000000.log";
    let bytes = content(&test.file(name));
    let size = batch_of(1, 0, 0, 2).size();
    // Offset and leader epoch are not covered by the checksum; what can be known of them is that offsets ascend.
    let is_covered = |at: usize| (8..12).contains(&(at % size)) || at % size >= 16;
    for at in (0..bytes.len()).filter(|at| is_covered(*at)) {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(test.folder.path(), folder.path());
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x04;
        fs::write(folder.path().join(name), &flipped).unwrap();
        let (log, recovery) = open(folder.path(), &config(), false, 0).unwrap();
        let kept = at / size;
        assert_eq!(spans(&log), whole()[..kept], "byte {at}");
        let cut = recovery.cut.unwrap();
        assert_eq!(cut.position, (kept * size) as u64);
        assert!(cut.segments_deleted >= 2);
        assert_eq!(names(folder.path()).iter().filter(|name| name.ends_with(".log")).count(), 1);
        assert_eq!(
            log.append_as_leader(batch(NOW_MS, 1, 1), LeaderEpoch::new(3), NOW_MS).unwrap().base_offset.get(),
            kept as i64 * 2
        );
    }
}

#[test]
fn garbage_after_the_last_batch_is_cut_also_where_the_stop_is_said_to_be_clean() {
    for garbage in [&[0; 9][..], &[0xff; 100], &[0; 300]] {
        let test = written().stopped();
        let name = last_log(&test);
        let mut bytes = content(&test.file(&name));
        let end = bytes.len();
        bytes.extend_from_slice(garbage);
        drop(test.log);
        fs::write(test.folder.path().join(&name), &bytes).unwrap();
        let (log, _) = open(test.folder.path(), &config(), true, 60).unwrap();
        assert_eq!(spans(&log), whole());
        assert_eq!(content(&test.folder.path().join(&name)).len(), end);
    }
}

#[test]
fn indexes_that_lie_cost_a_longer_search_and_no_record() {
    let test = written().stopped();
    let bases: Vec<String> =
        test.names().iter().filter_map(|name| Some(name.strip_suffix(".log")?.to_owned())).collect();
    let lies: [&[u8]; 5] =
        [&[], &[0; 4096], &[0xff; 77], &[0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 1], &[1]];
    for lie in lies {
        for suffix in [".index", ".timeindex"] {
            for base in &bases {
                let folder = tempfile::tempdir().unwrap();
                copy_folder(test.folder.path(), folder.path());
                fs::write(folder.path().join(format!("{base}{suffix}")), lie).unwrap();
                let (log, _) = open(folder.path(), &config(), true, 60).unwrap();
                assert_eq!(spans(&log), whole(), "{base}{suffix} as {lie:?}");
            }
        }
    }
}

#[test]
fn missing_indexes_are_made_anew_with_the_same_bytes() {
    let test = written().stopped();
    let is_index = |name: &&String| name.ends_with(".index") || name.ends_with(".timeindex");
    for name in test.names().iter().filter(is_index) {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(test.folder.path(), folder.path());
        fs::remove_file(folder.path().join(name)).unwrap();
        let (log, recovery) = open(folder.path(), &config(), true, 60).unwrap();
        assert_eq!(recovery.cut, None);
        assert_eq!(spans(&log), whole());
        log.close(NOW_MS).unwrap();
        assert_eq!(content(&folder.path().join(name)), content(&test.file(name)), "{name}");
    }
}

#[test]
fn a_producer_snapshot_that_does_not_read_is_made_up_for_by_the_one_before_and_the_batches() {
    let test = written().stopped();
    let snapshots: Vec<String> =
        test.names().into_iter().filter(|name| name.ends_with(".snapshot")).collect();
    for broken in 1..snapshots.len() {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(test.folder.path(), folder.path());
        for name in &snapshots[broken..] {
            fs::write(folder.path().join(name), b"no snapshot").unwrap();
        }
        let (log, _) = open(folder.path(), &config(), true, 60).unwrap();
        let retry = log.append_as_leader(batch_of(1, 0, 28, 2), LeaderEpoch::new(3), NOW_MS).unwrap();
        assert!(retry.duplicate);
        let gap = log.append_as_leader(batch_of(2, 5, 31, 2), LeaderEpoch::new(3), NOW_MS);
        assert!(gap.is_err());
    }
}

#[test]
fn unfinished_files_of_a_deletion_or_a_compaction_are_settled_as_kafka_does() {
    let test = written();
    let log = "00000000000000000000.log";
    let size = batch_of(1, 0, 0, 2).size();
    let bytes = content(&test.file(log));
    drop(test.log);
    let folder = test.folder.path();
    fs::write(folder.join("00000000000000000040.log.deleted"), b"x").unwrap();
    fs::write(folder.join("00000000000000000050.index.cleaned"), b"x").unwrap();
    fs::write(folder.join("00000000000000000055.log.swap"), b"x").unwrap();
    fs::write(folder.join("00000000000000000099.timeindex"), b"x").unwrap();
    fs::write(folder.join("unknown"), b"x").unwrap();
    // A compaction kept the first three batches of the first segment.
    fs::write(folder.join(format!("{log}.swap")), &bytes[..3 * size]).unwrap();
    let (log, recovery) = open(folder, &config(), false, 0).unwrap();
    assert_eq!(recovery.cut, None);
    let spans = spans(&log);
    assert_eq!(spans[..3], whole()[..3]);
    assert_eq!(spans[3..], whole()[bytes.len() / size..]);
    let left = names(folder);
    assert!(left.contains(&"unknown".to_owned()));
    assert!(!left.iter().any(|name| name.contains(".deleted") || name.contains(".cleaned")), "{left:?}");
    assert!(!left.iter().any(|name| name.contains(".swap") || name.contains("099")), "{left:?}");
}

#[test]
fn a_log_start_beyond_the_log_begins_the_log_anew_there() {
    let test = written();
    drop(test.log);
    let opening = ottla_storage::LogOpening {
        directory: std::sync::Arc::new(ottla_storage::io::posix::PosixDirectory::new(test.folder.path())),
        config: config(),
        is_clean: false,
        log_start: Offset::new(500),
        recovery_point: Offset::ZERO,
        now_ms: NOW_MS,
    };
    let (log, _) = ottla_storage::DiskLog::open(opening).unwrap();
    let positions = log.positions();
    assert_eq!((positions.log_start.get(), positions.log_end.offset.get()), (500, 500));
    assert_eq!(spans(&log), []);
    assert_eq!(log.latest_epoch(), None);
}
