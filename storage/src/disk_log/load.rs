//! Opening a log: from its files to positions, epochs and producers. After a clean stop no batch is read but the last
//! few; after any other stop the segments from the recovery point on are scanned, cut at the first batch that is not
//! whole, and their indexes and the producers' state made anew. Everything that was cut is told. A log that is remembered is
//! opened later, when somebody needs it, and only as it is remembered.

mod recovery;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use ottla_index::{AbortedTransaction, Entry, OffsetEntry, TimeEntry};
use ottla_model::Offset;
use parking_lot::Mutex;

use super::asleep::{Asleep, Body};
use super::leftovers::{self, LiveFile};
use super::memo::LogMemo;
use super::snapshots::Snapshots;
use super::{DiskLog, Writer};
use crate::checkpoint;
use crate::epoch_cache::EpochCache;
use crate::io::Directory;
use crate::log::{Damage, LogConfig, LogError, LogPosition, LogPositions, ReadMode};
use crate::producer_state::{ProducerStates, Undecided};
use crate::segment::append::{Tail, TailState};
use crate::segment::name::{FileKind, file_name};
use crate::segment::read::ReadFault;
use crate::segment::recover::{ScanEnd, ScannedBatch};
use crate::segment::stored::StoredHeader;
use crate::segment::{Segment, Shared, remove_newest_first};
use crate::segments::Segments;

/// What opening a log needs to know.
#[derive(Debug)]
pub struct LogOpening {
    /// The log's folder. It is made if it is missing.
    pub directory: Arc<dyn Directory>,
    /// Its settings.
    pub config: LogConfig,
    /// The log was closed in good order, so that its files can be believed.
    pub is_clean: bool,
    /// The log start as checkpointed; 0 without an entry.
    pub log_start: Offset,
    /// The recovery point as checkpointed; 0 without an entry.
    pub recovery_point: Offset,
    /// The time, for producers that are too old to be remembered and for the age of a new segment.
    pub now_ms: i64,
}

/// What opening a log did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Segments whose every batch was looked at.
    pub scanned_segments: usize,
    /// Bytes of these segments.
    pub scanned_bytes: u64,
    /// Set where something was taken away.
    pub cut: Option<Cut>,
    /// Records that are missing between two segments. Those after them are kept.
    pub holes: Vec<Hole>,
    /// Set where the log ends before this offset, below which a checkpoint or a snapshot says that there were records.
    pub missing_below: Option<Offset>,
}

/// Offsets without records between two segments of a log that is not compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// The file whose end is missing.
    pub file: PathBuf,
    /// Where its last whole batch ends; the file now ends there.
    pub position: u64,
    /// Bytes that were no batch and were cut off: zeros.
    pub bytes: u64,
    /// The first offset that is missing.
    pub from: Offset,
    /// The base of the next segment.
    pub to: Offset,
}

/// A log that ended before its files did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file with the first bad batch.
    pub file: PathBuf,
    /// Where that batch begins; the file now ends there.
    pub position: u64,
    /// What is wrong with it.
    pub damage: Damage,
    /// Bytes that were cut off this file.
    pub bytes: u64,
    /// Segments after it, which went as a whole.
    pub segments_deleted: usize,
}

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

