//! Opening a log: from its files to positions, epochs and producers. After a clean stop no batch is read but the last
//! few; after any other stop the segments from the recovery point on are scanned, cut at the first batch that is not
//! whole, and their indexes and the producers' state made anew. Everything that was cut is told. A log that is remembered is
//! opened later, when somebody needs it, and only as it is remembered.

mod adopt;
mod files;
mod producers;
mod recovery;
mod told;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use ottla_model::Offset;
use parking_lot::Mutex;

use super::asleep::{Asleep, Body};
use super::leftovers;
use super::memo::LogMemo;
use super::snapshots::Snapshots;
use super::{DiskLog, Writer};
use crate::epoch_cache::EpochCache;
use crate::log::{LogConfig, LogError, LogPosition, LogPositions};
use crate::producer_state::{ProducerStates, Undecided};
use crate::segment::append::Tail;
use crate::segment::name::FileKind;
use crate::segment::recover::ScanEnd;
use crate::segment::stored::StoredHeader;
use crate::segment::{Segment, Shared, remove_newest_first};
use crate::segments::Segments;
use files::{Sizes, drop_far_empty, read_epochs, remove_orphans};
pub use told::{Cut, Hole, LogOpening, Recovery};

pub(super) fn open(opening: LogOpening, shared: Arc<Shared>) -> Result<(DiskLog, Recovery), LogError> {
    let mut loader = Loader::new(opening, shared, None)?;
    let restored = match loader.segments.last().cloned() {
        None => None,
        Some(last) => Some(loader.restore(&last)?),
    };
    loader.finish(restored)
}

/// A log that is not opened yet.
pub(super) fn remembered(opening: LogOpening, shared: Arc<Shared>, memo: LogMemo) -> DiskLog {
    let mut epochs = EpochCache::from_file(&memo.epochs);
    let log_start = opening.log_start.max(memo.start);
    epochs.truncate_end(memo.log_end);
    epochs.truncate_start(log_start);
    let (segment_base, position) = (memo.active.base, memo.active.bytes);
    let log_end = LogPosition { offset: memo.log_end, segment_base, position };
    let recovery_point = opening.recovery_point.min(memo.log_end).max(log_start);
    let positions = LogPositions { log_start, log_end, recovery_point };
    let asleep = Asleep { memo, log_start: opening.log_start, ..Asleep::default() };
    DiskLog::begun(opening, shared, epochs, positions, asleep)
}

/// What opening a remembered log gives.
pub(super) struct Woken {
    pub(super) segments: Segments,
    pub(super) writer: Writer,
    pub(super) names_changed: bool,
}

/// Opens a remembered log. Where an index or a sealed segment is not as it is remembered, all of it is looked at, as a
/// start without a memory would. It must end where it is remembered to, since that was told before.
pub(super) fn wake(opening: LogOpening, shared: &Arc<Shared>, memo: &LogMemo) -> Result<Woken, LogError> {
    let mut loader = Loader::new(opening.clone(), Arc::clone(shared), Some(memo))?;
    match loader.restore_remembered(memo)? {
        Some(restored) => Ok(loader.wake(restored)),
        None => {
            let path = opening.directory.path();
            tracing::warn!(path = %path.display(), "a log is not as its last orderly stop left it: all of it is looked at");
            wake_in_full(opening, shared, memo)
        }
    }
}

fn wake_in_full(opening: LogOpening, shared: &Arc<Shared>, memo: &LogMemo) -> Result<Woken, LogError> {
    let path = opening.directory.path();
    let mut loader = Loader::new(opening, Arc::clone(shared), None)?;
    let ends = (loader.segments.first().map(|first| first.base()), loader.segments.last().cloned());
    let restored = match ends {
        (Some(start), Some(last)) if start == memo.start && last.base() == memo.active.base => {
            Some(loader.restore(&last)?).filter(|restored| loader.is_at_end_of(restored, memo))
        }
        _ => None,
    };
    let Some(restored) = restored else {
        let reason = "it does not end where its last orderly stop left it: the next start recovers it";
        return Err(LogError::Malformed { path, reason });
    };
    if loader.recovery.cut.is_some() || !loader.recovery.holes.is_empty() {
        tracing::error!(path = %path.display(), recovery = ?loader.recovery, "a log has lost records since its last orderly stop");
    }
    Ok(loader.wake(restored))
}

