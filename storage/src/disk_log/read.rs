//! Reading: which segment, how far, and where a time lies. It takes no append lock.

use std::cmp::Ordering;
use std::sync::Arc;

use ottla_model::Offset;

use super::DiskLog;
use crate::log::{
    AbortedTransaction, CommittedRead, Log, LogError, LogPositions, ReadEnd, ReadMode, ReadOutcome,
    ReadRequest, ReadSlice, TimestampedOffset,
};
use crate::segment::Segment;
use crate::segment::read::{FoundBatch, ReadFault};
use crate::segments::Segments;

/// Nothing, from a reader who may not wait.
const WOULD_BLOCK: CommittedRead = CommittedRead { outcome: ReadOutcome::WouldBlock, aborted: Vec::new() };

impl DiskLog {
    pub(super) fn read_slice(&self, request: &ReadRequest) -> Result<ReadOutcome, LogError> {
        self.check_not_abandoned()?;
        // Positions before the list: a roll changes the list first.
        let positions = self.positions();
        let end = self.end_of(request, &positions)?;
        let Some(body) = self.body_in(request.mode)? else { return Ok(ReadOutcome::WouldBlock) };
        let list = body.segments.load();
        let found = find_slice(&list, request, end, &positions).and_then(|found| match found {
            Some(found) => found.slice(request.mode).map(ReadOutcome::Found),
            None => Ok(ReadOutcome::Empty),
        });
        or_would_block(found, ReadOutcome::WouldBlock)
    }

    pub(super) fn read_slice_committed(&self, request: &ReadRequest) -> Result<CommittedRead, LogError> {
        self.check_not_abandoned()?;
        let positions = self.positions();
        let end = self.end_of(request, &positions)?;
        let Some(body) = self.body_in(request.mode)? else { return Ok(WOULD_BLOCK) };
        // Bytes and list of one moment: a compaction takes from both.
        let list = body.segments.load_full();
        let found = find_slice(&list, request, end, &positions).and_then(|found| match found {
            Some(found) => {
                let outcome = ReadOutcome::Found(found.slice(request.mode)?);
                let aborted = find_aborted_in(&list, request, &found, end)?;
                Ok(CommittedRead { outcome, aborted })
            }
            None => Ok(CommittedRead { outcome: ReadOutcome::Empty, aborted: Vec::new() }),
        });
        or_would_block(found, WOULD_BLOCK)
    }

    /// Where the read stops; an error where it cannot begin.
    fn end_of(&self, request: &ReadRequest, positions: &LogPositions) -> Result<Offset, LogError> {
        let log_end = positions.log_end.offset;
        if request.from < positions.log_start || request.from > log_end {
            let start = positions.log_start;
            return Err(LogError::OffsetOutOfRange { wanted: request.from, start, end: log_end });
        }
        Ok(match request.end {
            ReadEnd::LogEnd => log_end,
            ReadEnd::Before(bound) => bound.min(log_end),
        })
    }

    pub(super) fn find_time(&self, timestamp_ms: i64) -> Result<Option<TimestampedOffset>, LogError> {
        let positions = self.positions();
        for segment in self.body()?.segments.load().from(positions.log_start) {
            let largest = segment.largest_timestamp()?;
            if largest.is_none_or(|largest| largest.timestamp_ms < timestamp_ms) {
                // As Kafka has it: the search ends in records that nobody can tell the time of.
                if largest.is_none() && segment.has_only_file_time(timestamp_ms)? {
                    return Ok(None);
                }
                continue;
            }
            let from = positions.log_start.max(segment.base());
            let limit = visible_bytes(segment, &positions);
            let found = segment.find_time(timestamp_ms, from, limit).map_err(ReadFault::patient)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(super) fn find_largest_time(&self) -> Result<Option<TimestampedOffset>, LogError> {
        let positions = self.positions();
        let list = self.body()?.segments.load();
        let mut best = None;
        for segment in list.from(positions.log_start) {
            let Some(largest) = segment.largest_timestamp()? else { continue };
            if best.is_none_or(|(_, timestamp_ms, _)| largest.timestamp_ms > timestamp_ms) {
                best = Some((segment, largest.timestamp_ms, largest));
            }
        }
        let Some((segment, _, largest)) = best else { return Ok(None) };
        let limit = visible_bytes(segment, &positions);
        segment.find_largest_time(largest, limit).map_err(ReadFault::patient)
    }
}

/// A run of bytes of a segment, before its file is asked for.
struct FoundSlice<'a> {
    segment: &'a Arc<Segment>,
    position: u64,
    length: u64,
}

impl FoundSlice<'_> {
    fn slice(&self, mode: ReadMode) -> Result<ReadSlice, ReadFault> {
        self.segment.slice(self.position, self.length, mode)
    }
}

