//! The power goes, or a call fails, at each call of a compaction, and again at each call of the start after it: every
//! surviving offset is there once, no key loses its newest value, aborted records stay hidden, producers go on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_model::{Offset, ProducerId};
use ottla_storage::compaction::CleanError;
use ottla_storage::io::sim::{Fault, SimDisk, errno};
use ottla_storage::{DiskLog, Log, LogConfig, LogError, LogOpening};

use super::support::{Dice, Found, From, append, clean, keyed, marker, newest, records};
use crate::support::{NOW_MS, request};

/// After the delete horizons that the first round sets.
const LATER_MS: i64 = NOW_MS + 2000;

fn config(segment_bytes: u32) -> LogConfig {
    LogConfig {
        segment_bytes,
        index_interval_bytes: 100,
        is_compacted: true,
        delete_retention_ms: 1000,
        min_cleanable_dirty_ratio: 0.0,
        ..LogConfig::default()
    }
}

/// A log of many small segments, all of them durable, and what is in it.
struct Template {
    disk: SimDisk,
    before: Before,
    written: BTreeMap<i64, Found>,
}

/// A copy of it, under way.
struct World {
    disk: SimDisk,
    log: Arc<DiskLog>,
    /// The number of the next call.
    start: u64,
}

fn open(disk: &SimDisk, end: i64, is_clean: bool) -> Result<Arc<DiskLog>, LogError> {
    let opening = LogOpening {
        directory: disk.root().folder("t-0"),
        config: config(1200),
        is_clean,
        log_start: Offset::ZERO,
        recovery_point: Offset::new(end),
        now_ms: NOW_MS,
    };
    DiskLog::open(opening).map(|(log, _)| Arc::new(log))
}

impl Template {
    fn new(seed: u64) -> Self {
        let disk = SimDisk::new();
        disk.root().folder("t-0").create().unwrap();
        disk.root().sync().unwrap();
        let log = open(&disk, 0, false).unwrap();
        log.configure(config(500));
        let mut dice = Dice(seed);
        let mut sequences = [0; 3];
        for number in 0..20 {
            let producer = usize::try_from(dice.below(3)).unwrap();
            let count = 1 + dice.below(3);
            let texts: Vec<_> = (0..count)
                .map(|place| (format!("k{}", dice.below(6)), format!("{number}.{place}"), dice.below(5) == 0))
                .collect();
            let pairs: Vec<_> = texts
                .iter()
                .map(|(key, value, is_tombstone)| {
                    (Some(key.as_str()), Some(value.as_str()).filter(|_| !is_tombstone))
                })
                .collect();
            let id = i64::try_from(producer).unwrap();
            let from = From {
                producer: Some((id, 0, sequences[producer])),
                transactional: producer > 0,
                ..From::default()
            };
            append(&log, keyed(&pairs, from));
            sequences[producer] += i32::try_from(count).unwrap();
            if producer > 0 && dice.below(3) == 0 {
                append(&log, marker(id, 0, dice.below(2) == 0));
            }
        }
        for id in [1, 2] {
            append(&log, marker(id, 0, id == 1));
        }
        append(&log, keyed(&[(Some("last"), Some("last"))], From::default()));
        log.roll(NOW_MS).unwrap();
        log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
        let written = records(&log, false).into_iter().map(|found| (found.0, found)).collect();
        let before = Before::of(&log);
        log.close(NOW_MS).unwrap();
        Self { disk, before, written }
    }

    fn world(&self) -> World {
        // All of it is durable, so nothing is lost.
        let disk = self.disk.after_crash(0);
        let log = open(&disk, self.before.end, true).unwrap();
        let start = disk.calls();
        World { disk, log, start }
    }

    /// How many calls a compaction makes that nothing disturbs.
    fn calls(&self) -> u64 {
        let world = self.world();
        world.compact().unwrap();
        world.disk.calls() - world.start
    }

    fn check_after_crash(&self, disk: &SimDisk, context: &str) {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let log = open(disk, self.before.end, false).unwrap();
            self.before.check(&log, &self.written);
            check_folder(disk);
            append(&log, keyed(&[(Some("new"), Some("x"))], From::default()));
            log.roll(NOW_MS).unwrap();
            log.flush_up_to(Offset::MAX, NOW_MS).unwrap();
            clean(&log, 0, LATER_MS).unwrap();
            let mut newest_now = newest(&log);
            newest_now.remove("new").unwrap();
            assert_eq!(newest_now, self.before.newest, "and it can be compacted");
        }));
        assert!(outcome.is_ok(), "{context}");
    }
}

impl World {
    /// Two rounds: the second one is past the horizons that the first set.
    fn compact(&self) -> Result<(), CleanError> {
        for removed in clean(&self.log, 0, NOW_MS)?.removed {
            removed.delete()?;
        }
        for removed in clean(&self.log, 0, LATER_MS)?.removed {
            removed.delete()?;
        }
        Ok(())
    }
}

impl World {
    /// As a log with `compact,delete`: between two rounds of compaction retention takes its oldest segments. Says where it
    /// begins then.
    fn compact_and_retain(&self) -> Result<Offset, CleanError> {
        self.log.configure(LogConfig { deletes: true, retention_bytes: Some(600), ..config(1200) });
        for removed in clean(&self.log, 0, NOW_MS)?.removed {
            removed.delete()?;
        }
        let end = self.log.positions().log_end.offset;
        let plan = self.log.begin_retention(end, NOW_MS)?;
        if let Some(end) = plan.end {
            self.log.remove_segments(end)?.delete()?;
        }
        for removed in clean(&self.log, 0, LATER_MS)?.removed {
            removed.delete()?;
        }
        Ok(self.log.positions().log_start)
    }
}