/// A log on its way from files to memory.
struct Loader {
    opening: LogOpening,
    shared: Arc<Shared>,
    segments: Vec<Arc<Segment>>,
    /// Segments whose indexes are not all there.
    unindexed: Vec<Offset>,
    snapshots: Snapshots,
    epochs: EpochCache,
    /// The file of the epochs said nothing, so that they are to be found in the batches.
    epochs_are_lost: bool,
    producers: ProducerStates,
    /// Below this there were records, as far as checkpoint and snapshots tell.
    known_end: Offset,
    names_changed: bool,
    recovery: Recovery,
}

/// The end of the active segment and the offset that comes next.
struct RestoredTail {
    tail: Tail,
    next: Offset,
}

impl Loader {
    fn new(opening: LogOpening, shared: Arc<Shared>, memo: Option<&LogMemo>) -> Result<Self, LogError> {
        let directory = Arc::clone(&opening.directory);
        if memo.is_none() {
            let created = directory.create();
            created.map_err(|source| LogError::Io { action: "create", path: directory.path(), source })?;
        }
        let (files, mut names_changed) = leftovers::settle(&directory, &shared)?;
        remove_orphans(&*directory, &files)?;
        let sizes = Sizes::of(&files);
        let of_kind = |kind| files.iter().filter(move |file| file.name.kind == kind);
        let mut segments: Vec<_> = of_kind(FileKind::Log)
            .map(|file| {
                let base = file.name.base;
                let aborted_bytes = sizes.bytes(base, FileKind::TxnIndex).unwrap_or_default();
                Arc::new(Segment::existing(&directory, &shared, base, file.bytes, aborted_bytes))
            })
            .collect();
        segments.sort_unstable_by_key(|segment| segment.base());
        if memo.is_none() {
            names_changed |= drop_far_empty(&mut segments, &opening)?;
        }
        let is_indexed = |segment: &Segment, end| {
            sizes.has_indexes(segment.base())
                && match sizes.are_as_remembered(segment, memo) {
                    Some(is_right) => is_right,
                    None => {
                        let bytes = sizes.bytes(segment.base(), FileKind::TimeIndex).unwrap_or_default();
                        segment.has_sound_times(end, bytes) && segment.has_sound_aborted(end).unwrap_or(false)
                    }
                }
        };
        let bases: Vec<Offset> = segments.iter().map(|segment| segment.base()).collect();
        let floor = bases.first().map_or(opening.log_start, |first| opening.log_start.max(*first));
        let mut snapshots =
            Snapshots::new(of_kind(FileKind::Snapshot).map(|file| file.name.base).collect(), floor);
        snapshots.remove_strays(&*directory, &bases)?;
        let ends = bases.iter().skip(1).copied().chain([Offset::MAX]);
        let unindexed = segments.iter().zip(ends).filter(|(segment, end)| !is_indexed(segment, *end));
        let (epochs, epochs_are_lost) =
            if memo.is_some() { (EpochCache::default(), false) } else { read_epochs(&*directory)? };
        let newest = snapshots.newest().unwrap_or_default();
        Ok(Self {
            unindexed: unindexed.map(|(segment, _)| segment.base()).collect(),
            snapshots,
            epochs,
            epochs_are_lost,
            known_end: opening.recovery_point.max(newest),
            opening,
            shared,
            segments,
            producers: ProducerStates::default(),
            names_changed,
            recovery: Recovery::default(),
        })
    }