fn find_slice<'a>(
    list: &'a Segments,
    request: &ReadRequest,
    end: Offset,
    positions: &LogPositions,
) -> Result<Option<FoundSlice<'a>>, ReadFault> {
    if request.from >= end {
        return Ok(None);
    }
    let start = list.first().base();
    if request.from < start {
        // Its segment went between the look at the positions and this one.
        let end = positions.log_end.offset;
        return Err(LogError::OffsetOutOfRange { wanted: request.from, start, end }.into());
    }
    let mut segments = list.from(request.from).iter().peekable();
    while let Some(segment) = segments.next() {
        if segment.base() >= end {
            break;
        }
        let limit = visible_bytes(segment, positions);
        let Some(first) = segment.find(request.from, limit, request.mode)? else { continue };
        let reaches_end = segments.peek().is_none_or(|next| next.base() > end);
        let stop = if reaches_end && end < positions.log_end.offset {
            segment.find(end, limit, request.mode)?.map_or(limit, |found| found.position)
        } else {
            limit
        };
        let length = slice_length(request, &first, stop);
        let found = FoundSlice { segment, position: first.position, length };
        return Ok(Some(found).filter(|_| length > 0));
    }
    Ok(None)
}

/// The aborted transactions of which there may be records in what was found.
fn find_aborted_in(
    list: &Segments,
    request: &ReadRequest,
    found: &FoundSlice<'_>,
    end: Offset,
) -> Result<Vec<AbortedTransaction>, ReadFault> {
    let mut aborted = Vec::new();
    let segments = list.from(request.from);
    if !segments.iter().any(|segment| segment.has_aborted()) {
        return Ok(aborted);
    }
    let next = list.after(found.segment.base()).map_or(end, |next| next.base().min(end));
    let end =
        found.segment.end_at(found.position + found.length, request.mode)?.map_or(next, |at| at.min(next));
    for segment in segments {
        if segment.collect_aborted(request.from, end, request.mode, &mut aborted)? {
            break;
        }
    }
    Ok(aborted)
}

fn or_would_block<T>(found: Result<T, ReadFault>, would_block: T) -> Result<T, LogError> {
    match found {
        Ok(found) => Ok(found),
        Err(ReadFault::WouldBlock) => Ok(would_block),
        Err(ReadFault::Log(error)) => Err(error),
    }
}

/// How much of a segment lies below the log end that was published.
fn visible_bytes(segment: &Segment, positions: &LogPositions) -> u64 {
    let log_end = &positions.log_end;
    match segment.base().cmp(&log_end.segment_base) {
        Ordering::Less => segment.bytes(),
        Ordering::Equal => log_end.position,
        Ordering::Greater => 0,
    }
}

fn slice_length(request: &ReadRequest, first: &FoundBatch, stop: u64) -> u64 {
    let first_bytes = first.header.size() as u64;
    let limit = match request.max_bytes {
        max_bytes if max_bytes >= first_bytes => max_bytes,
        _ if request.at_least_one_batch => first_bytes,
        _ => 0,
    };
    stop.saturating_sub(first.position).min(limit)
}