/// Opens a remembered log. Nothing is taken away: where it is not as it is remembered, that is an error.
pub(super) fn wake(opening: LogOpening, shared: &Arc<Shared>, memo: &LogMemo) -> Result<Woken, LogError> {
    let mut loader = Loader::new(opening, Arc::clone(shared), Some(memo))?;
    let is_known = |segment: &Arc<Segment>| {
        memo.segments.at(segment.base()).is_some_and(|known| known.bytes == segment.bytes())
    };
    let are_known = loader.segments.len() == memo.segments.len() && loader.segments.iter().all(is_known);
    let last = loader.segments.last().cloned().filter(|_| are_known);
    let restored = match &last {
        Some(last) if !loader.unindexed.contains(&last.base()) => loader.restore_clean(last)?,
        _ => None,
    };
    let is_right =
        |restored: &RestoredTail| restored.next == memo.log_end && restored.tail.bytes() == memo.active.bytes;
    match restored.filter(is_right).filter(|_| loader.producers.first_open().is_none()) {
        Some(restored) => Ok(loader.wake(restored)),
        None => {
            let path = loader.opening.directory.path();
            let reason = "it is not as its last orderly stop left it: the next start looks at all of it";
            Err(LogError::Malformed { path, reason })
        }
    }
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
                && (sizes.are_as_remembered(segment, memo)
                    || segment.has_sound_times(
                        end,
                        sizes.bytes(segment.base(), FileKind::TimeIndex).unwrap_or_default(),
                    ) && segment.has_sound_aborted(end).unwrap_or(false))
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

    /// Believes the active segment of a log that was closed cleanly: its end is looked for from its last index entry
    /// on. None where the files contradict that.
    fn adopt(&mut self, segment: &Arc<Segment>) -> Result<Option<RestoredTail>, LogError> {
        let last_entry = segment.adopt_indexes(self.opening.config.segment_index_bytes)?;
        let start = last_entry.map_or(0, |entry| u64::from(entry.position));
        let mut walk = segment.walk(segment.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        let Ok(first) = walk.checked_header_at(0).map_err(ReadFault::patient)? else { return Ok(None) };
        let indexed = segment.largest_timestamp()?;
        let mut state = TailState {
            bytes: start,
            bytes_since_entry: 0,
            largest: indexed,
            first_timestamp_ms: first.map(|header| header.max_timestamp_ms()),
            file_is_longer: false,
        };
        let mut next = segment.base();
        loop {
            let header = match walk.checked_header_at(state.bytes).map_err(ReadFault::patient)? {
                Ok(Some(header)) => header,
                Ok(None) => break,
                Err(_) => return Ok(None),
            };
            let is_entrys = last_entry.is_none_or(|entry| {
                state.bytes > start || entry.offset.at(segment.base()) == header.last_offset()
            });
            if header.base_offset() < next || !is_entrys {
                return Ok(None);
            }
            state.add(&header);
            next = header.next_offset();
        }
        if last_entry.is_some() && state.bytes == start {
            return Ok(None);
        }
        if let Some(largest) = indexed
            && (largest.offset >= next || !segment.has_timestamp(largest)?)
        {
            return Ok(None);
        }
        let tail = Tail::resume(Arc::clone(segment), state, self.opening.now_ms);
        Ok(Some(RestoredTail { tail, next }))
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

    /// Makes the missing indexes of segments that are not scanned anyway. Their batches stay as they are.
    fn reindex_sealed(&mut self, scan_from: Option<Offset>) -> Result<(), LogError> {
        for segment in self.segments.clone() {
            let is_scanned = scan_from.is_some_and(|from| segment.base() >= from);
            if self.unindexed.contains(&segment.base()) && !is_scanned {
                let file_bytes = segment.bytes();
                tracing::warn!(file = %segment.log_path().display(), "the segment's indexes are made anew");
                let mut producers = self.producers_at(segment.base())?;
                let note = |_: &mut Self, batch: &ScannedBatch<'_>| batch.note_in(&mut producers);
                let (mut tail, _) = self.scan_segment(&segment, file_bytes, note)?;
                tail.seal()?;
                segment.set_bytes(file_bytes);
                self.names_changed = true;
            }
        }
        Ok(())
    }

    /// The producers as the newest snapshot at or below `limit` has them.
    fn load_producers(&mut self, limit: Offset, clean_end: Option<Offset>) -> Result<(), LogError> {
        let first = self.segments.first().map_or(limit, |segment| segment.base());
        self.producers = match (self.snapshots.load(&*self.opening.directory, limit)?, clean_end) {
            (Some(producers), _) => producers,
            // Without a snapshot the state would cost a scan of the whole log, which a clean start must not.
            (None, Some(end)) => ProducerStates::new(end),
            (None, None) => ProducerStates::new(first.max(self.opening.log_start).min(limit)),
        };
        let expiration_ms = self.opening.config.producer_id_expiration_ms;
        self.producers.expire(self.opening.now_ms, expiration_ms);
        Ok(())
    }

    /// The producers at the base of a segment, as the newest snapshot below and the batches after it have them.
    fn producers_at(&self, base: Offset) -> Result<ProducerStates, LogError> {
        let first = self.segments.first().map_or(base, |segment| segment.base());
        let known = self.snapshots.look(&*self.opening.directory, base)?;
        let mut producers = known.unwrap_or_else(|| ProducerStates::new(first));
        for segment in self.segments.iter().filter(|segment| segment.base() < base) {
            let limit = segment.bytes();
            let found = segment.find(producers.end(), limit, ReadMode::MayBlock);
            if let Some(found) = found.map_err(ReadFault::patient)? {
                segment.scan(found.position, limit, segment.base()..Offset::MAX, |batch| {
                    batch.note_in(&mut producers);
                })?;
            }
        }
        Ok(producers)
    }

    /// Feeds the batches from the producers' end up to `end` to them.
    fn replay(&mut self, end: Offset) -> Result<(), LogError> {
        let begin = self.producers.end();
        if begin >= end {
            return Ok(());
        }
        for segment in Segments::new(self.segments.clone()).from(begin) {
            if segment.base() >= end {
                break;
            }
            self.take_snapshot_at(segment.base())?;
            let limit = segment.bytes();
            let found = segment.find(self.producers.end(), limit, ReadMode::MayBlock);
            let Some(found) = found.map_err(ReadFault::patient)? else { continue };
            let producers = &mut self.producers;
            segment.scan(found.position, limit, segment.base()..Offset::MAX, |batch| {
                if batch.header.base_offset() < end {
                    batch.note_in(producers);
                }
            })?;
        }
        self.take_snapshot_at(end)
    }

    fn take_snapshot_at(&mut self, offset: Offset) -> Result<(), LogError> {
        if self.producers.end() < offset {
            self.producers.set_end(offset);
        }
        self.snapshots.take(&*self.opening.directory, &self.producers)
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

/// The sizes of a folder's live files.
struct Sizes(HashMap<(Offset, FileKind), u64>);

impl Sizes {
    fn of(files: &[LiveFile]) -> Self {
        Self(files.iter().map(|file| ((file.name.base, file.name.kind), file.bytes)).collect())
    }

    fn bytes(&self, base: Offset, kind: FileKind) -> Option<u64> {
        self.0.get(&(base, kind)).copied()
    }

    /// Whether a segment's indexes are there and consist of whole entries. That of transactions need not be.
    fn has_indexes(&self, base: Offset) -> bool {
        let is_whole = |kind, bytes: u64| bytes.is_multiple_of(entry_bytes(kind));
        let has = |kind| self.bytes(base, kind).is_some_and(|bytes| is_whole(kind, bytes));
        let txn_bytes = self.bytes(base, FileKind::TxnIndex).unwrap_or_default();
        has(FileKind::OffsetIndex) && has(FileKind::TimeIndex) && is_whole(FileKind::TxnIndex, txn_bytes)
    }

    /// Whether all files of a segment have the sizes that they had at the orderly stop. It then knows its largest time.
    fn are_as_remembered(&self, segment: &Segment, memo: Option<&LogMemo>) -> bool {
        let base = segment.base();
        let Some(known) = memo.and_then(|memo| memo.segments.at(base)) else { return false };
        let bytes = |kind| self.bytes(base, kind).unwrap_or_default();
        let are_same = segment.bytes() == known.bytes
            && bytes(FileKind::OffsetIndex) == known.index_bytes
            && bytes(FileKind::TimeIndex) == known.time_index_bytes
            && bytes(FileKind::TxnIndex) == known.txn_index_bytes;
        if are_same {
            segment.set_largest_timestamp(known.largest);
        }
        are_same
    }
}

/// Notes where a leader epoch begins; older messages have none.
fn note_epoch(epochs: &mut EpochCache, header: &StoredHeader) {
    let Some(epoch) = header.leader_epoch() else { return };
    if epochs.latest().is_none_or(|latest| epoch > latest) {
        epochs.begin(epoch, header.base_offset());
    }
}

/// Removes index files that have no log.
fn remove_orphans(directory: &dyn Directory, files: &[LiveFile]) -> Result<(), LogError> {
    let logs = files.iter().filter(|file| file.name.kind == FileKind::Log);
    let bases: HashSet<Offset> = logs.map(|file| file.name.base).collect();
    let has_log = |base| bases.contains(&base);
    for file in files {
        let is_index =
            matches!(file.name.kind, FileKind::OffsetIndex | FileKind::TimeIndex | FileKind::TxnIndex);
        if is_index && !has_log(file.name.base) {
            if file.bytes > 0 {
                let path = directory.path().join(file_name(file.name.base, file.name.kind));
                tracing::warn!(path = %path.display(), "an index is removed whose segment is missing");
            }
            leftovers::remove(directory, &file_name(file.name.base, file.name.kind))?;
        }
    }
    Ok(())
}

/// Removes the last segment where it is empty and begins above the end of the one before: it would make the log's end
/// jump over offsets that nobody ever had. Up to the recovery point somebody had.
fn drop_far_empty(segments: &mut Vec<Arc<Segment>>, opening: &LogOpening) -> Result<bool, LogError> {
    let [.., previous, last] = &segments[..] else { return Ok(false) };
    if last.bytes() > 0 || opening.config.is_compacted || last.base() <= opening.recovery_point {
        return Ok(false);
    }
    let end = previous.walked_end()?;
    if end >= last.base() {
        return Ok(false);
    }
    tracing::warn!(
        file = %last.log_path().display(), end = end.get(),
        "an empty segment is removed that begins after the end of the one before"
    );
    remove_newest_first(&*opening.directory, [last].into_iter())?;
    segments.pop();
    Ok(true)
}

/// The epochs as the file has them, and whether it says nothing.
fn read_epochs(directory: &dyn Directory) -> Result<(EpochCache, bool), LogError> {
    match checkpoint::read_epochs(directory) {
        Ok(entries) => Ok((EpochCache::from_file(&entries), false)),
        Err(error @ LogError::Malformed { .. }) => {
            tracing::warn!(%error, "the leader epochs are taken from the batches");
            Ok((EpochCache::lost(), true))
        }
        Err(error) => Err(error),
    }
}

/// What an index file's size is a multiple of.
fn entry_bytes(kind: FileKind) -> u64 {
    let bytes = match kind {
        FileKind::OffsetIndex => OffsetEntry::BYTES,
        FileKind::TimeIndex => TimeEntry::BYTES,
        FileKind::TxnIndex => AbortedTransaction::BYTES,
        FileKind::Log | FileKind::Snapshot => 1,
    };
    bytes as u64
}
