//! One log on a disk whose calls fail once, or that lies: nothing that was acknowledged is lost, and the log goes on or
//! says why not. Every run has a number that it is made from; a failing one prints it. `OTTLA_CRASH_RUNS=N` in the
//! environment makes N times as many runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_model::Offset;
use ottla_model::batch::{BatchBuilder, CheckedBatch, NewRecord, RecordBatch};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, ProducerEpoch, ProducerId};
use ottla_storage::io::Directory;
use ottla_storage::io::sim::{Fault, SimDisk, errno};
use ottla_storage::{DiskLog, Log, LogConfig, LogError, LogOpening, ReadEnd, ReadOutcome, ReadRequest};

use crate::support::{NOW_MS, batches, bytes_of, request};

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// What the log should hold, and what of it must survive.
#[derive(Default)]
struct Twin {
    /// Each value that was ever appended at an offset, the newest last. An older one may come back when a truncation
    /// was not yet durable.
    values: BTreeMap<i64, Vec<Vec<u8>>>,
    end: i64,
    flushed: i64,
    /// The recovery point as the directory's checkpoint file has it.
    checkpoint: i64,
    is_clean: bool,
    next_sequence: i32,
    /// The power went before there was any recovery point: a log with a hole is then believed to have lost a file, not
    /// the end of one.
    may_have_holes: bool,
    /// Where batches begin.
    bases: Vec<i64>,
}

struct World {
    disk: SimDisk,
    config: LogConfig,
    twin: Twin,
    appends: u64,
}

impl World {
    fn folder(&self) -> Arc<dyn Directory> {
        self.disk.root().folder("t-0")
    }

    fn open(&self) -> Result<DiskLog, LogError> {
        let opening = LogOpening {
            directory: self.folder(),
            config: self.config.clone(),
            is_clean: self.twin.is_clean,
            log_start: Offset::ZERO,
            recovery_point: Offset::new(self.twin.checkpoint),
            now_ms: NOW_MS,
        };
        DiskLog::open(opening).map(|(log, _)| log)
    }

    fn batch(&mut self, dice: &mut Dice) -> (CheckedBatch, Vec<Vec<u8>>) {
        self.appends += 1;
        let records = 1 + dice.below(3);
        let mut builder = BatchBuilder::new(Compression::NONE).with_producer(
            ProducerId::new(5),
            ProducerEpoch::new(0),
            self.twin.next_sequence,
        );
        let mut values = Vec::new();
        for number in 0..records {
            let mut value = format!("{}.{number}", self.appends).into_bytes();
            value.resize(value.len() + usize::try_from(dice.below(200)).unwrap(), b'.');
            let timestamp_ms = NOW_MS + i64::try_from(dice.below(1000)).unwrap();
            let record = NewRecord { timestamp_ms, value: Some(&value), ..NewRecord::default() };
            builder.append(&record).unwrap();
            values.push(value);
        }
        (builder.finish().unwrap(), values)
    }

    fn append(&mut self, log: &DiskLog, dice: &mut Dice) -> Result<(), LogError> {
        let (batch, values) = self.batch(dice);
        // Whatever becomes of it, the bytes may be found after a crash.
        for (offset, value) in (self.twin.end..).zip(&values) {
            self.twin.values.entry(offset).or_default().push(value.clone());
        }
        let epoch = LeaderEpoch::new(i32::try_from(self.appends / 20).unwrap());
        let info = log.append_as_leader(batch, epoch, NOW_MS)?;
        assert_eq!(info.base_offset.get(), self.twin.end);
        self.twin.bases.push(self.twin.end);
        self.twin.end = info.log_end.offset.get();
        self.twin.next_sequence += i32::try_from(values.len()).unwrap();
        Ok(())
    }

    fn flush(&mut self, log: &DiskLog, dice: &mut Dice) -> Result<(), LogError> {
        let target = i64::try_from(dice.below(self.twin.end.unsigned_abs() + 1)).unwrap();
        let target = if dice.below(2) == 0 { self.twin.end } else { target };
        let reached = log.flush_up_to(Offset::new(target), NOW_MS)?.get();
        assert!(reached >= target);
        self.twin.flushed = self.twin.flushed.max(reached);
        if dice.below(2) == 0 {
            self.twin.checkpoint = reached;
        }
        Ok(())
    }

