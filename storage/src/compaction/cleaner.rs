//! One round of compaction over one log, in pieces: the map of newest offsets first, then the segments, group by group.
//! It works on the segments as they were when it began, under no lock; only each group's exchange takes one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ottla_model::batch::{DECOMPRESSED_BATCH_BYTES_MAX, RecordBatch};
use ottla_model::{Offset, ProducerId};

use super::CleanError;
use super::filter::{Filter, FilterError, Kept, control_kind};
use super::offset_map::{MapFull, OffsetMap, SLOT_BYTES};
use super::output::Output;
use super::plan::{CleanPlan, Groupable, first_group};
use super::transactions::PassingTransactions;
use crate::disk_log::{CleaningClaim, DiskLog, RemovedFiles};
use crate::log::{Log, LogConfig, LogError};
use crate::producer_state::LastBatch;
use crate::segment::Segment;
use crate::segment::batches::Batches;

/// What a compaction may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleanerLimits {
    /// `log.cleaner.dedupe.buffer.size`, a thread's share of it: the memory for keys.
    pub dedupe_buffer_bytes: u64,
    /// `log.cleaner.io.buffer.load.factor`: the share of it that may be filled.
    pub load_factor: f64,
    /// `log.cleaner.io.buffer.size`: how much is read, and written, at once. A larger batch is held as a whole.
    pub io_buffer_bytes: usize,
}

impl Default for CleanerLimits {
    /// Kafka's defaults.
    fn default() -> Self {
        Self { dedupe_buffer_bytes: 128 << 20, load_factor: 0.9, io_buffer_bytes: 512 << 10 }
    }
}

/// Begins compactions.
#[derive(Debug)]
pub struct Cleaner {
    limits: CleanerLimits,
}

/// What a round did.
#[derive(Debug, Default)]
pub struct CleanReport {
    /// The log is compacted up to here: the new checkpoint.
    pub cleaned_up_to: Offset,
    /// The map had no room for all keys: another round goes on from `cleaned_up_to`.
    pub is_partial: bool,
    /// Bytes of batches that were read for the map.
    pub mapped_bytes: u64,
    /// Keys in the map.
    pub keys: usize,
    /// Bytes of batches before and after.
    pub bytes_before: u64,
    /// Bytes of batches after.
    pub bytes_after: u64,
    /// Records before.
    pub records_before: u64,
    /// Records after.
    pub records_after: u64,
    /// Segments before.
    pub segments_before: usize,
    /// Segments after.
    pub segments_after: usize,
    /// The files that left the log, to be deleted after `file.delete.delay.ms`.
    pub removed: Vec<RemovedFiles>,
}

/// What a step did.
#[derive(Debug)]
pub enum Step {
    /// There is more to do.
    More {
        /// Bytes that were read and written.
        bytes: u64,
    },
    /// The round is over.
    Done(Box<CleanReport>),
}

/// A round under way. Dropped, it is cancelled: groups that were exchanged stay so, of the others nothing is left.
#[derive(Debug)]
pub struct Cleaning {
    log: Arc<DiskLog>,
    _claim: CleaningClaim,
    config: Arc<LogConfig>,
    limits: CleanerLimits,
    now_ms: i64,
    first_dirty: Offset,
    /// The offset after the last record that this round looks at: the base of a segment.
    end: Offset,
    map: OffsetMap,
    passing: PassingTransactions,
    phase: Phase,
    /// The segments that are still to be read or exchanged: as long as they are in the log, they are what they were.
    watched: Vec<Arc<Segment>>,
    report: CleanReport,
}

#[derive(Debug)]
enum Phase {
    Mapping {
        /// The segments that are still to be read, the one under way first.
        segments: VecDeque<Source>,
    },
    Grouping {
        segments: VecDeque<Source>,
        /// The same ones.
        groupable: VecDeque<Groupable>,
    },
    Rewriting {
        group: Box<Group>,
        later: VecDeque<Source>,
        groupable: VecDeque<Groupable>,
    },
    Done,
}

