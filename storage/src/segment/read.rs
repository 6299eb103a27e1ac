//! Finding batches in a segment: index, then a walk over headers. It checks no checksum (that is recovery's) and takes
//! no lock of the writer's: a caller says how many bytes it may see.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use ottla_index::{OffsetEntry, RelativeOffset};
use ottla_model::batch::{BATCH_HEADER_BYTES, BATCH_PREFIX_BYTES, BatchError, LegacyBatch, RecordBatch};
use ottla_model::{LeaderEpoch, Offset};

use super::index_file::Look;
use super::name::FileKind;
use super::stored::StoredHeader;
use super::{LargestTimestamp, Segment};
use crate::io::{LogFile, read_full};
use crate::log::{Damage, LogError, ReadMode, ReadSlice, SliceSource, TimestampedOffset};

/// A header walk reads so much at once: by default an index entry is this far from the next.
const WALK_BYTES: usize = 4096;

/// The cache is probed at both ends of every piece of this size.
const PROBE_BYTES: u64 = 256 * 1024;

/// The bytes that a batch's decompressed records may have when a timestamp is looked for in it. Every producer's batch
/// was decompressed within a tighter bound before it was appended.
const DECOMPRESSED_BYTES_MAX: usize = 1 << 30;

/// Why a read gave nothing.
#[derive(Debug)]
pub(crate) enum ReadFault {
    WouldBlock,
    Log(LogError),
}

impl From<LogError> for ReadFault {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl ReadFault {
    /// The error of a read that may wait.
    pub(crate) fn patient(self) -> LogError {
        match self {
            Self::Log(error) => error,
            Self::WouldBlock => unreachable!("a read that may wait never refuses to"),
        }
    }
}

/// A batch and where it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundBatch {
    pub(crate) position: u64,
    pub(crate) header: StoredHeader,
}

impl Segment {
    /// The first batch among the first `limit` bytes whose last offset is at or above `target`.
    pub(crate) fn find(
        &self,
        target: Offset,
        limit: u64,
        mode: ReadMode,
    ) -> Result<Option<FoundBatch>, ReadFault> {
        let mut walk = self.walk(limit, mode)?;
        let mut position = self.indexed_position(target, &mut walk, mode)?;
        while let Some(header) = walk.header_at(position)? {
            if header.last_offset() >= target {
                return Ok(Some(FoundBatch { position, header }));
            }
            position += header.size() as u64;
        }
        Ok(None)
    }

    /// An offset that no batch which begins below this byte reaches; none where no right index entry tells.
    pub(crate) fn end_at(&self, position: u64, mode: ReadMode) -> Result<Option<Offset>, ReadFault> {
        let look = self.offsets.at_or_after(&*self.directory, position, mode);
        let Some(entry) = self.indexing(look, FileKind::OffsetIndex)? else { return Ok(None) };
        // A wrong offset would hide aborted transactions from a reader.
        let mut walk = self.walk(self.bytes(), mode)?;
        Ok(self.is_right(&entry, &mut walk)?.then(|| entry.offset.at(self.base)))
    }

    /// Whether a batch begins where the entry says and ends with its offset. One of a Kafka before 4.0 can stand for several
    /// batches, of which the first ends before: that is no fault, and of no use here.
    fn is_right(&self, entry: &OffsetEntry, walk: &mut Walk<'_>) -> Result<bool, ReadFault> {
        let (expected, position) = (entry.offset.at(self.base), u64::from(entry.position));
        if position >= walk.limit {
            // Right, perhaps, and not yet to be seen.
            if position >= self.bytes() {
                self.note_wrong_entry(FileKind::OffsetIndex);
            }
            return Ok(false);
        }
        let header = match walk.header_at(position) {
            Ok(header) => header,
            Err(ReadFault::Log(LogError::Damaged { .. })) => None,
            Err(fault) => return Err(fault),
        };
        match header {
            Some(header) if header.last_offset() == expected => return Ok(true),
            Some(header) if (self.base..expected).contains(&header.last_offset()) => {}
            _ => self.note_wrong_entry(FileKind::OffsetIndex),
        }
        Ok(false)
    }

