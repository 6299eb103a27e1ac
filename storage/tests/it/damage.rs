//! Files that were damaged behind the log's back: zeros, holes, lying indexes, checkpoints that do not read. What is
//! lost is told with its place; what is not lost answers as before.

use std::fs;

use ottla_model::{LeaderEpoch, Offset};
use ottla_storage::{Cut, Damage, DiskLog, Hole, Log, LogConfig, ReadEnd, Recovery};

use crate::support::{NOW_MS, TestLog, batch, batches, content, copy_folder, names, open, spans};

const BATCHES: i64 = 30;
const END: i64 = BATCHES * 2;

fn config() -> LogConfig {
    LogConfig { segment_bytes: 1000, index_interval_bytes: 150, ..LogConfig::default() }
}

/// Batches of two records each, ten milliseconds apart, over several segments; closed.
fn stopped() -> TestLog {
    let test = TestLog::new(config());
    for number in 0..BATCHES {
        test.append(batch(NOW_MS + number * 10, 2, 10));
    }
    test.stopped()
}

fn whole() -> Vec<(i64, i64)> {
    (0..BATCHES).map(|number| (number * 2, number * 2 + 1)).collect()
}

fn bases(test: &TestLog) -> Vec<i64> {
    test.names().iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect()
}

fn log_of(base: i64) -> String {
    format!("{base:020}.log")
}

/// Opens a copy of the log after `change` was done to one of its files.
fn changed(
    test: &TestLog,
    name: &str,
    is_clean: bool,
    recovery_point: i64,
    change: impl FnOnce(&mut Vec<u8>),
) -> (tempfile::TempDir, DiskLog, Recovery) {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(test.folder.path(), folder.path());
    let path = folder.path().join(name);
    let mut bytes = content(&path);
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    let (log, recovery) = open(folder.path(), &test.config, is_clean, recovery_point).unwrap();
    (folder, log, recovery)
}

fn times(log: &DiskLog) -> Vec<Option<i64>> {
    let offset = |ms| log.offset_for_time(ms).unwrap().map(|found| found.offset.get());
    let mut times: Vec<_> = (-1..=BATCHES).map(|number| offset(NOW_MS + number * 10 - 5)).collect();
    times.push(log.offset_of_max_timestamp().unwrap().map(|found| found.offset.get()));
    times
}

#[test]
fn an_active_segment_of_zeros_is_told_and_one_that_is_empty_as_well() {
    let test = stopped();
    let last = *bases(&test).last().unwrap();
    for is_clean in [true, false] {
        for recovery_point in if is_clean { vec![END] } else { vec![0, last, END] } {
            let (folder, log, recovery) =
                changed(&test, &log_of(last), is_clean, recovery_point, |bytes| bytes.fill(0));
            assert_eq!(log.positions().log_end.offset.get(), last);
            let size = content(&test.file(&log_of(last))).len() as u64;
            let file = folder.path().join(log_of(last));
            let damage = Damage::ZeroTail;
            let cut = Cut { file, position: 0, damage, bytes: size, segments_deleted: 0 };
            assert_eq!(recovery.cut, Some(cut));
            assert_eq!(
                recovery.missing_below,
                Some(Offset::new(END)),
                "the producer snapshot knows its offset"
            );

            let (_folder, _log, recovery) =
                changed(&test, &log_of(last), is_clean, recovery_point, Vec::clear);
            assert_eq!(recovery.missing_below, Some(Offset::new(END)));
        }
    }
}

#[test]
fn reserved_room_beyond_all_that_is_known_is_no_finding() {
    let test = TestLog::new(LogConfig { preallocate: true, ..config() });
    for number in 0..3 {
        test.append(batch(NOW_MS + number, 2, 10));
    }
    let (test, recovery) = test.killed(6);
    assert_eq!((recovery.cut, recovery.missing_below), (None, None));
    assert_eq!(test.end(), 6);
    let (_folder, log, recovery) = changed(&test, &log_of(0), false, 6, |bytes| bytes.fill(0));
    assert_eq!(log.positions().log_end.offset.get(), 0);
    assert_eq!(recovery.cut.unwrap().damage, Damage::ZeroTail);
    assert_eq!(recovery.missing_below, Some(Offset::new(6)));
}

#[test]
fn a_hole_between_two_segments_is_told_with_both_its_ends() {
    let test = stopped();
    let bases = bases(&test);
    for (number, base) in bases.iter().enumerate().take(bases.len() - 1) {
        let name = log_of(*base);
        let size = content(&test.file(&name)).len() as u64;
        for (zeros, is_clean) in [(0, false), (size, false), (0, true)] {
            let (folder, log, recovery) =
                changed(&test, &name, is_clean, if is_clean { END } else { 0 }, |bytes| {
                    bytes.fill(0);
                    bytes.truncate(usize::try_from(zeros).unwrap());
                });
            let next = bases[number + 1];
            let hole = Hole {
                file: folder.path().join(&name),
                position: 0,
                bytes: zeros,
                from: Offset::new(*base),
                to: Offset::new(next),
            };
            assert_eq!(recovery.holes, [hole]);
            assert_eq!(recovery.cut, None);
            let read = batches(&log, next, ReadEnd::LogEnd, 1 << 20);
            assert_eq!(read.first().map(|batch| batch.header().base_offset().get()), Some(next));
            assert_eq!(log.positions().log_end.offset.get(), END);
        }
    }
}

