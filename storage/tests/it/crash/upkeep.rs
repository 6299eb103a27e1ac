//! The steps of a life that take records away by rule: retention, compaction, and the deletion of what they leave behind.

use ottla_model::Offset;
use ottla_storage::compaction::{CleanReport, Cleaner, CleanerLimits, Step};
use ottla_storage::{Log, RemovedFiles, SegmentInfo};

use super::dice::Dice;
use super::twin::Twin;
use super::world::{COMPACTED, Stop, World, partition};
use crate::support::NOW_MS;

pub(super) const RETENTION_MS: i64 = 2000;
pub(super) const RETENTION_BYTES: u64 = 5000;
pub(super) const FILE_DELETE_DELAY_MS: i64 = 500;
pub(super) const DELETE_RETENTION_MS: i64 = 600;

/// Room for few keys, so that some rounds are partial, and small pieces.
const LIMITS: CleanerLimits =
    CleanerLimits { dedupe_buffer_bytes: 24 * 8, load_factor: 0.9, io_buffer_bytes: 300 };

impl World {
    /// Retention over all logs, to the effect that the twins foretell.
    pub(super) fn apply_retention(&mut self, dice: &mut Dice) -> Result<(), Stop> {
        let youngest_ms = NOW_MS + 850 + dice.number(200);
        let mut starts = Vec::new();
        for name in self.twins.keys().copied() {
            let segments = self.log(name).segments()?;
            if name != COMPACTED {
                let bytes_max = if name == "t" { RETENTION_BYTES } else { u64::MAX };
                starts.push((name, start_after(&self.twins[name], &segments, bytes_max, youngest_ms)));
            }
        }
        for (name, start) in &starts {
            self.twin(name).start = *start;
        }
        let directory = self.directory.as_ref().unwrap();
        let high_watermark = |_: &_, log: &ottla_storage::DiskLog| Some(log.positions().log_end.offset);
        let report = directory.apply_retention(&high_watermark, youngest_ms + RETENTION_MS);
        let is_whole = report.as_ref().is_ok_and(|report| report.failed.is_empty());
        for (name, foretold) in starts {
            let start = self.log(name).positions().log_start.get();
            if is_whole {
                assert_eq!(start, foretold, "{name}: where retention ends");
            } else if !self.disk.is_down() {
                self.twin(name).start = start;
            }
        }
        let report = report?;
        if report.logs.iter().any(|log| log.plan.end.is_some()) {
            for twin in self.twins.values_mut() {
                twin.start_durable = twin.start;
            }
        }
        match report.failed.into_iter().next() {
            Some((_, error)) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// One round of compaction, now and then cancelled, over what was made durable before.
    pub(super) fn compact(&mut self, dice: &mut Dice) -> Result<(), Stop> {
        let log = self.log(COMPACTED);
        if dice.below(3) > 0 {
            self.begin("roll");
            log.roll(NOW_MS)?;
        }
        self.begin("flush");
        self.twin(COMPACTED).flushed = log.flush_up_to(Offset::MAX, NOW_MS)?.get();
        self.begin("compaction");
        self.clock_ms += dice.number(500);
        let now_ms = self.clock_ms;
        let end = log.positions().log_end.offset;
        let checkpoint = self.directory.as_ref().unwrap().cleaner_offset(&partition(COMPACTED));
        let plan = log.plan_cleaning(end, checkpoint, now_ms)?;
        self.twin(COMPACTED).note_cleaning(plan.end.get(), now_ms, DELETE_RETENTION_MS);
        let steps = if dice.below(6) == 0 { dice.below(12) } else { u64::MAX };
        let mut cleaning = Cleaner::new(LIMITS)?.begin(&log, &plan, now_ms, 4711)?;
        for _ in 0..steps {
            if let Step::Done(report) = cleaning.step()? {
                return self.end_compaction(*report, dice);
            }
        }
        let removed = cleaning.take_removed();
        self.part_with(removed, dice)
    }

    fn end_compaction(&mut self, report: CleanReport, dice: &mut Dice) -> Result<(), Stop> {
        let directory = self.directory.as_ref().unwrap();
        directory.set_cleaner_offset(&partition(COMPACTED), report.cleaned_up_to)?;
        self.twin(COMPACTED).compacted_to = report.cleaned_up_to.get();
        self.part_with(report.removed, dice)
    }

    fn part_with(&mut self, removed: Vec<RemovedFiles>, dice: &mut Dice) -> Result<(), Stop> {
        for files in removed {
            match dice.below(3) {
                0 => files.delete()?,
                1 => self.directory.as_ref().unwrap().retire(files, NOW_MS + FILE_DELETE_DELAY_MS),
                _ => {}
            }
        }
        Ok(())
    }

    /// Deletes what is due: some of what left the logs, or all of it.
    pub(super) fn purge(&mut self, dice: &mut Dice) -> Result<(), Stop> {
        let now_ms = NOW_MS + dice.number(2 * (RETENTION_MS + FILE_DELETE_DELAY_MS));
        self.directory.as_ref().unwrap().delete_due(now_ms)?;
        Ok(())
    }
}

/// Where a log begins after retention: its first segments go while they lie below the log start, then while there is
/// enough without them, then while their newest record is older than this.
fn start_after(twin: &Twin, segments: &[SegmentInfo], bytes_max: u64, youngest_ms: i64) -> i64 {
    let mut left = segments;
    let mut start = twin.start;
    let mut go_while = |goes: &mut dyn FnMut(&SegmentInfo) -> bool| {
        while let Some((first, later)) = left.split_first() {
            if first.is_active && first.bytes == 0 || !goes(first) {
                return;
            }
            start = start.max(first.end.get());
            left = later;
        }
    };
    let below = twin.start;
    go_while(&mut |segment| !segment.is_active && segment.end.get() <= below);
    let mut bytes: u64 = segments.iter().filter(|segment| segment.end.get() > below).map(|it| it.bytes).sum();
    go_while(&mut |segment| {
        let goes = bytes.checked_sub(segment.bytes).is_some_and(|rest| rest >= bytes_max);
        bytes -= if goes { segment.bytes } else { 0 };
        goes
    });
    go_while(&mut |segment| newest_ms(twin, segment) < youngest_ms);
    start
}

/// The largest time of a segment's records, or of its file while there are none.
fn newest_ms(twin: &Twin, segment: &SegmentInfo) -> i64 {
    let within = |offset: i64| (segment.base.get()..segment.end.get()).contains(&offset);
    let records = twin.batches.iter().flat_map(|batch| &batch.records);
    let times = records.filter(|record| within(record.offset)).map(|record| record.timestamp_ms);
    times.max().unwrap_or(segment.modified_ms)
}