    /// The bytes from `position` on, at most `length` of them.
    pub(crate) fn slice(&self, position: u64, length: u64, mode: ReadMode) -> Result<ReadSlice, ReadFault> {
        let file = self.reading(self.log_file())?;
        match file.system_file() {
            Some(system_file) => {
                self.warm(&*file, position, length, mode)?;
                Ok(ReadSlice { source: SliceSource::File(system_file), position, length })
            }
            None => {
                let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
                let filled = self.reading(read_full(&*file, &mut bytes, position))?;
                bytes.truncate(filled);
                let length = filled as u64;
                Ok(ReadSlice { source: SliceSource::Memory(Bytes::from(bytes)), position: 0, length })
            }
        }
    }

    /// The first record at or above `from` whose own timestamp is at least `timestamp_ms`.
    pub(crate) fn find_time(
        &self,
        timestamp_ms: i64,
        from: Offset,
        limit: u64,
    ) -> Result<Option<TimestampedOffset>, ReadFault> {
        let mode = ReadMode::MayBlock;
        let look = self.times.floor(&*self.directory, timestamp_ms, mode);
        // Before the batch that the entry names, no timestamp reaches the entry's, so none reaches the one sought. An
        // entry that does not name a batch with its timestamp is wrong, and says nothing of where to begin.
        let named = match self.indexing(look, FileKind::TimeIndex)? {
            Some(entry) if entry.offset.at(self.base) >= from => {
                let found = self.find(entry.offset.at(self.base), limit, mode)?;
                let named = found.filter(|found| found.header.max_timestamp_ms() == entry.timestamp_ms);
                if found.is_some() && named.is_none() {
                    self.note_wrong_entry(FileKind::TimeIndex);
                }
                named
            }
            _ => None,
        };
        let first = match named {
            Some(found) => Some(found),
            None => self.find(from, limit, mode)?,
        };
        let Some(first) = first else { return Ok(None) };
        let mut walk = self.walk(limit, mode)?;
        let mut position = first.position;
        while let Some(header) = walk.header_at(position)? {
            if header.max_timestamp_ms() >= timestamp_ms {
                let passes = |offset, time| time >= timestamp_ms && offset >= from;
                if let Some(found) = self.first_record(position, &header, passes)? {
                    return Ok(Some(found));
                }
            }
            position += header.size() as u64;
        }
        Ok(None)
    }

    /// The first record with the segment's largest timestamp.
    pub(crate) fn find_largest_time(
        &self,
        largest: LargestTimestamp,
        limit: u64,
    ) -> Result<Option<TimestampedOffset>, ReadFault> {
        let Some(found) = self.find(largest.offset, limit, ReadMode::MayBlock)? else { return Ok(None) };
        self.first_record(found.position, &found.header, |_, time| time == largest.timestamp_ms)
    }