/// A segment to be read, up to the base of the next one.
#[derive(Debug)]
struct Source {
    segment: Arc<Segment>,
    end: Offset,
    batches: Option<Batches>,
}

/// Segments that become one.
#[derive(Debug)]
struct Group {
    sources: VecDeque<Source>,
    old: Vec<Arc<Segment>>,
    last_batches: HashMap<ProducerId, LastBatch>,
    output: Output,
}

impl Cleaner {
    /// A cleaner with these limits.
    ///
    /// # Errors
    /// [`CleanError::MapTooSmall`].
    pub fn new(limits: CleanerLimits) -> Result<Self, CleanError> {
        let CleanerLimits { dedupe_buffer_bytes: bytes, load_factor, .. } = limits;
        #[allow(clippy::cast_precision_loss, reason = "only whether it is below one matters")]
        let keys = (bytes / SLOT_BYTES) as f64 * load_factor;
        if keys < 1.0 || bytes < 2 * SLOT_BYTES {
            return Err(CleanError::MapTooSmall { bytes, load_factor });
        }
        Ok(Self { limits })
    }

    /// Begins a round over a log, as far as the plan says. `seed` should be random.
    ///
    /// # Errors
    /// [`CleanError::Busy`], or that the log is closed.
    pub fn begin(
        &self,
        log: &Arc<DiskLog>,
        plan: &CleanPlan,
        now_ms: i64,
        seed: u64,
    ) -> Result<Cleaning, CleanError> {
        let claim = log.claim_cleaning().ok_or(CleanError::Busy)?;
        log.check_cleanable()?;
        let CleanerLimits { dedupe_buffer_bytes, load_factor, .. } = self.limits;
        let mut passing = PassingTransactions::default();
        passing.expect(log.aborted_transactions(plan.first_dirty, plan.end)?);
        let segments = sources(log, plan.first_dirty, plan.end)?;
        Ok(Cleaning {
            log: Arc::clone(log),
            _claim: claim,
            config: log.config(),
            limits: self.limits,
            now_ms,
            first_dirty: plan.first_dirty,
            end: plan.end,
            map: OffsetMap::new(dedupe_buffer_bytes, load_factor, seed),
            passing,
            watched: segments.iter().map(|source| Arc::clone(&source.segment)).collect(),
            phase: Phase::Mapping { segments },
            report: CleanReport { cleaned_up_to: plan.first_dirty, ..CleanReport::default() },
        })
    }
}

impl Cleaning {
    /// Does a piece of the work: about as much as `log.cleaner.io.buffer.size`, or the exchange of a group. Waits for
    /// the disk.
    ///
    /// # Errors
    /// The round is then over, and to be dropped.
    pub fn step(&mut self) -> Result<Step, CleanError> {
        self.log.check_cleanable()?;
        self.work().map_err(|error| {
            // A file that is gone, or shorter than it was, is no fault then.
            let is_changed = !self.watched.is_empty() && !self.log.holds(&self.watched);
            let is_of_files =
                matches!(&error, CleanError::Log(LogError::Io { .. } | LogError::Damaged { .. }));
            if is_changed && is_of_files { CleanError::Changed } else { error }
        })
    }

    /// The files that have left the log so far, to be deleted after `file.delete.delay.ms`: for a round that does not come
    /// to its end. Where nobody asks, the next start deletes them.
    pub fn take_removed(&mut self) -> Vec<RemovedFiles> {
        std::mem::take(&mut self.report.removed)
    }