/// What is done to a file.
type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn a_time_index_whose_end_is_wrong_is_made_anew_and_the_answers_stay() {
    let test = stopped();
    let expected = times(&test.log);
    let later = (NOW_MS + 1_000_000).to_be_bytes();
    let beyond: Vec<u8> = later.iter().copied().chain([0, 0, 0xff, 0xff]).collect();
    for base in bases(&test) {
        for suffix in ["timeindex", "index"] {
            let name = format!("{base:020}.{suffix}");
            let sound = content(&test.file(&name));
            let changes: [Change<'_>; 6] = [
                &|bytes| bytes.truncate(bytes.len().saturating_sub(1)),
                &|bytes| bytes.truncate(bytes.len().saturating_sub(7)),
                &|bytes| bytes.extend([0xff; 100]),
                &|bytes| bytes.extend_from_slice(&beyond),
                &|bytes| bytes.fill(0),
                &Vec::clear,
            ];
            for (number, change) in changes.iter().enumerate() {
                let (folder, log, recovery) = changed(&test, &name, true, END, change);
                assert_eq!(times(&log), expected, "{name}, change {number}");
                assert_eq!(spans(&log), whole());
                assert_eq!((recovery.cut, recovery.holes), (None, Vec::new()));
                if suffix == "timeindex" {
                    log.close(NOW_MS).unwrap();
                    assert_eq!(content(&folder.path().join(&name)), sound, "{name}, change {number}");
                }
            }
        }
    }
}

/// The batch in which a look-up of each offset ends.
fn looked_up(log: &DiskLog) -> Vec<i64> {
    let first = |offset| batches(log, offset, ReadEnd::LogEnd, 1)[0].header().base_offset().get();
    (0..END).map(first).collect()
}

#[test]
fn a_wrong_byte_in_a_sealed_index_changes_no_answer_and_what_was_met_is_made_anew_by_the_next_start() {
    let test = stopped();
    let (sound_times, sound_places) = (times(&test.log), looked_up(&test.log));
    let mut mended = 0;
    let sealed = bases(&test).len() - 1;
    for base in &bases(&test)[..sealed] {
        for suffix in ["index", "timeindex"] {
            let name = format!("{base:020}.{suffix}");
            let sound = content(&test.file(&name));
            for place in 0..sound.len() {
                let flip = if place % 3 == 0 { 0x40 } else { 0x01 };
                let (folder, log, recovery) = changed(&test, &name, true, END, |bytes| bytes[place] ^= flip);
                assert_eq!(looked_up(&log), sound_places, "{name}, byte {place} ^ {flip}");
                assert_eq!(times(&log), sound_times, "{name}, byte {place} ^ {flip}");
                assert_eq!((recovery.cut, recovery.holes), (None, Vec::new()));
                log.close(NOW_MS).unwrap();
                drop(log);
                let (log, _) = open(folder.path(), &test.config, true, END).unwrap();
                assert_eq!(looked_up(&log), sound_places, "{name}, byte {place} ^ {flip}, after a start");
                // Each entry is met at its own offset, as long as their order is right.
                if suffix == "index" && place % 8 >= 4 {
                    assert_eq!(content(&folder.path().join(&name)), sound, "byte {place} ^ {flip}");
                    mended += 1;
                }
            }
        }
    }
    assert!(mended > 10, "{mended} were made anew");
}

#[test]
fn a_healthy_log_is_opened_without_a_look_at_its_batches() {
    let test = stopped();
    let (_, recovery) = open(test.folder.path(), &test.config, true, END).unwrap();
    assert_eq!(recovery, Recovery::default());
}

#[test]
fn leader_epochs_that_do_not_read_are_found_in_the_batches() {
    let test = TestLog::new(config());
    for number in 0..BATCHES {
        let epoch = LeaderEpoch::new(i32::try_from(number / 7).unwrap());
        test.log.append_as_leader(batch(NOW_MS, 2, 10), epoch, NOW_MS).unwrap();
    }
    let test = test.stopped();
    let name = "leader-epoch-checkpoint";
    let sound = content(&test.file(name));
    for is_clean in [true, false] {
        for damaged in [&b"junk\xff\0"[..], b"0\n99\n0 5\n", b"1\n0\n"] {
            let (folder, log, _) = changed(&test, name, is_clean, END, |bytes| *bytes = damaged.to_vec());
            assert_eq!(log.latest_epoch(), Some(LeaderEpoch::new(4)));
            assert_eq!(log.epoch_for_offset(Offset::new(14)), Some(LeaderEpoch::new(1)));
            log.append_as_leader(batch(NOW_MS, 2, 10), LeaderEpoch::new(4), NOW_MS).unwrap();
            log.close(NOW_MS).unwrap();
            assert_eq!(content(&folder.path().join(name)), sound, "the file is written over");
        }
    }
}

#[test]
fn an_empty_segment_far_beyond_the_end_is_removed_and_the_end_stays() {
    for is_clean in [true, false] {
        let test = stopped();
        let far = log_of(9999);
        fs::write(test.file(&far), b"").unwrap();
        let (log, recovery) = open(test.folder.path(), &test.config, is_clean, END).unwrap();
        assert_eq!(log.positions().log_end.offset.get(), END);
        assert_eq!((recovery.cut, recovery.missing_below), (None, None));
        assert!(!names(test.folder.path()).contains(&far));
        assert_eq!(spans(&log), whole());
    }
    let compacted = stopped();
    fs::write(compacted.file(&log_of(9999)), b"").unwrap();
    let config = LogConfig { is_compacted: true, ..config() };
    let (log, _) = open(compacted.folder.path(), &config, true, END).unwrap();
    assert_eq!(log.positions().log_end.offset.get(), 9999, "offsets may be missing in a compacted log");
}
