//! Reading: which segment, how far, and where a time lies. It takes no append lock.

use std::cmp::Ordering;

use ottla_model::Offset;

use super::DiskLog;
use crate::log::{Log, LogError, LogPositions, ReadEnd, ReadOutcome, ReadRequest, TimestampedOffset};
use crate::segment::Segment;
use crate::segment::read::{FoundBatch, ReadFault};

impl DiskLog {
    pub(super) fn read_slice(&self, request: &ReadRequest) -> Result<ReadOutcome, LogError> {
        self.check_not_abandoned()?;
        // Positions before the list: a roll changes the list first.
        let positions = self.positions();
        let log_end = positions.log_end.offset;
        if request.from < positions.log_start || request.from > log_end {
            let start = positions.log_start;
            return Err(LogError::OffsetOutOfRange { wanted: request.from, start, end: log_end });
        }
        let end = match request.end {
            ReadEnd::LogEnd => log_end,
            ReadEnd::Before(bound) => bound.min(log_end),
        };
        match self.find_slice(request, end, &positions) {
            Ok(outcome) => Ok(outcome),
            Err(ReadFault::WouldBlock) => Ok(ReadOutcome::WouldBlock),
            Err(ReadFault::Log(error)) => Err(error),
        }
    }

    fn find_slice(
        &self,
        request: &ReadRequest,
        end: Offset,
        positions: &LogPositions,
    ) -> Result<ReadOutcome, ReadFault> {
        if request.from >= end {
            return Ok(ReadOutcome::Empty);
        }
        let list = self.segments.load();
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
            if length == 0 {
                break;
            }
            return segment.slice(first.position, length, request.mode).map(ReadOutcome::Found);
        }
        Ok(ReadOutcome::Empty)
    }

    pub(super) fn find_time(&self, timestamp_ms: i64) -> Result<Option<TimestampedOffset>, LogError> {
        let positions = self.positions();
        for segment in self.segments.load().from(positions.log_start) {
            let largest = segment.largest_timestamp()?;
            if largest.is_none_or(|largest| largest.timestamp_ms < timestamp_ms) {
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
        let list = self.segments.load();
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