    fn work(&mut self) -> Result<Step, CleanError> {
        let (phase, result) = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Mapping { segments } => self.map_piece(segments)?,
            Phase::Grouping { segments, groupable } => {
                (self.begin_group(segments, groupable)?, Step::More { bytes: 0 })
            }
            Phase::Rewriting { mut group, later, groupable } => {
                let (bytes, is_over) = self.rewrite_piece(&mut group)?;
                if is_over {
                    let bytes = bytes + self.exchange(*group)?;
                    (Phase::Grouping { segments: later, groupable }, Step::More { bytes })
                } else {
                    (Phase::Rewriting { group, later, groupable }, Step::More { bytes })
                }
            }
            Phase::Done => (Phase::Done, Step::Done(Box::new(std::mem::take(&mut self.report)))),
        };
        self.phase = phase;
        Ok(result)
    }

    fn map_piece(&mut self, mut segments: VecDeque<Source>) -> Result<(Phase, Step), CleanError> {
        let mut moved = 0;
        while let Some(source) = segments.front_mut() {
            let Some((position, batch)) = source.next(self.first_dirty, &self.limits)? else {
                // Offsets that are missing up to the next segment were looked at as well.
                self.map.reach(before(source.end));
                segments.pop_front();
                continue;
            };
            moved += batch.header().size() as u64;
            let segment = &source.segment;
            let noted = map_batch(&mut self.map, &mut self.passing, &batch, self.first_dirty);
            let noted = noted.map_err(|error| describe(error, segment, position))?;
            if let Err(MapFull) = noted {
                self.report.is_partial = true;
                segments.clear();
                break;
            }
            if moved >= self.limits.io_buffer_bytes as u64 {
                break;
            }
        }
        self.report.mapped_bytes += moved;
        let phase = if segments.is_empty() { self.end_mapping()? } else { Phase::Mapping { segments } };
        Ok((phase, Step::More { bytes: moved }))
    }

    fn end_mapping(&mut self) -> Result<Phase, CleanError> {
        self.report.keys = self.map.len();
        self.passing = PassingTransactions::default();
        let Some(latest) = self.map.latest() else { return Ok(Phase::Done) };
        self.report.cleaned_up_to = latest.next().max(self.first_dirty);
        let segments = sources(&self.log, Offset::ZERO, self.report.cleaned_up_to)?;
        self.watched = segments.iter().map(|source| Arc::clone(&source.segment)).collect();
        let mut groupable = VecDeque::with_capacity(segments.len());
        for Source { segment, .. } in &segments {
            let (offset_index_bytes, time_index_bytes) = segment.index_bytes()?;
            let (base, bytes) = (segment.base(), segment.bytes());
            groupable.push_back(Groupable { base, bytes, offset_index_bytes, time_index_bytes });
        }
        Ok(Phase::Grouping { segments, groupable })
    }

    fn begin_group(
        &mut self,
        mut segments: VecDeque<Source>,
        mut groupable: VecDeque<Groupable>,
    ) -> Result<Phase, CleanError> {
        let Some(first) = segments.front() else { return Ok(Phase::Done) };
        let base = first.segment.base();
        let count = first_group(groupable.make_contiguous(), self.end, &self.config);
        let (later, groupable) = (segments.split_off(count), groupable.split_off(count));
        let group = Group {
            old: segments.iter().map(|source| Arc::clone(&source.segment)).collect(),
            sources: segments,
            last_batches: self.log.last_batches(),
            output: Output::begin(self.log.directory(), base, &self.config, self.limits.io_buffer_bytes)?,
        };
        Ok(Phase::Rewriting { group: Box::new(group), later, groupable })
    }

    /// Says how many bytes were moved, and whether the group's segments are at their end.
    fn rewrite_piece(&mut self, group: &mut Group) -> Result<(u64, bool), CleanError> {
        let filter = Filter {
            newest: &self.map,
            now_ms: self.now_ms,
            delete_retention_ms: self.config.delete_retention_ms,
            round_end: self.end,
            last_batches: &group.last_batches,
        };
        let mut moved = 0;
        while moved < self.limits.io_buffer_bytes as u64 {
            let Some(source) = group.sources.front_mut() else { return Ok((moved, true)) };
            if source.batches.is_none() {
                let aborted = self.log.aborted_transactions(source.segment.base(), source.end)?;
                self.passing.expect(aborted);
            }
            let Some((position, batch)) = source.next(Offset::ZERO, &self.limits)? else {
                group.sources.pop_front();
                continue;
            };
            moved += batch.header().size() as u64;
            let filtered = filter.judge(&batch, &mut self.passing);
            let filtered = filtered.map_err(|error| describe(error, &source.segment, position))?;
            self.report.records_before += filtered.records;
            self.report.records_after += filtered.records_kept;
            match filtered.kept {
                Kept::Nothing => {}
                Kept::Unchanged => group.output.push(batch.header(), &[batch.bytes()])?,
                Kept::Anew(anew) => group.output.push(anew.header(), &anew.parts())?,
            }
            if let Some(aborted) = filtered.aborted {
                group.output.push_aborted(aborted);
            }
            moved += group.output.take_written();
        }
        Ok((moved, false))
    }

    /// Puts what was written in the place of what was there; says how many bytes were still to be written.
    fn exchange(&mut self, group: Group) -> Result<u64, CleanError> {
        let Group { old, mut output, .. } = group;
        let last = old.last().expect("a group has segments");
        let modified_ms = last.info(last.base(), false)?.modified_ms;
        let finished = output.finish(modified_ms).map(<[_]>::to_vec);
        let new = finished.map_err(|error| self.log.fail_if_sync(error))?;
        let removed = self.log.replace_segments(&old, &new)?;
        let bytes = output.take_written();
        output.hand_over();
        self.watched.retain(|segment| last.base() < segment.base());
        self.report.removed.push(removed);
        self.report.segments_before += old.len();
        self.report.segments_after += new.len();
        self.report.bytes_before += old.iter().map(|segment| segment.bytes()).sum::<u64>();
        self.report.bytes_after += new.iter().map(|segment| segment.bytes).sum::<u64>();
        Ok(bytes)
    }
}