    /// Everything about a log that has segments.
    fn restore(&mut self, last: &Arc<Segment>) -> Result<RestoredTail, LogError> {
        if self.epochs_are_lost {
            self.find_epochs()?;
        }
        let is_believed = self.opening.is_clean && !self.unindexed.contains(&last.base());
        match if is_believed { self.restore_clean(last)? } else { None } {
            Some(restored) => Ok(restored),
            None => {
                let from = self.scan_from(last.base());
                self.note_empty(from);
                self.reindex_sealed(Some(from))?;
                self.load_producers(from, None)?;
                self.recover(from)
            }
        }
    }

    /// The same for a log that is remembered; none where anything but the index of a sealed segment contradicts that.
    fn restore_remembered(&mut self, memo: &LogMemo) -> Result<Option<RestoredTail>, LogError> {
        let is_known = |segment: &Arc<Segment>| {
            memo.segments.at(segment.base()).is_some_and(|known| known.bytes == segment.bytes())
        };
        let are_known = self.segments.len() == memo.segments.len() && self.segments.iter().all(is_known);
        let Some(last) = self.segments.last().cloned() else { return Ok(None) };
        if !are_known || self.unindexed.contains(&last.base()) {
            return Ok(None);
        }
        Ok(self.restore_clean(&last)?.filter(|restored| self.is_at_end_of(restored, memo)))
    }

    /// Whether the log ends as is remembered of it. None is remembered while a transaction is open.
    fn is_at_end_of(&self, restored: &RestoredTail, memo: &LogMemo) -> bool {
        restored.next == memo.log_end
            && restored.tail.bytes() == memo.active.bytes
            && self.producers.first_open().is_none()
    }

    /// The same for a log that was closed cleanly; none where its end contradicts that.
    fn restore_clean(&mut self, last: &Arc<Segment>) -> Result<Option<RestoredTail>, LogError> {
        let Some(restored) = self.adopt(last)? else { return Ok(None) };
        self.note_empty(last.base());
        self.reindex_sealed(None)?;
        self.load_producers(restored.next, Some(restored.next))?;
        self.replay(restored.next)?;
        Ok(Some(restored))
    }

    /// The base of the first segment that must be scanned. It is the one with the last record below the recovery point:
    /// that one was perhaps the active one when the point was reached, and its indexes were made later.
    fn scan_from(&self, last: Offset) -> Offset {
        if self.opening.is_clean {
            return last;
        }
        let durable = self.opening.recovery_point.get().saturating_sub(1);
        let holding = self.segments.iter().rev().find(|segment| segment.base().get() <= durable);
        holding.or(self.segments.first()).map_or(last, |segment| segment.base())
    }

    /// The epochs as the batches have them.
    fn find_epochs(&mut self) -> Result<(), LogError> {
        for segment in &self.segments {
            segment.walk_sound(0, |header| {
                note_epoch(&mut self.epochs, header);
            })?;
        }
        Ok(())
    }

    /// Tells of the segments below `end`, which are not scanned, that hold nothing.
    fn note_empty(&mut self, end: Offset) {
        for segment in self.segments.clone() {
            if segment.base() < end && segment.bytes() == 0 {
                self.note_hole(&segment, &ScanEnd { bytes: 0, next: segment.base(), damage: None }, 0);
            }
        }
    }