    /// Whether the batch at that offset has that timestamp.
    pub(crate) fn has_timestamp(&self, largest: LargestTimestamp) -> Result<bool, LogError> {
        let found =
            self.find(largest.offset, self.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        Ok(found.is_some_and(|found| found.header.max_timestamp_ms() == largest.timestamp_ms))
    }

    /// The largest timestamp, where the time index has this one: that, if it can be right, or else what the batches have.
    pub(super) fn sound_timestamp(
        &self,
        indexed: LargestTimestamp,
    ) -> Result<Option<LargestTimestamp>, LogError> {
        match self.has_timestamp(indexed) {
            Ok(true) => return Ok(Some(indexed)),
            // Nobody can tell what is in a batch that does not read.
            Err(LogError::Damaged { .. }) => return Ok(Some(indexed)),
            Err(error) => return Err(error),
            Ok(false) => self.note_wrong_entry(FileKind::TimeIndex),
        }
        let mut largest: Option<LargestTimestamp> = None;
        self.walk_sound(0, |header| {
            let timestamp_ms = header.max_timestamp_ms();
            if timestamp_ms > largest.map_or(-1, |largest| largest.timestamp_ms) {
                largest = Some(LargestTimestamp { timestamp_ms, offset: header.last_offset() });
            }
        })?;
        Ok(largest)
    }

    /// Where the first batch begins that reaches `offset`, or none where none does.
    pub(crate) fn position_of(&self, offset: Offset) -> Result<Option<u64>, LogError> {
        let found = self.find(offset, self.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        Ok(found.map(|found| found.position))
    }

    /// The largest timestamp of the first batch, or none where there is no batch or it has none.
    pub(crate) fn first_timestamp(&self) -> Result<Option<i64>, LogError> {
        let mut walk = self.walk(self.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        let first = walk.header_at(0).map_err(ReadFault::patient)?;
        Ok(first.map(|header| header.max_timestamp_ms()).filter(|timestamp_ms| *timestamp_ms >= 0))
    }

    /// Whether records without a time count as later than this: those of a segment that begins with a message of format 0
    /// have the time at which its file was last changed.
    pub(crate) fn has_only_file_time(&self, timestamp_ms: i64) -> Result<bool, LogError> {
        let mut walk = self.walk(self.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        let first = walk.header_at(0).map_err(ReadFault::patient)?;
        if !matches!(first, Some(StoredHeader::Message(message)) if message.magic() == 0) {
            return Ok(false);
        }
        let modified_ms = self.log_file().and_then(|file| file.modified_ms());
        let modified_ms = modified_ms.map_err(|error| self.error("look at", FileKind::Log, error))?;
        Ok(modified_ms >= timestamp_ms)
    }

    /// The first record of the batch or message at a place, where its header was found, that passes.
    fn first_record(
        &self,
        position: u64,
        header: &StoredHeader,
        passes: impl Fn(Offset, i64) -> bool,
    ) -> Result<Option<TimestampedOffset>, ReadFault> {
        let file = self.reading(self.log_file())?;
        let mut bytes = vec![0; header.size()];
        let filled = self.reading(read_full(&*file, &mut bytes, position))?;
        bytes.truncate(filled);
        let found = match header {
            StoredHeader::Batch(_) => first_in_batch(bytes.into(), passes),
            StoredHeader::Message(_) => first_in_message(bytes.into(), passes),
        };
        let cut = Damage::BatchCut { available: filled as u64, size: header.size() as u64 };
        let found = found.and_then(|found| found.ok_or(cut));
        found.map_err(|damage| self.damaged(position, damage).into())
    }

    /// A walk over the headers within the first `limit` bytes.
    pub(crate) fn walk(&self, limit: u64, mode: ReadMode) -> Result<Walk<'_>, ReadFault> {
        let file = self.reading(self.log_file())?;
        Ok(Walk { segment: self, file, mode, limit, start: 0, filled: 0, buffer: [0; WALK_BYTES] })
    }

    /// Looks at the headers from `position` on up to the first that is none; its records and checksum are not read.
    pub(crate) fn walk_sound(
        &self,
        position: u64,
        mut visit: impl FnMut(&StoredHeader),
    ) -> Result<(), LogError> {
        let mut walk = self.walk(self.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        let mut position = position;
        while let Ok(Some(header)) = walk.checked_header_at(position).map_err(ReadFault::patient)? {
            visit(&header);
            position += header.size() as u64;
        }
        Ok(())
    }

    /// The offset after the last batch, by the headers that follow the last index entry.
    pub(crate) fn walked_end(&self) -> Result<Offset, LogError> {
        let entry = self.last_offset_entry()?;
        let mut first = None;
        let mut end = self.base;
        let mut note = |header: &StoredHeader| {
            first.get_or_insert(header.last_offset());
            end = header.next_offset();
        };
        self.walk_sound(entry.map_or(0, |entry| u64::from(entry.position)), &mut note)?;
        if entry.is_some_and(|entry| first != Some(entry.offset.at(self.base))) {
            end = self.base;
            self.walk_sound(0, |header| end = header.next_offset())?;
        }
        Ok(end)
    }

    /// Where the index says that a walk to `target` may begin. An entry that does not stand at a batch that ends with
    /// the entry's offset is no right one, and the walk begins at the first byte.
    fn indexed_position(
        &self,
        target: Offset,
        walk: &mut Walk<'_>,
        mode: ReadMode,
    ) -> Result<u64, ReadFault> {
        let distance = target.distance_from(self.base).clamp(0, i64::from(i32::MAX));
        let within = self.base.checked_add(distance).unwrap_or(Offset::MAX);
        let Some(key) = RelativeOffset::of(within, self.base) else { return Ok(0) };
        let look = self.offsets.floor(&*self.directory, key, mode);
        let Some(entry) = self.indexing(look, FileKind::OffsetIndex)? else { return Ok(0) };
        Ok(if self.is_right(&entry, walk)? { u64::from(entry.position) } else { 0 })
    }

    /// Where the batch of the last index entry begins, or the first byte where that entry is wrong or there is none.
    pub(super) fn right_end(&self, walk: &mut Walk<'_>) -> Result<u64, ReadFault> {
        match self.last_offset_entry()? {
            Some(entry) if self.is_right(&entry, walk)? => Ok(u64::from(entry.position)),
            _ => Ok(0),
        }
    }

    /// In `Cached` mode refuses where part of the bytes is not in memory; in the other mode brings them there.
    fn warm(&self, file: &dyn LogFile, position: u64, length: u64, mode: ReadMode) -> Result<(), ReadFault> {
        let end = position + length;
        let mut scratch = Vec::new();
        let mut start = position;
        while start < end {
            let stop = end.min(start.saturating_add(PROBE_BYTES));
            let is_cached = self.is_cached(file, start)? && self.is_cached(file, stop - 1)?;
            match mode {
                ReadMode::Cached if !is_cached => return Err(ReadFault::WouldBlock),
                ReadMode::MayBlock if !is_cached => {
                    scratch.resize(usize::try_from(stop - start).unwrap_or(usize::MAX), 0);
                    self.reading(read_full(file, &mut scratch, start))?;
                }
                _ => {}
            }
            start = stop;
        }
        Ok(())
    }

    fn is_cached(&self, file: &dyn LogFile, position: u64) -> Result<bool, ReadFault> {
        self.reading(file.read_cached_at(&mut [0], position)).map(|found| found.is_some())
    }

    fn reading<T>(&self, result: io::Result<T>) -> Result<T, ReadFault> {
        result.map_err(|error| self.error("read", FileKind::Log, error).into())
    }

    fn indexing<T>(&self, look: io::Result<Look<T>>, kind: FileKind) -> Result<T, ReadFault> {
        match look {
            Ok(Look::Seen(seen)) => Ok(seen),
            Ok(Look::WouldBlock) => Err(ReadFault::WouldBlock),
            Err(error) => Err(self.error("read", kind, error).into()),
        }
    }

    fn damaged(&self, position: u64, damage: Damage) -> LogError {
        LogError::Damaged { path: self.log_path(), position, damage }
    }
}

/// Reads headers in rising order of position, a few at a time.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    segment: &'a Segment,
    file: Arc<dyn LogFile>,
    mode: ReadMode,
    limit: u64,
    start: u64,
    filled: usize,
    buffer: [u8; WALK_BYTES],
}

impl Walk<'_> {
    /// The header at `position`, or none where the segment ends: also within a batch that is not all there, which
    /// readers pass over as Kafka's do.
    pub(crate) fn header_at(&mut self, position: u64) -> Result<Option<StoredHeader>, ReadFault> {
        match self.checked_header_at(position)? {
            Ok(header) => Ok(header),
            Err(Damage::HeaderCut { .. } | Damage::BatchCut { .. }) => Ok(None),
            Err(damage) => Err(self.segment.damaged(position, damage).into()),
        }
    }

    /// As [`Walk::header_at`], but every damage is told.
    pub(crate) fn checked_header_at(
        &mut self,
        position: u64,
    ) -> Result<Result<Option<StoredHeader>, Damage>, ReadFault> {
        let available = self.limit.saturating_sub(position);
        if available == 0 {
            return Ok(Ok(None));
        }
        let needed = BATCH_HEADER_BYTES as u64;
        let bytes = self.bytes_at(position)?;
        Ok(match StoredHeader::parse(bytes) {
            Ok(header) if header.size() as u64 > available => {
                Err(Damage::BatchCut { available, size: header.size() as u64 })
            }
            Ok(header) => Ok(Some(header)),
            // An older message may be smaller than a batch's header.
            Err(_) if available < needed => Err(Damage::HeaderCut { available, needed }),
            Err(error) => Err(damage_of(error, bytes.len() as u64)),
        })
    }

    /// Bytes from `position` on, at least a header's number unless the file has fewer.
    fn bytes_at(&mut self, position: u64) -> Result<&[u8], ReadFault> {
        let available = usize::try_from(self.limit - position).unwrap_or(usize::MAX);
        let needed = available.min(BATCH_HEADER_BYTES);
        let is_there = position >= self.start && position + needed as u64 <= self.start + self.filled as u64;
        if !is_there {
            let buffer = self.buffer.get_mut(..available.min(WALK_BYTES)).unwrap_or_default();
            self.filled = match self.mode {
                ReadMode::MayBlock => self.segment.reading(read_full(&*self.file, buffer, position))?,
                ReadMode::Cached => {
                    let read = self.segment.reading(self.file.read_cached_at(buffer, position))?;
                    read.filter(|filled| *filled >= needed).ok_or(ReadFault::WouldBlock)?
                }
            };
            self.start = position;
        }
        let skip = usize::try_from(position - self.start).unwrap_or(usize::MAX);
        Ok(self.buffer.get(skip..self.filled).unwrap_or_default())
    }
}

/// The damage that a failed look at a header means, where so many bytes were there.
pub(crate) fn damage_of(error: BatchError, available: u64) -> Damage {
    match error {
        BatchError::Length { length } => Damage::Length { length },
        BatchError::Magic { magic } => Damage::Magic { magic },
        BatchError::ShorterThanHeader { size } => {
            Damage::Length { length: i32::try_from(size - BATCH_PREFIX_BYTES).unwrap_or(i32::MAX) }
        }
        BatchError::HeaderCut { .. } => Damage::HeaderCut { available, needed: BATCH_HEADER_BYTES as u64 },
        BatchError::Cut { size, present } => {
            Damage::BatchCut { available: present as u64, size: size as u64 }
        }
    }
}

/// The first record of a batch that passes; the outer none is a batch that is not all there.
fn first_in_batch(
    mut bytes: Bytes,
    passes: impl Fn(Offset, i64) -> bool,
) -> Result<Option<Option<TimestampedOffset>>, Damage> {
    let available = bytes.len() as u64;
    let batch = RecordBatch::split_first(&mut bytes).map_err(|error| damage_of(error, available))?;
    let Some(batch) = batch else { return Ok(None) };
    let records = batch.records(DECOMPRESSED_BYTES_MAX).map_err(|_| Damage::Records)?;
    for record in &records {
        let record = record.map_err(|_| Damage::Records)?;
        if passes(record.offset, record.timestamp_ms) {
            return Ok(Some(Some(TimestampedOffset {
                offset: record.offset,
                timestamp_ms: record.timestamp_ms,
                leader_epoch: batch.header().leader_epoch(),
            })));
        }
    }
    Ok(Some(None))
}

/// The same of a message of format 0 or 1.
fn first_in_message(
    mut bytes: Bytes,
    passes: impl Fn(Offset, i64) -> bool,
) -> Result<Option<Option<TimestampedOffset>>, Damage> {
    let message = LegacyBatch::split_first(&mut bytes).map_err(|_| Damage::Records)?;
    let Some(message) = message else { return Ok(None) };
    let records = message.records(DECOMPRESSED_BYTES_MAX).map_err(|_| Damage::Records)?;
    let found = records.iter().find(|record| passes(record.offset, record.timestamp_ms));
    Ok(Some(found.map(|record| TimestampedOffset {
        offset: record.offset,
        timestamp_ms: record.timestamp_ms,
        leader_epoch: LeaderEpoch::new(-1),
    })))
}
