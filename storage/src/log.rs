//! The contract of one partition's log, and the values that go in and come out. It says nothing of files, and knows
//! no error code: a caller turns each cause into its own protocol's number.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use crate::log_dir::DirectoryFailure;

pub use ottla_index::AbortedTransaction;

/// One partition's records. All methods are synchronous; those that may wait for a disk say so.
///
/// Invariant: log start ≤ recovery point ≤ log end once a log is open, except that a raised log start may lie beyond
/// the recovery point until the next flush.
pub trait Log: Send + Sync + fmt::Debug {
    /// Appends one batch at the log end: checks its producer's sequence, gives it offsets and the leader's epoch, rolls
    /// the segment if that is due, writes. A batch that this log already holds (an idempotent producer's retry) is not
    /// written again: the answer then tells where the first one lies and `duplicate` is set.
    ///
    /// # Errors
    /// Nothing of the batch can be read afterwards; what a failed write left behind is overwritten by the next append.
    fn append_as_leader(
        &self,
        batch: CheckedBatch,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError>;

    /// Appends a transaction's marker, as [`Log::append_as_leader`] does, which takes one by [`MarkerRule::NotBelow`].
    ///
    /// # Errors
    /// [`LogError::ProducerEpochFenced`] and [`LogError::CoordinatorFenced`] beside those of the other.
    fn append_marker(
        &self,
        marker: CheckedBatch,
        rule: MarkerRule,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError>;

    /// Appends batches as their leader placed them: offsets and epochs stay, a gap between two batches is the leader's
    /// compaction. Producers are noted and not judged, since the leader has done that. No batch is too large: a leader
    /// whose `segment.bytes` was larger took it.
    ///
    /// # Errors
    /// [`LogError::OffsetNotNext`] where a batch begins below the end of the one before, with nothing written. Where the
    /// disk fails, the batches before stay appended, and the log end tells how far it came.
    fn append_as_follower(&self, batches: Vec<CheckedBatch>, now_ms: i64)
    -> Result<FollowerAppend, LogError>;

    /// Finds the bytes that hold the records from an offset on. Takes no lock that an append holds while it writes.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`] below the log start or above the log end.
    fn read(&self, request: &ReadRequest) -> Result<ReadOutcome, LogError>;

    /// Does what a start has left undone, so that neither an append nor a cached read has a file to open. Both do it
    /// themselves where nobody has; this is for whoever may wait, before those who may not. Of many who ask at once one does it
    /// and the others wait.
    ///
    /// # Errors
    /// Of the disk, or where the files are not what an orderly stop left.
    fn ready(&self) -> Result<(), LogError> {
        Ok(())
    }

    /// Whether [`Log::ready`] has nothing left to do. Waits for nobody.
    fn is_ready(&self) -> bool {
        true
    }

    /// The first record whose own timestamp is at or after `timestamp_ms`, or none. May wait for a disk: it reads and,
    /// if need be, decompresses a batch.
    ///
    /// # Errors
    /// Of the disk, or a batch that cannot be read.
    fn offset_for_time(&self, timestamp_ms: i64) -> Result<Option<TimestampedOffset>, LogError>;

    /// The first record that carries the largest timestamp of the log, or none while it is empty. May wait for a disk.
    ///
    /// # Errors
    /// As [`Log::offset_for_time`].
    fn offset_of_max_timestamp(&self) -> Result<Option<TimestampedOffset>, LogError>;

    /// Log start, log end and recovery point, of one moment.
    fn positions(&self) -> LogPositions;

    /// The first offset whose transaction may still end either way for a reader: that of the earliest transaction that is
    /// open, or whose marker does not lie below `high_watermark`; none where everything below it is decided. The last
    /// stable offset is the lower of it and the high watermark. Cheap enough for every fetch. A caller's high watermark
    /// never goes back, but for a truncation.
    fn first_undecided(&self, high_watermark: Offset) -> Option<Offset>;

    /// The aborted transactions of which a reader of `from` up to `end` (exclusive) may meet records, in order of their
    /// markers. May wait for a disk.
    ///
    /// # Errors
    /// Of the disk.
    fn aborted_transactions(&self, from: Offset, end: Offset) -> Result<Vec<AbortedTransaction>, LogError>;

    /// Reads as [`Log::read`] does, and with it the aborted transactions of which there may be records in what was found:
    /// both of one moment, so that a compaction between them hides nothing that the list would need to say. The bound is
    /// the last stable offset.
    ///
    /// # Errors
    /// As [`Log::read`].
    fn read_committed(&self, request: &ReadRequest) -> Result<CommittedRead, LogError>;

    /// An offset that no record in the next `bytes` bytes from `from` on reaches, found with the offset index: where
    /// [`Log::aborted_transactions`] may end for a read that gave so many. May wait for a disk.
    ///
    /// # Errors
    /// Of the disk.
    fn end_of_read(&self, from: Offset, bytes: u64) -> Result<Offset, LogError>;

    /// What the log knows of its producers, in order of their ids. May wait for a disk, and tells of none, while the log
    /// is not ready ([`Log::ready`], which tells why).
    fn producers(&self) -> Vec<ProducerInfo>;

    /// How many producers are held in memory. Waits for no disk: of a log that is not ready there are none.
    fn producers_held(&self) -> usize {
        self.producers().len()
    }

    /// What the log knows of one producer, if it does. As with [`Log::producers`].
    fn producer(&self, producer_id: ProducerId) -> Option<ProducerInfo>;

    /// Takes records away at the start: those below `offset` are not read again. Returns the log start, which never goes
    /// back. Segments that lie wholly below it go by [`crate::DiskLog::remove_segments`], not here. Nothing is durable until
    /// the log starts are checkpointed.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`] above the log end.
    fn raise_log_start(&self, offset: Offset) -> Result<Offset, LogError>;

    /// Deletes the segments that lie wholly below the log start, for a log whose log start nobody checkpoints; says how
    /// many bytes of batches that were. The active one stays. Waits for the disk. A log without files has nothing to do.
    ///
    /// # Errors
    /// Of the disk.
    fn delete_below_start(&self) -> Result<u64, LogError> {
        Ok(0)
    }

    /// The segments, oldest first, of one moment: what retention and compaction plan by. May wait for a disk.
    ///
    /// # Errors
    /// Of the disk.
    fn segments(&self) -> Result<Vec<SegmentInfo>, LogError>;

    /// Begins a new segment unless the active one is empty; says at which offset.
    ///
    /// # Errors
    /// Of the disk; the old segment then stays the active one.
    fn roll(&self, now_ms: i64) -> Result<Option<Offset>, LogError>;

    /// Notes that a leader of this epoch begins at the log end. Every later append of that epoch keeps the note.
    fn begin_epoch(&self, epoch: LeaderEpoch);

    /// The newest epoch that is known, or none.
    fn latest_epoch(&self) -> Option<LeaderEpoch>;

    /// The epoch in which the record at `offset` was appended, as far as it is known.
    fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch>;

    /// Where an epoch ended: the answer to a replica that asks for the end of `epoch` (KIP-101, KIP-279). None when the
    /// epoch is above all known ones or none is known.
    fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> Option<EpochEnd>;

    /// Whether `flush.ms` says that unflushed records should now be flushed.
    fn flush_due(&self, now_ms: i64) -> bool;

    /// Makes everything below `offset` durable and moves the recovery point there; returns the new recovery point.
    /// Waits for the disk: never call it on a reactor.
    ///
    /// # Errors
    /// After a failed fsync the whole directory is offline: it answers neither reads nor writes.
    fn flush_up_to(&self, offset: Offset, now_ms: i64) -> Result<Offset, LogError>;

    /// Has the disk set room aside where the log grows next, at most to the end of its segment: an append then need not
    /// look for it beside a flush. For busy logs. Waits for the disk; a log without files has nothing to do.
    ///
    /// # Errors
    /// Of the disk. The log goes on as before.
    fn reserve_ahead(&self, _bytes: u64) -> Result<(), LogError> {
        Ok(())
    }

    /// Removes all records at and above `offset`. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk.
    fn truncate_to(&self, offset: Offset, now_ms: i64) -> Result<(), LogError>;

    /// Removes all records and begins anew at `offset`, which becomes log start and log end. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk.
    fn restart_at(&self, offset: Offset, now_ms: i64) -> Result<(), LogError>;

    /// Takes over changed settings; they act from the next append on.
    fn configure(&self, config: LogConfig);

    /// Forgets idempotent producers that were silent for `producer.id.expiration.ms` and have no transaction open;
    /// returns how many.
    fn expire_producers(&self, now_ms: i64) -> usize;

    /// Ends writing in good order: everything durable, indexes trimmed, producer snapshot at the log end. Later appends
    /// answer [`LogError::Closed`]; a closed log is still read. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk; the log must then not be called cleanly closed.
    fn close(&self, now_ms: i64) -> Result<(), LogError>;
}

/// A log's settings, each named after the topic configuration that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct LogConfig {
    /// `segment.bytes`: a segment's log file does not grow beyond this, and no batch may be larger.
    pub segment_bytes: u32,
    /// `segment.ms`: a batch whose largest timestamp lies further than this from the segment's first begins a new one.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: up to this is taken off `segment_ms`, differently in each segment.
    pub segment_jitter_ms: i64,
    /// `index.interval.bytes`: more than so many bytes lie between two index entries.
    pub index_interval_bytes: u32,
    /// `segment.index.bytes`: an index file that would grow beyond this ends its segment.
    pub segment_index_bytes: u32,
    /// `flush.messages`: [`AppendInfo::flush_due`] says when so many records are unflushed.
    pub flush_messages: i64,
    /// `flush.ms`: [`Log::flush_due`] says when unflushed records are so old.
    pub flush_ms: i64,
    /// `preallocate`: the active segment's file is given its full size at once.
    pub preallocate: bool,
    /// `producer.id.expiration.ms`: an idempotent producer that was silent for so long is forgotten.
    pub producer_id_expiration_ms: i64,
    /// `cleanup.policy` contains `compact`: offsets may be missing between two segments. In any other log that means
    /// that a loss of power took the end of the first, and recovery then lets the second go as well.
    pub is_compacted: bool,
    /// `cleanup.policy` contains `delete`: retention by time and size, and deletion of records by request.
    pub deletes: bool,
    /// `retention.ms`; none keeps records of any age.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; none keeps any number of bytes.
    pub retention_bytes: Option<u64>,
    /// `file.delete.delay.ms`: so long after they left the log files are deleted.
    pub file_delete_delay_ms: i64,
    /// `delete.retention.ms`: so long after a compaction first saw them, tombstones and markers stay.
    pub delete_retention_ms: i64,
    /// `min.compaction.lag.ms`: records younger than this are not compacted.
    pub min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`: records older than this are compacted though little else is to be gained.
    pub max_compaction_lag_ms: i64,
    /// `min.cleanable.dirty.ratio`: a log is compacted when more than this share of it, 0 to 1, was not compacted yet.
    pub min_cleanable_dirty_ratio: f64,
}

impl LogConfig {
    /// How far timestamps may span in a segment: in a compacted log no further than `max.compaction.lag.ms`, since an active
    /// segment is not compacted.
    #[must_use]
    pub fn roll_ms(&self) -> i64 {
        if self.is_compacted { self.segment_ms.min(self.max_compaction_lag_ms) } else { self.segment_ms }
    }
}

impl Default for LogConfig {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_ms: 7 * 24 * 60 * 60 * 1000,
            segment_jitter_ms: 0,
            index_interval_bytes: 4096,
            segment_index_bytes: 10 << 20,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            preallocate: false,
            producer_id_expiration_ms: 24 * 60 * 60 * 1000,
            is_compacted: false,
            deletes: true,
            retention_ms: Some(7 * 24 * 60 * 60 * 1000),
            retention_bytes: None,
            file_delete_delay_ms: 60_000,
            delete_retention_ms: 24 * 60 * 60 * 1000,
            min_compaction_lag_ms: 0,
            max_compaction_lag_ms: i64::MAX,
            min_cleanable_dirty_ratio: 0.5,
        }
    }
}

/// A place between two records, with the byte that it has in its segment's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPosition {
    /// The offset of the record after this place.
    pub offset: Offset,
    /// The base offset of the segment.
    pub segment_base: Offset,
    /// The byte in that segment's log file.
    pub position: u64,
}

/// What a log's positions were at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPositions {
    /// The first offset that may be read.
    pub log_start: Offset,
    /// The first unwritten offset and its place.
    pub log_end: LogPosition,
    /// Everything below it survives a loss of power.
    pub recovery_point: Offset,
}

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendInfo {
    /// The batch's first offset; of the batch already held, when `duplicate`.
    pub base_offset: Offset,
    /// The batch's last offset.
    pub last_offset: Offset,
    /// The time to answer as the time of append: set for batches stamped by the broker and for duplicates.
    pub log_append_time_ms: Option<i64>,
    /// The log start at that moment.
    pub log_start: Offset,
    /// The log end after the append.
    pub log_end: LogPosition,
    /// The log already held the batch and nothing was written.
    pub duplicate: bool,
    /// The append began a new segment here: everything below wants a [`Log::flush_up_to`] off this path.
    pub rolled_at: Option<Offset>,
    /// `flush.messages` is reached: the append counts as durable only after [`Log::flush_up_to`] its `log_end`.
    pub flush_due: bool,
}

/// How the epoch in a marker stands to the producer's that the log knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerRule {
    /// It is not lower: `transaction.version` 0 and 1.
    NotBelow,
    /// It is higher, for the end of the transaction raised it: `transaction.version` 2 (KIP-890). The same again is a
    /// retry where no transaction is open.
    Above,
}

/// What an append of a leader's batches did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerAppend {
    /// The log start at that moment.
    pub log_start: Offset,
    /// The log end after the append.
    pub log_end: LogPosition,
    /// The last segment that was begun: everything below wants a [`Log::flush_up_to`] off this path.
    pub rolled_at: Option<Offset>,
    /// As in [`AppendInfo`].
    pub flush_due: bool,
}

/// What a log knows of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerInfo {
    /// Who.
    pub producer_id: ProducerId,
    /// Its newest epoch.
    pub producer_epoch: ProducerEpoch,
    /// The last sequence number of this epoch, or none after a marker.
    pub last_sequence: Option<i32>,
    /// The timestamp of its newest batch or marker.
    pub last_timestamp_ms: i64,
    /// The epoch of the coordinator that wrote its last marker, or none without one.
    pub coordinator_epoch: Option<i32>,
    /// Where its open transaction began.
    pub transaction_start: Option<Offset>,
}

/// A segment as retention and compaction see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its first possible offset, which names it.
    pub base: Offset,
    /// The base of the next one; of the last, the log end.
    pub end: Offset,
    /// Bytes of its batches.
    pub bytes: u64,
    /// The largest timestamp of its records, or none where no record has one.
    pub largest_timestamp_ms: Option<i64>,
    /// When its file was last written, which stands in where there is no timestamp.
    pub modified_ms: i64,
    /// It is the last one, which takes appends.
    pub is_active: bool,
}

/// What to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRequest {
    /// The offset of the first wanted record. The batch that holds it may begin before.
    pub from: Offset,
    /// At most so many bytes; the last batch may be cut anywhere.
    pub max_bytes: u64,
    /// Where to stop.
    pub end: ReadEnd,
    /// The first batch is returned whole even if it is larger than `max_bytes`; else nothing is, for a part of one batch
    /// is of no use. Only later ones are cut.
    pub at_least_one_batch: bool,
    /// Whether the read may wait for a disk.
    pub mode: ReadMode,
}

/// An exclusive upper bound of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadEnd {
    /// Everything that is written.
    LogEnd,
    /// Batches that lie wholly below this offset (high watermark, last stable offset). It must be a batch's boundary; a
    /// bound above the log end means the log end.
    Before(Offset),
}

/// Whether a read may wait for a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// Answers [`ReadOutcome::WouldBlock`] instead of waiting for a disk.
    Cached,
    /// Waits where need be, and leaves the bytes of the slice in the page cache.
    MayBlock,
}

/// What a read found.
#[derive(Debug, Clone)]
pub enum ReadOutcome {
    /// Bytes that begin at a batch.
    Found(ReadSlice),
    /// Nothing lies between `from` and the bound (or nothing fits into `max_bytes`).
    Empty,
    /// The answer is not in memory: read again as [`ReadMode::MayBlock`], elsewhere.
    WouldBlock,
}

/// What a read for one who wants committed records found.
#[derive(Debug, Clone)]
pub struct CommittedRead {
    /// The bytes, with records of aborted transactions among them.
    pub outcome: ReadOutcome,
    /// Those transactions, and perhaps some more, in order of their markers.
    pub aborted: Vec<AbortedTransaction>,
}

/// A run of bytes of one segment: whole batches, the last one possibly cut.
#[derive(Debug, Clone)]
pub struct ReadSlice {
    /// Where the bytes are.
    pub source: SliceSource,
    /// The first byte in the source.
    pub position: u64,
    /// How many bytes.
    pub length: u64,
}

/// Where a slice's bytes are. Both survive a roll, a truncation of the list and a deletion of the segment.
#[derive(Debug, Clone)]
pub enum SliceSource {
    /// In an open file, to be sent or read at a position.
    File(Arc<File>),
    /// In memory.
    Memory(Bytes),
}

/// A record's place and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampedOffset {
    /// The record's offset.
    pub offset: Offset,
    /// The record's timestamp.
    pub timestamp_ms: i64,
    /// The epoch in which it was appended.
    pub leader_epoch: LeaderEpoch,
}

/// Where an epoch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The newest known epoch at or below the one that was asked for; the asked one itself when it is below all.
    pub epoch: LeaderEpoch,
    /// The first offset that does not belong to it.
    pub end_offset: Offset,
}

/// Why a log could not do as told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The offset lies below the log start or above the log end.
    #[error("offset {wanted} is outside of {start} to {end}")]
    OffsetOutOfRange {
        /// The offset that was asked for.
        wanted: Offset,
        /// The log start.
        start: Offset,
        /// The log end.
        end: Offset,
    },
    /// The batch is larger than a whole segment may be.
    #[error("a batch of {size} bytes does not fit into a segment of at most {limit} bytes")]
    BatchTooLarge {
        /// The batch's bytes.
        size: u64,
        /// `segment.bytes`.
        limit: u64,
    },
    /// The log end would pass the largest offset.
    #[error("a batch of {count} offsets does not fit above log end {end}")]
    OffsetsExhausted {
        /// The log end.
        end: Offset,
        /// Offsets that the batch takes.
        count: i64,
    },
    /// An idempotent producer left out a sequence number, or began a new epoch above 0.
    #[error(
        "producer {producer_id} epoch {producer_epoch}: sequence {sequence} where {expected} should follow"
    )]
    SequenceOutOfOrder {
        /// The producer.
        producer_id: ProducerId,
        /// Its epoch in the batch.
        producer_epoch: ProducerEpoch,
        /// The batch's first sequence number.
        sequence: i32,
        /// The sequence number that was due.
        expected: i32,
    },
    /// A batch of a leader begins below the end of what is there.
    #[error("a batch begins at offset {base} where {expected} is the lowest possible")]
    OffsetNotNext {
        /// The batch's first offset.
        base: Offset,
        /// The lowest offset that it could have.
        expected: Offset,
    },
    /// A batch that belongs to no transaction, of a producer that has one open.
    #[error("producer {producer_id}: a batch outside of the transaction that is open since offset {start}")]
    TransactionOpen {
        /// The producer.
        producer_id: ProducerId,
        /// Where its transaction began.
        start: Offset,
    },
    /// A marker of a coordinator that was replaced.
    #[error("producer {producer_id}: a marker of coordinator epoch {epoch}, which is older than {current}")]
    CoordinatorFenced {
        /// The producer.
        producer_id: ProducerId,
        /// The coordinator's epoch in the marker.
        epoch: i32,
        /// The epoch that the log knows.
        current: i32,
    },
    /// The producer was replaced by a newer incarnation of itself.
    #[error("producer {producer_id}: epoch {producer_epoch} is older than {current}")]
    ProducerEpochFenced {
        /// The producer.
        producer_id: ProducerId,
        /// Its epoch in the batch.
        producer_epoch: ProducerEpoch,
        /// The epoch that the log knows.
        current: ProducerEpoch,
    },
    /// The log was closed and takes no more writes, or was removed and gives nothing either.
    #[error("the log is closed")]
    Closed,
    /// The directory took its last write: an fsync in it failed.
    #[error("{0}")]
    DirectoryFailed(Arc<DirectoryFailure>),
    /// A call to the system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The bytes at a place are no batch that this log could have written.
    #[error("{} is damaged at byte {position}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the batch begins.
        position: u64,
        /// What is wrong there.
        damage: Damage,
    },
    /// The log holds messages of a format that Kafka wrote before 0.11. They are read, but not compacted.
    #[error("{} holds messages of format {magic} at byte {position}, which are not compacted", path.display())]
    OldFormat {
        /// The file.
        path: PathBuf,
        /// Where the first such message begins.
        position: u64,
        /// 0 or 1.
        magic: i8,
    },
    /// A file of the log that is text or a snapshot does not read as one.
    #[error("{} is malformed: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was expected.
        reason: &'static str,
    },
}

/// What is wrong with the bytes where a batch should begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file ends within the batch's header.
    #[error("{available} bytes are left where a header needs {needed}")]
    HeaderCut {
        /// Bytes up to the end of the file.
        available: u64,
        /// Bytes of a header.
        needed: u64,
    },
    /// The file ends within the batch.
    #[error("{available} bytes are left where the batch has {size}")]
    BatchCut {
        /// Bytes up to the end of the file.
        available: u64,
        /// The batch's size.
        size: u64,
    },
    /// Only zeros up to the end of the file: room that was never written.
    #[error("zeros up to the end of the file")]
    ZeroTail,
    /// The length field is below that of a batch without records.
    #[error("length {length} is below that of any batch")]
    Length {
        /// The field's value.
        length: i32,
    },
    /// A number that no format has, or not the one of these bytes.
    #[error("magic {magic} is not that of these bytes")]
    Magic {
        /// The field's value.
        magic: i8,
    },
    /// The checksum does not match.
    #[error("checksum {computed:#010x} where {stored:#010x} is stored")]
    Checksum {
        /// As the header has it.
        stored: u32,
        /// As the bytes give it.
        computed: u32,
    },
    /// Offsets go back, or do not belong to the segment.
    #[error("offsets {base} to {last} where {expected} is the lowest possible")]
    Offsets {
        /// The batch's first offset.
        base: Offset,
        /// The batch's last offset.
        last: Offset,
        /// The first offset that may come.
        expected: Offset,
    },
    /// The file's end is missing: its batches are whole, but the next segment begins later than they end.
    #[error("offsets from {end} up to the next segment's base {base} are missing")]
    Gap {
        /// The offset after the last batch.
        end: Offset,
        /// The next segment's base.
        base: Offset,
    },
    /// The batch reaches into the next segment: a truncation was lost that the next segment was begun after.
    #[error("offset {last} lies in the next segment, which begins at {base}")]
    Overlap {
        /// The batch's last offset.
        last: Offset,
        /// The next segment's base.
        base: Offset,
    },
    /// The records inside do not decode.
    #[error("the records do not decode")]
    Records,
}