    fn finish(mut self, restored: Option<RestoredTail>) -> Result<(DiskLog, Recovery), LogError> {
        let log_start = self.opening.log_start;
        let RestoredTail { tail, next } = match restored {
            Some(restored) if restored.next >= log_start => restored,
            _ => self.begin_anew(log_start)?,
        };
        let first = self.segments.first().map_or(next, |segment| segment.base());
        let log_start = log_start.max(first);
        if next < self.known_end {
            tracing::warn!(
                path = %self.opening.directory.path().display(), end = next.get(), known = self.known_end.get(),
                "a log ends before an offset that it had reached"
            );
            self.recovery.missing_below = Some(self.known_end);
        }
        self.epochs.truncate_end(next);
        self.epochs.truncate_start(log_start);
        self.producers.set_end(next);
        let recovery_point = self.opening.recovery_point.min(next).max(log_start);
        let positions = LogPositions { log_start, log_end: tail.position(next), recovery_point };
        let undecided = Undecided::new(self.producers.first_open());
        let body = Body {
            segments: ArcSwap::from_pointee(Segments::new(self.segments)),
            writer: Mutex::new(Writer::begun(tail, self.producers, self.snapshots)),
        };
        let log = DiskLog::begun(self.opening, self.shared, self.epochs, positions, Asleep::default());
        log.names_dirty.store(self.names_changed, Ordering::Release);
        log.has_undecided.store(!undecided.is_empty(), Ordering::Release);
        *log.undecided.lock() = undecided;
        log.body.get_or_init(|| Box::new(body));
        log.release();
        Ok((log, self.recovery))
    }

    /// The open log of one that is remembered, whose positions and epochs are known.
    fn wake(mut self, restored: RestoredTail) -> Woken {
        self.producers.set_end(restored.next);
        // Most of the files that were looked at are not asked for again.
        for segment in self.segments.iter().rev().skip(1) {
            segment.release();
        }
        Woken {
            segments: Segments::new(self.segments),
            writer: Writer::begun(restored.tail, self.producers, self.snapshots),
            names_changed: self.names_changed,
        }
    }

    /// An empty log at `start`; what there was lies wholly below it.
    fn begin_anew(&mut self, start: Offset) -> Result<RestoredTail, LogError> {
        remove_newest_first(&*self.opening.directory, self.segments.iter())?;
        self.segments.clear();
        self.snapshots.clear(&*self.opening.directory, start)?;
        self.epochs.clear();
        self.producers = ProducerStates::new(start);
        self.names_changed = true;
        let LogConfig { preallocate, segment_bytes, segment_index_bytes, .. } = self.opening.config;
        let segment = Segment::create(
            &self.opening.directory,
            &self.shared,
            start,
            segment_index_bytes,
            preallocate.then_some(u64::from(segment_bytes)),
            false,
        )?;
        let segment = Arc::new(segment);
        self.segments.push(Arc::clone(&segment));
        Ok(RestoredTail { tail: Tail::new(segment, preallocate, self.opening.now_ms), next: start })
    }
}

impl Writer {
    /// Of a log that was just opened.
    fn begun(tail: Tail, producers: ProducerStates, snapshots: Snapshots) -> Self {
        Self { tail, unsealed: Vec::new(), is_prepared: false, producers, snapshots, is_closed: false }
    }
}

impl DiskLog {
    /// A log without its body.
    fn begun(
        opening: LogOpening,
        shared: Arc<Shared>,
        epochs: EpochCache,
        positions: LogPositions,
        asleep: Asleep,
    ) -> Self {
        Self {
            directory: opening.directory,
            shared,
            config: ArcSwap::from_pointee(opening.config),
            body: OnceLock::new(),
            asleep: Mutex::new(asleep),
            flushing: Mutex::new(()),
            epochs: Mutex::new(epochs),
            positions: Mutex::new(positions),
            has_undecided: AtomicBool::new(false),
            undecided: Mutex::new(Undecided::new(None)),
            names_dirty: AtomicBool::new(false),
            last_flush_ms: AtomicI64::new(opening.now_ms),
            is_abandoned: AtomicBool::new(false),
            is_being_cleaned: Arc::default(),
            truncations: AtomicU64::new(0),
        }
    }
}

/// Notes where a leader epoch begins; older messages have none.
fn note_epoch(epochs: &mut EpochCache, header: &StoredHeader) {
    let Some(epoch) = header.leader_epoch() else { return };
    if epochs.latest().is_none_or(|latest| epoch > latest) {
        epochs.begin(epoch, header.base_offset());
    }
}
