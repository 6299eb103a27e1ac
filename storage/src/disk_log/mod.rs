//! A log in Kafka's files: one folder, segments in it, an append lock, and a snapshot of the segment list for readers.
//!
//! Locks, in the order in which they may be taken: `flushing`, `asleep`, `writer`, `epochs`, `positions`, and `undecided` alone or
//! under `writer`. A reader takes `positions` alone, and before it loads the segment list: the list is changed first, so it is never older than the positions. The
//! locks inside a segment come last and are held for a look only.

mod append;
mod asleep;
mod flush;
mod inspect;
mod leftovers;
mod load;
mod memo;
mod read;
mod remove;
mod replace;
mod retire;
mod roll;
mod snapshots;
mod transactions;
mod truncate;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, Offset, ProducerId};
use parking_lot::Mutex;

use crate::epoch_cache::EpochCache;
use crate::io::Directory;
use crate::log::{
    AbortedTransaction, AppendInfo, CommittedRead, EpochEnd, FollowerAppend, Log, LogConfig, LogError,
    LogPositions, MarkerRule, ProducerInfo, ReadOutcome, ReadRequest, SegmentInfo, TimestampedOffset,
};
use crate::producer_state::{ProducerStates, Undecided};
use crate::segment::Shared;
use crate::segment::append::Tail;
use asleep::{Asleep, Body};
use snapshots::Snapshots;

pub(crate) use inspect::inspect;
pub use inspect::{InnerDamage, Inspection};
pub use load::{Cut, Hole, LogOpening, Recovery};
pub(crate) use memo::{ActiveMemo, LogMemo, PARTITION_METADATA, Proof, SegmentMemos};
pub use remove::RemovedFiles;
pub(crate) use replace::CleaningClaim;

/// Open files of a log that shares its bound with no other.
const OPEN_FILES_MAX: usize = 64;

/// A log on a disk.
#[derive(Debug)]
pub struct DiskLog {
    directory: Arc<dyn Directory>,
    shared: Arc<Shared>,
    config: ArcSwap<LogConfig>,
    /// Set once the log is open.
    body: OnceLock<Box<Body>>,
    /// What there is until then. Held while the log is opened.
    asleep: Mutex<Asleep>,
    flushing: Mutex<()>,
    epochs: Mutex<EpochCache>,
    positions: Mutex<LogPositions>,
    undecided: Mutex<Undecided>,
    /// `undecided` is not empty: most logs never have a transaction, and their readers never take that lock.
    has_undecided: AtomicBool,
    /// A file was made or renamed since the folder was last synced.
    names_dirty: AtomicBool,
    last_flush_ms: AtomicI64,
    is_abandoned: AtomicBool,
    /// A compaction is under way, of which there is one at a time.
    is_being_cleaned: Arc<AtomicBool>,
    /// Counts truncations, each at its beginning and at its end.
    truncations: AtomicU64,
}

/// What appends change.
#[derive(Debug)]
struct Writer {
    tail: Tail,
    /// Segments that were active and whose indexes are not all in their files: a flush writes them, off this path.
    unsealed: Vec<Tail>,
    /// The file of the next segment is there.
    is_prepared: bool,
    producers: ProducerStates,
    snapshots: Snapshots,
    is_closed: bool,
}

impl DiskLog {
    /// Opens the log in a folder, or begins one there. What had to be repaired is told.
    ///
    /// # Errors
    /// Of the disk, or a file that only a person can judge.
    pub fn open(opening: LogOpening) -> Result<(Self, Recovery), LogError> {
        load::open(opening, Shared::new(OPEN_FILES_MAX))
    }

    /// As [`DiskLog::open`], with bounds and health that other logs share.
    pub(crate) fn open_shared(
        opening: LogOpening,
        shared: Arc<Shared>,
    ) -> Result<(Self, Recovery), LogError> {
        load::open(opening, shared)
    }

    /// A log that is remembered since its orderly stop, and not opened before somebody needs it.
    pub(crate) fn remembered(opening: LogOpening, shared: Arc<Shared>, memo: LogMemo) -> Self {
        load::remembered(opening, shared, memo)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path()
    }

    /// Bytes of all batches in the log's segments.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.told(
            |body| body.segments.load().iter().map(|segment| segment.bytes()).sum(),
            |asleep| asleep.memo.bytes,
        )
    }

    /// The base offset of the first segment: a log start that equals it needs no checkpoint.
    #[must_use]
    pub fn first_segment_base(&self) -> Offset {
        self.told(|body| body.segments.load().first().base(), |asleep| asleep.memo.start)
    }

    /// Is neither written, flushed nor read from now on, and lets go of all files without a word to the disk: the folder
    /// is about to go. Slices that were read before stay readable.
    pub(crate) fn abandon(&self) {
        let _no_flush = self.flushing.lock();
        // Nobody opens it from now on.
        let mut asleep = self.asleep.lock();
        asleep.is_closed = true;
        if let Some(body) = self.body.get() {
            let mut writer = body.writer.lock();
            writer.is_closed = true;
            writer.unsealed.clear();
        }
        self.is_abandoned.store(true, Ordering::Release);
        self.release();
    }

    /// Lets go of open files and maps; whoever needs one opens it again.
    fn release(&self) {
        let Some(body) = self.body.get() else { return };
        for segment in body.segments.load().iter() {
            segment.release();
        }
    }

    /// A file that is missing because its folder went must not look like a fault of the disk; and what is read in a
    /// directory that has failed may be what never reached the disk.
    fn check_not_abandoned(&self) -> Result<(), LogError> {
        self.shared.health.check()?;
        if self.is_abandoned.load(Ordering::Acquire) { Err(LogError::Closed) } else { Ok(()) }
    }

    pub(crate) fn config(&self) -> Arc<LogConfig> {
        self.config.load_full()
    }
}

