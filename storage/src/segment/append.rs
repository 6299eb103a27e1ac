//! The growing end of a log: what is known of the active segment beyond its files, the write of a batch, its index
//! entries, and when the segment has had enough. One owner, under the log's append lock; readers never come here.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_index::{OffsetEntry, RelativeOffset, TimeEntry};
use ottla_model::Offset;
use ottla_model::batch::CheckedBatch;

use super::name::FileKind;
use super::read::ReadFault;
use super::stored::StoredHeader;
use super::{LargestTimestamp, Segment};
use crate::log::{AbortedTransaction, LogConfig, LogError, LogPosition, ReadMode};

/// The active segment, to its writer.
#[derive(Debug)]
pub(crate) struct Tail {
    segment: Arc<Segment>,
    state: TailState,
    created_ms: i64,
}

/// What is known of an active segment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TailState {
    /// The end of its last whole batch.
    pub(crate) bytes: u64,
    pub(crate) bytes_since_entry: u64,
    pub(crate) largest: Option<LargestTimestamp>,
    /// The first batch's largest timestamp; none while the segment is empty.
    pub(crate) first_timestamp_ms: Option<i64>,
    /// The file may hold something beyond `bytes`.
    pub(crate) file_is_longer: bool,
}

impl TailState {
    /// Counts a batch.
    pub(crate) fn add(&mut self, batch: &StoredHeader) {
        let timestamp_ms = batch.max_timestamp_ms();
        if timestamp_ms > self.largest.map_or(-1, |largest| largest.timestamp_ms) {
            self.largest = Some(LargestTimestamp { timestamp_ms, offset: batch.last_offset() });
        }
        self.first_timestamp_ms = self.first_timestamp_ms.or(Some(timestamp_ms));
        self.bytes += batch.size() as u64;
        self.bytes_since_entry += batch.size() as u64;
    }
}

impl Tail {
    /// The end of a segment that has no batch yet.
    pub(crate) fn new(segment: Arc<Segment>, file_is_longer: bool, created_ms: i64) -> Self {
        Self::resume(segment, TailState { file_is_longer, ..TailState::default() }, created_ms)
    }