/// The newest values at and above an offset.
fn newest_from(newest: &BTreeMap<String, (i64, String)>, start: Offset) -> BTreeMap<String, (i64, String)> {
    let is_left = |value: &(i64, String)| value.0 >= start.get();
    newest
        .iter()
        .filter(|(_, value)| is_left(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// What a log must still be after anything.
struct Before {
    newest: BTreeMap<String, (i64, String)>,
    end: i64,
    sequences: Vec<Option<i32>>,
}

impl Before {
    fn of(log: &DiskLog) -> Self {
        let sequences = (0..3)
            .map(|id| log.producer(ProducerId::new(id)).and_then(|producer| producer.last_sequence))
            .collect();
        Self { newest: newest(log), end: log.positions().log_end.offset.get(), sequences }
    }

    fn check(&self, log: &DiskLog, written: &BTreeMap<i64, Found>) {
        let after = Self::of(log);
        assert_eq!(after.newest, self.newest);
        assert_eq!(after.end, self.end);
        assert_eq!(after.sequences, self.sequences, "producers go on");
        for found in records(log, false) {
            assert_eq!(written.get(&found.0), Some(&found), "a record is what it was");
        }
    }
}

fn check_folder(disk: &SimDisk) {
    for entry in disk.root().folder("t-0").list().unwrap() {
        let is_passing = [".cleaned", ".swap", ".deleted"].iter().any(|end| entry.name.ends_with(end));
        assert!(!is_passing, "{} is left", entry.name);
    }
}

#[test]
fn after_a_loss_of_power_at_any_call_every_offset_is_there_once_and_every_newest_value() {
    for seed in 0..2 {
        let template = Template::new(seed);
        let calls = template.calls();
        assert!(calls > 150, "{calls}");
        for call in 0..calls {
            let world = template.world();
            world.disk.plan(world.start + call, Fault::Crash);
            assert!(world.compact().is_err(), "the power went");
            for image in 0..2 {
                let disk = world.disk.after_crash(call * 31 + image);
                template.check_after_crash(&disk, &format!("seed {seed}, call {call}, image {image}"));
            }
        }
    }
}

#[test]
fn a_log_that_is_compacted_and_retained_has_all_from_where_it_begins_after_a_loss_of_power_at_any_call() {
    let template = Template::new(11);
    let world = template.world();
    let furthest = world.compact_and_retain().unwrap();
    let calls = world.disk.calls() - world.start;
    assert!(furthest > Offset::ZERO && calls > 150, "{calls} calls, up to {furthest}");
    let mut starts = BTreeSet::new();
    for call in 0..calls {
        let world = template.world();
        world.disk.plan(world.start + call, Fault::Crash);
        assert!(world.compact_and_retain().is_err(), "the power went");
        let disk = world.disk.after_crash(call);
        let log = open(&disk, template.before.end, false).unwrap();
        let positions = log.positions();
        let (start, end) = (positions.log_start, positions.log_end.offset.get());
        assert!(start <= furthest && end == template.before.end, "call {call}: {start} to {end}");
        let expected = newest_from(&template.before.newest, start);
        assert_eq!(newest_from(&newest(&log), start), expected, "call {call}");
        for found in records(&log, false) {
            assert_eq!(template.written.get(&found.0), Some(&found), "call {call}");
        }
        check_folder(&disk);
        starts.insert(start);
        clean(&log, 0, LATER_MS).unwrap();
        assert_eq!(newest_from(&newest(&log), start), expected, "call {call}: and it can be compacted");
    }
    assert!(starts.contains(&furthest) && starts.len() > 1, "{starts:?}");
}

#[test]
fn a_start_that_is_itself_interrupted_ends_the_same() {
    let template = Template::new(7);
    for call in (0..template.calls()).step_by(4) {
        let world = template.world();
        world.disk.plan(world.start + call, Fault::Crash);
        assert!(world.compact().is_err(), "the power went");
        let crashed = world.disk.after_crash(call);
        for second in 0.. {
            let disk = crashed.after_crash(0);
            disk.plan(second, Fault::Crash);
            // Only what comes before the log is looked at concerns a compaction.
            let is_started = open(&disk, template.before.end, false).is_ok();
            if is_started || second > 24 {
                break;
            }
            let disk = disk.after_crash(call * 31 + second);
            template.check_after_crash(&disk, &format!("call {call}, then {second}"));
        }
    }
}

#[test]
fn a_call_that_fails_leaves_a_log_that_is_whole_at_once_or_after_a_start() {
    let template = Template::new(9);
    for call in 0..template.calls() {
        let fault = match call % 3 {
            0 => Fault::Error(errno::EIO),
            1 => Fault::Error(errno::ENOSPC),
            _ => Fault::ShortWrite { bytes: 7, errno: errno::ENOSPC },
        };
        let world = template.world();
        world.disk.plan(world.start + call, fault);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if let Err(CleanError::Log(LogError::DirectoryFailed(_))) = world.compact() {
                // Offline until the next start.
                assert!(matches!(world.log.read(&request(0)), Err(LogError::DirectoryFailed(_))));
                return;
            }
            template.before.check(&world.log, &template.written);
            // Nothing but the attempt was lost.
            world.compact().unwrap();
            template.before.check(&world.log, &template.written);
        }));
        assert!(outcome.is_ok(), "call {call}");
        template.check_after_crash(&world.disk.after_crash(call), &format!("call {call}"));
    }
}