    fn truncate(&mut self, log: &DiskLog, dice: &mut Dice) -> Result<(), LogError> {
        let kept = self.twin.bases.len().saturating_sub(usize::try_from(dice.below(6)).unwrap());
        let offset = self.twin.bases.get(kept).copied().unwrap_or(self.twin.end);
        self.twin.bases.truncate(kept);
        self.twin.flushed = self.twin.flushed.min(offset);
        log.truncate_to(Offset::new(offset), NOW_MS)?;
        self.twin.checkpoint = self.twin.checkpoint.min(offset);
        self.twin.end = offset;
        // A sequence number a record, so the producer goes on with as many as there are records.
        self.twin.next_sequence = i32::try_from(offset).unwrap();
        Ok(())
    }

    fn stop_and_start(&mut self, log: &DiskLog) -> Result<DiskLog, LogError> {
        log.close(NOW_MS)?;
        self.twin.flushed = self.twin.end;
        self.twin.checkpoint = self.twin.end;
        self.twin.is_clean = true;
        let reopened = self.open();
        // The marker of an orderly stop is taken away, durably, before anything else is touched.
        self.twin.is_clean = false;
        reopened
    }

    /// Steps until the power goes, the directory fails, or there were enough. A failed append is no reason to stop.
    fn live(&mut self, dice: &mut Dice) -> Result<(), LogError> {
        let mut log = self.open()?;
        for _ in 0..60 {
            let stepped = match dice.below(20) {
                0..=12 => match self.append(&log, dice) {
                    Err(LogError::Io { .. }) if !self.disk.is_down() => Ok(()),
                    other => other,
                },
                13..=16 => self.flush(&log, dice),
                17 => self.truncate(&log, dice),
                18 => {
                    log.begin_epoch(LeaderEpoch::new(i32::try_from(self.appends / 20).unwrap()));
                    Ok(())
                }
                _ => self.stop_and_start(&log).map(|reopened| log = reopened),
            };
            if let Err(error) = stepped {
                if matches!(error, LogError::DirectoryFailed(_)) {
                    self.check_failed(&log, dice);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// A failed directory is offline: it takes nothing more and gives nothing.
    fn check_failed(&mut self, log: &DiskLog, dice: &mut Dice) {
        assert!(matches!(self.append(log, dice), Err(LogError::DirectoryFailed(_))));
        assert!(matches!(log.flush_up_to(Offset::MAX, NOW_MS), Err(LogError::DirectoryFailed(_))));
        assert!(matches!(log.read(&request(0)), Err(LogError::DirectoryFailed(_))));
    }

    /// What is found is a run of records from 0 on, each as it was appended; all that was flushed is there.
    /// Gives the offset after the last record.
    fn check(&self, log: &DiskLog) -> i64 {
        let mut next = 0;
        for batch in batches(log, 0, ReadEnd::LogEnd, 300) {
            let header = batch.header();
            let base = header.base_offset().get();
            assert!(
                base == next || (self.twin.may_have_holes && base > next),
                "{base} does not follow {next}"
            );
            assert_eq!(i64::from(header.base_sequence()), base, "no batch is there twice");
            for record in &batch.records(1 << 20).unwrap() {
                let record = record.unwrap();
                let value = record.value.unwrap().to_vec();
                let known = self.twin.values.get(&record.offset.get());
                assert!(
                    known.is_some_and(|known| known.contains(&value)),
                    "offset {} holds what nobody wrote there",
                    record.offset
                );
            }
            next = header.next_offset().get();
        }
        let log_end = log.positions().log_end.offset.get();
        assert!(log_end == next || (self.twin.may_have_holes && log_end > next), "{next} of {log_end}");
        assert!(next >= self.twin.flushed, "{next} of {} flushed offsets are left", self.twin.flushed);
        for offset in (0..next).filter(|offset| !self.twin.may_have_holes || *offset < self.twin.flushed) {
            let batch = first_batch(log, offset);
            let (base, last) = (batch.header().base_offset().get(), batch.header().last_offset().get());
            assert!(base <= offset && offset <= last, "the index leads from {offset} to {base}");
            if offset < self.twin.flushed {
                let newest = self.twin.values[&offset].last().unwrap();
                assert_eq!(&value_in(&batch, offset), newest, "a flushed record is as it was last");
            }
        }
        next
    }

    /// The life after: what is left is whole, and goes on through more appends and an orderly stop.
    fn check_after(mut self, dice: &mut Dice) {
        self.twin.may_have_holes = self.twin.checkpoint == 0;
        let log = self.open().unwrap();
        let next = self.check(&log);
        let end = log.positions().log_end.offset.get();
        if next != end {
            // A hole at the very end: the last records of the producer are lost, and it is told so.
            assert!(self.append(&log, dice).is_err());
            return;
        }
        self.twin.values.retain(|offset, _| *offset < end);
        self.twin.end = end;
        self.twin.next_sequence = i32::try_from(end).unwrap();
        for _ in 0..10 {
            self.append(&log, dice).unwrap();
        }
        self.check(&log);
        let log = self.stop_and_start(&log).unwrap();
        assert_eq!(log.positions().log_end.offset.get(), self.twin.end);
        self.twin.flushed = 0;
        self.check(&log);
    }

    /// What the disk claimed to have may be gone or torn below the recovery point, where nobody looks at a start. Then a
    /// read or a checksum says so; what is read with a right checksum is what was written.
    fn check_betrayed(&self) {
        let log = self.open().unwrap();
        let mut next = 0;
        while let Ok(ReadOutcome::Found(slice)) = log.read(&request(next)) {
            let Ok(Some(batch)) = RecordBatch::split_first(&mut bytes_of(&slice)) else { break };
            if batch.verify_crc().is_err() || batch.header().next_offset().get() <= next {
                break;
            }
            for record in &batch.records(1 << 20).unwrap() {
                let record = record.unwrap();
                let known = self.twin.values.get(&record.offset.get());
                assert!(known.is_some_and(|known| known.iter().any(|value| value == record.value.unwrap())));
            }
            next = batch.header().next_offset().get();
        }
    }
}

fn first_batch(log: &DiskLog, offset: i64) -> RecordBatch {
    let ReadOutcome::Found(slice) = log.read(&ReadRequest { max_bytes: 1, ..request(offset) }).unwrap()
    else {
        panic!("nothing at {offset}");
    };
    RecordBatch::split_first(&mut bytes_of(&slice)).unwrap().unwrap()
}

fn value_in(batch: &RecordBatch, offset: i64) -> Vec<u8> {
    let records = batch.records(1 << 20).unwrap();
    let record = records.iter().map(Result::unwrap).find(|record| record.offset.get() == offset);
    record.unwrap().value.unwrap().to_vec()
}

/// A life, with a fault at one call if there is to be one. Gives the number of calls, and what is left after a loss of
/// power at its end is checked.
fn run(seed: u64, fault: Option<(u64, Fault)>) -> u64 {
    let mut dice = Dice(seed);
    let disk = SimDisk::new();
    let config = LogConfig {
        segment_bytes: 1500,
        index_interval_bytes: 200,
        preallocate: dice.below(4) == 0,
        ..LogConfig::default()
    };
    let mut world = World { disk, config, twin: Twin::default(), appends: 0 };
    world.folder().create().unwrap();
    world.disk.root().sync().unwrap();
    if let Some((call, fault)) = fault {
        world.disk.plan(call, fault);
    }
    let lived = world.live(&mut dice);
    let calls = world.disk.calls();
    if fault.is_none() {
        lived.unwrap();
    }
    world.disk = world.disk.after_crash(seed);
    match fault {
        Some((_, Fault::LieAboutSync)) => world.check_betrayed(),
        _ => world.check_after(&mut dice),
    }
    calls
}

/// Runs one life for each seed, with the fault at a call that the seed chooses among those of the undisturbed life.
fn run_all(seeds: std::ops::Range<u64>, fault: impl Fn(&mut Dice) -> Fault) {
    let times = std::env::var("OTTLA_CRASH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for seed in seeds.start..seeds.start + (seeds.end - seeds.start) * times {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let calls = run(seed, None);
            let mut dice = Dice(seed ^ 0xabcd);
            // The first calls make the folder.
            let call = 3 + dice.below(calls - 3);
            let fault = fault(&mut dice);
            run(seed, Some((call, fault)));
        }));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn a_call_that_fails_loses_nothing_that_was_acknowledged() {
    run_all(1_000_000..1_000_250, |dice| match dice.below(3) {
        0 => Fault::Error(errno::EIO),
        1 => Fault::Error(errno::ENOSPC),
        _ => Fault::ShortWrite { bytes: usize::try_from(dice.below(100)).unwrap(), errno: errno::ENOSPC },
    });
}

#[test]
fn a_sync_that_lied_leaves_a_log_that_is_whole_if_shorter() {
    run_all(2_000_000..2_000_100, |_| Fault::LieAboutSync);
}