impl Log for DiskLog {
    fn append_as_leader(
        &self,
        batch: CheckedBatch,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        self.append(batch, MarkerRule::NotBelow, epoch, now_ms)
    }

    fn append_marker(
        &self,
        marker: CheckedBatch,
        rule: MarkerRule,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        self.append(marker, rule, epoch, now_ms)
    }

    fn append_as_follower(
        &self,
        batches: Vec<CheckedBatch>,
        now_ms: i64,
    ) -> Result<FollowerAppend, LogError> {
        self.append_placed(batches, now_ms)
    }

    fn read(&self, request: &ReadRequest) -> Result<ReadOutcome, LogError> {
        self.read_slice(request)
    }

    fn ready(&self) -> Result<(), LogError> {
        self.check_not_abandoned()?;
        self.body().map(|_| ())
    }

    fn is_ready(&self) -> bool {
        !self.is_asleep()
    }

    fn first_undecided(&self, high_watermark: Offset) -> Option<Offset> {
        self.find_undecided(high_watermark)
    }

    fn aborted_transactions(&self, from: Offset, end: Offset) -> Result<Vec<AbortedTransaction>, LogError> {
        self.check_not_abandoned()?;
        self.find_aborted(from, end)
    }

    fn read_committed(&self, request: &ReadRequest) -> Result<CommittedRead, LogError> {
        self.read_slice_committed(request)
    }

    fn end_of_read(&self, from: Offset, bytes: u64) -> Result<Offset, LogError> {
        self.check_not_abandoned()?;
        self.find_end_of_read(from, bytes)
    }

    fn producers(&self) -> Vec<ProducerInfo> {
        self.ask_producers(|producers| producers.infos()).unwrap_or_default()
    }

    fn producers_held(&self) -> usize {
        self.body.get().map_or(0, |body| body.writer.lock().producers.len())
    }

    fn producer(&self, producer_id: ProducerId) -> Option<ProducerInfo> {
        self.ask_producers(|producers| producers.info(producer_id)).flatten()
    }

    fn raise_log_start(&self, offset: Offset) -> Result<Offset, LogError> {
        self.raise_start(offset)
    }

    fn delete_below_start(&self) -> Result<u64, LogError> {
        self.delete_gone()
    }

    fn segments(&self) -> Result<Vec<SegmentInfo>, LogError> {
        self.check_not_abandoned()?;
        self.list_segments()
    }

    fn roll(&self, now_ms: i64) -> Result<Option<Offset>, LogError> {
        self.roll_if_not_empty(now_ms)
    }

    fn offset_for_time(&self, timestamp_ms: i64) -> Result<Option<TimestampedOffset>, LogError> {
        self.check_not_abandoned()?;
        self.find_time(timestamp_ms)
    }

    fn offset_of_max_timestamp(&self) -> Result<Option<TimestampedOffset>, LogError> {
        self.check_not_abandoned()?;
        self.find_largest_time()
    }

    fn positions(&self) -> LogPositions {
        *self.positions.lock()
    }

    fn begin_epoch(&self, epoch: LeaderEpoch) {
        let _asleep = self.asleep.lock();
        let _no_append = self.body.get().map(|body| body.writer.lock());
        let log_end = self.positions().log_end.offset;
        self.epochs.lock().begin(epoch, log_end);
    }

    fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.lock().latest()
    }

    fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.epochs.lock().at(offset)
    }

    fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> Option<EpochEnd> {
        let epochs = self.epochs.lock();
        epochs.end_of(epoch, self.positions().log_end.offset)
    }

    fn flush_due(&self, now_ms: i64) -> bool {
        let positions = self.positions();
        let waited_ms = now_ms.saturating_sub(self.last_flush_ms.load(Ordering::Relaxed));
        positions.recovery_point < positions.log_end.offset && waited_ms >= self.config.load().flush_ms
    }

    fn flush_up_to(&self, offset: Offset, now_ms: i64) -> Result<Offset, LogError> {
        self.flush(offset, now_ms)
    }

    fn reserve_ahead(&self, bytes: u64) -> Result<(), LogError> {
        self.reserve_room(bytes)
    }

    fn truncate_to(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        self.truncate(offset, now_ms)
    }

    fn restart_at(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        self.restart(offset, now_ms)
    }

    fn configure(&self, config: LogConfig) {
        self.config.store(Arc::new(config));
    }

    fn expire_producers(&self, now_ms: i64) -> usize {
        let expiration_ms = self.config.load().producer_id_expiration_ms;
        // Of a log that is not open they are forgotten when they are read.
        self.body.get().map_or(0, |body| body.writer.lock().producers.expire(now_ms, expiration_ms))
    }

    fn close(&self, now_ms: i64) -> Result<(), LogError> {
        self.close_cleanly(now_ms)
    }
}