impl Source {
    /// The next batch and where it begins; the first one asked for holds `from`, if one does.
    fn next(&mut self, from: Offset, limits: &CleanerLimits) -> Result<Option<(u64, RecordBatch)>, LogError> {
        if self.batches.is_none() {
            let position = if from > self.segment.base() { self.segment.position_of(from)? } else { Some(0) };
            let position = position.unwrap_or(self.segment.bytes());
            self.batches = Some(self.segment.batches(position, self.end, limits.io_buffer_bytes)?);
        }
        let Some(batches) = &mut self.batches else { return Ok(None) };
        let position = batches.position();
        Ok(batches.next()?.map(|batch| (position, batch)))
    }
}

/// The segments but the active one that may hold offsets from `from` up to `end`.
fn sources(log: &DiskLog, from: Offset, end: Offset) -> Result<VecDeque<Source>, LogError> {
    let list = log.listed()?;
    let segments = list.from(from);
    let ends = segments.iter().skip(1).map(|segment| segment.base());
    let pairs = segments.iter().zip(ends).filter(|(segment, _)| segment.base() < end);
    Ok(pairs.map(|(segment, end)| Source { segment: Arc::clone(segment), end, batches: None }).collect())
}

/// Notes the newest offset of each key of a batch.
fn map_batch(
    map: &mut OffsetMap,
    passing: &mut PassingTransactions,
    batch: &RecordBatch,
    first_dirty: Offset,
) -> Result<Result<(), MapFull>, FilterError> {
    let header = batch.header();
    if header.is_control() {
        passing.pass_control(header, control_kind(batch)?);
    } else if !passing.pass_records(header) {
        for record in &batch.records(DECOMPRESSED_BATCH_BYTES_MAX)? {
            let record = record?;
            let Some(key) = record.key.filter(|_| record.offset >= first_dirty) else { continue };
            if map.put(key, record.offset).is_err() {
                return Ok(Err(MapFull));
            }
        }
    }
    if header.last_offset() >= first_dirty {
        map.reach(header.last_offset());
    }
    Ok(Ok(()))
}

fn describe(error: FilterError, segment: &Segment, position: u64) -> CleanError {
    let path = segment.log_path();
    match error {
        FilterError::Records(source) => CleanError::Records { path, position, source },
        FilterError::Build(source) => CleanError::Build { path, position, source },
    }
}

fn before(offset: Offset) -> Offset {
    Offset::new(offset.get().saturating_sub(1))
}