    /// The end of a segment that was there before.
    pub(crate) fn resume(segment: Arc<Segment>, state: TailState, created_ms: i64) -> Self {
        segment.set_bytes(state.bytes);
        segment.set_largest_timestamp(state.largest);
        Self { segment, state, created_ms }
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// The file may be given room beyond its batches from now on, which sealing takes back.
    pub(crate) fn expect_room(&mut self) -> u64 {
        self.state.file_is_longer = true;
        self.state.bytes
    }

    /// The end of its last whole batch.
    pub(crate) fn bytes(&self) -> u64 {
        self.state.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state.bytes == 0
    }

    /// The place after the last batch, given the offset that comes next.
    pub(crate) fn position(&self, next: Offset) -> LogPosition {
        LogPosition { offset: next, segment_base: self.segment.base(), position: self.state.bytes }
    }

    /// Whether the batch, whose offsets are assigned, belongs into a new segment.
    pub(crate) fn is_due(
        &self,
        batch: &CheckedBatch,
        config: &LogConfig,
        jitter_ms: i64,
        now_ms: i64,
    ) -> bool {
        if RelativeOffset::of(batch.last_offset(), self.segment.base()).is_none() {
            return true;
        }
        if self.state.bytes == 0 {
            return false;
        }
        let since_first_ms = match self.state.first_timestamp_ms.filter(|first| *first >= 0) {
            Some(first) => batch.max_timestamp_ms().saturating_sub(first),
            None => now_ms.saturating_sub(self.created_ms),
        };
        self.state.bytes + batch.size() as u64 > u64::from(config.segment_bytes)
            || since_first_ms > config.roll_ms().saturating_sub(jitter_ms)
            || self.segment.offsets.is_full()
            || self.segment.times.is_full()
    }

    /// Writes a batch whose offsets are assigned. Where the write fails, the next one begins at the same byte. `aborted` is
    /// the transaction that the batch ends, if it is to be listed: that comes first, for a reader who meets the marker
    /// must find it there.
    pub(crate) fn append(
        &mut self,
        batch: &CheckedBatch,
        aborted: Option<&AbortedTransaction>,
        config: &LogConfig,
    ) -> Result<(), LogError> {
        let segment = Arc::clone(&self.segment);
        if let Some(entry) = aborted {
            segment.prepare_aborted(entry)?;
        }
        let file = segment.log_file().map_err(|error| segment.error("open", FileKind::Log, error))?;
        if let Err(error) = file.write_at(&batch.parts(), self.state.bytes) {
            self.state.file_is_longer = true;
            return Err(segment.error("write", FileKind::Log, error));
        }
        if aborted.is_some() {
            segment.aborted.count_next();
        }
        self.note(&StoredHeader::Batch(*batch.header()), config.index_interval_bytes);
        // An entry that cannot be written now is written later, at the latest when the segment is sealed, and a failure
        // is reported then: the batch itself is safe.
        let directory = &*segment.directory;
        let _ =
            segment.offsets.write_if_many(directory).and_then(|()| segment.times.write_if_many(directory));
        Ok(())
    }

    /// Counts a batch that lies at the end of the file, and enters it into the indexes where that is due.
    pub(crate) fn note(&mut self, batch: &StoredHeader, index_interval_bytes: u32) {
        let before = self.state;
        self.state.add(batch);
        if before.bytes_since_entry > u64::from(index_interval_bytes) {
            self.enter(batch, before.bytes);
            self.state.bytes_since_entry = batch.size() as u64;
        }
        if self.state.largest != before.largest {
            self.segment.set_largest_timestamp(self.state.largest);
        }
        self.segment.set_bytes(self.state.bytes);
    }

    fn enter(&self, batch: &StoredHeader, position: u64) {
        let base = self.segment.base();
        let (Some(offset), Ok(position)) =
            (RelativeOffset::of(batch.last_offset(), base), u32::try_from(position))
        else {
            return;
        };
        let entered = self.segment.offsets.push(OffsetEntry { offset, position });
        debug_assert_eq!(entered, Ok(()), "offsets go up in a log");
        self.enter_largest_timestamp();
    }

    fn enter_largest_timestamp(&self) {
        let Some(largest) = self.state.largest else { return };
        let Some(offset) = RelativeOffset::of(largest.offset, self.segment.base()) else { return };
        let entered = self.segment.times.push_if_later(largest.timestamp_ms, offset);
        debug_assert_eq!(entered, Ok(()), "the largest timestamp never goes down");
    }

    /// Ends the segment: the time index's last entry, indexes on the disk and mapped from now on, the file cut to its
    /// batches. Nothing is synced. It may be called again after a failure.
    pub(crate) fn seal(&mut self) -> Result<(), LogError> {
        self.finish_log()?;
        let (segment, directory) = (&self.segment, &*self.segment.directory);
        let sealed = segment.offsets.seal(directory);
        sealed.map_err(|error| segment.error("write", FileKind::OffsetIndex, error))?;
        let sealed = segment.times.seal(directory);
        sealed.map_err(|error| segment.error("write", FileKind::TimeIndex, error))?;
        let sealed = segment.aborted.trim(directory);
        sealed.map_err(|error| segment.error("truncate", FileKind::TxnIndex, error))
    }

    /// As [`Tail::seal`], but for readers the segment stays as it is.
    pub(crate) fn close(&mut self) -> Result<(), LogError> {
        self.finish_log()?;
        let (segment, directory) = (&self.segment, &*self.segment.directory);
        let trimmed = segment.offsets.trim(directory);
        trimmed.map_err(|error| segment.error("write", FileKind::OffsetIndex, error))?;
        let trimmed = segment.times.trim(directory);
        trimmed.map_err(|error| segment.error("write", FileKind::TimeIndex, error))?;
        let trimmed = segment.aborted.trim(directory);
        trimmed.map_err(|error| segment.error("truncate", FileKind::TxnIndex, error))
    }

    fn finish_log(&mut self) -> Result<(), LogError> {
        self.enter_largest_timestamp();
        self.segment.is_sealed_anew.store(true, Ordering::Release);
        self.cut_to_batches()
    }

    /// Takes from the file what it may have beyond the last whole batch.
    pub(crate) fn cut_to_batches(&mut self) -> Result<(), LogError> {
        if self.state.file_is_longer {
            self.segment.cut_file(self.state.bytes)?;
            self.state.file_is_longer = false;
        }
        Ok(())
    }
}

impl Segment {
    /// Makes the segment grow again after its first `bytes` bytes, where a batch begins that reaches `next` or beyond:
    /// its indexes keep the entries below. The file itself is not cut here.
    pub(crate) fn resume(
        &self,
        next: Offset,
        bytes: u64,
        index_bytes_max: u32,
    ) -> Result<TailState, LogError> {
        let directory = &*self.directory;
        let is_below = |offset: RelativeOffset| offset.at(self.base) < next;
        let resumed = self.offsets.resume(directory, index_bytes_max, |entry: OffsetEntry| {
            is_below(entry.offset) && u64::from(entry.position) < bytes
        });
        resumed.map_err(|error| self.error("write", FileKind::OffsetIndex, error))?;
        let resumed =
            self.times.resume(directory, index_bytes_max, |entry: TimeEntry| is_below(entry.offset));
        resumed.map_err(|error| self.error("write", FileKind::TimeIndex, error))?;
        let cut = self.aborted.truncate(directory, next);
        cut.map_err(|error| self.error("truncate", FileKind::TxnIndex, error))?;
        self.state_up_to(bytes)
    }

    /// What a writer needs to know of the first `bytes` bytes, given that the indexes describe no more than these.
    fn state_up_to(&self, bytes: u64) -> Result<TailState, LogError> {
        self.forget_largest_timestamp();
        let mut walk = self.walk(bytes, ReadMode::MayBlock).map_err(ReadFault::patient)?;
        let first = walk.header_at(0).map_err(ReadFault::patient)?;
        // Where an index lies, all batches are walked.
        let start = self.right_end(&mut walk).map_err(ReadFault::patient)?;
        let largest = self.indexed_timestamp()?;
        let is_right = largest.map_or(Ok(true), |largest| self.has_timestamp(largest))?;
        let mut state = TailState {
            bytes: if is_right { start } else { 0 },
            bytes_since_entry: 0,
            largest: largest.filter(|_| is_right),
            first_timestamp_ms: first.map(|header| header.max_timestamp_ms()),
            file_is_longer: true,
        };
        while let Some(header) = walk.header_at(state.bytes).map_err(ReadFault::patient)? {
            state.add(&header);
        }
        Ok(state)
    }
}
