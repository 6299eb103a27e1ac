//! Appending a batch: the steps under the append lock, in their fixed order. It never waits for an fsync.

use ottla_model::batch::{CheckedBatch, TimestampType};
use ottla_model::{LeaderEpoch, Offset};

use super::{DiskLog, Writer};
use crate::log::{
    AppendInfo, FollowerAppend, Log, LogConfig, LogError, LogPosition, LogPositions, MarkerRule,
};
use crate::producer_state::{BatchMark, MARKER_BYTES_MAX, Marker, Verdict};

impl DiskLog {
    pub(super) fn append(
        &self,
        mut batch: CheckedBatch,
        rule: MarkerRule,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        let marker = control_marker(&batch);
        let config = self.config();
        let body = self.body()?;
        let mut writer = body.writer.lock();
        self.check_writable(&writer)?;
        check_size(&batch, &config)?;
        if let Some(marker) = marker {
            writer.producers.check_marker(batch.header(), marker, rule)?;
        }
        if let Verdict::Duplicate(mark) = writer.producers.check(batch.header())? {
            return Ok(duplicate(&mark, &self.positions()));
        }
        let base = self.positions().log_end.offset;
        check_room(&batch, base)?;
        batch.assign(base, epoch);
        let is_due = writer.tail.is_due(&batch, &config, self.jitter_ms(&writer, &config), now_ms);
        if is_due {
            self.begin_segment(body, &mut writer, base, &config, now_ms)?;
        }
        self.write(&mut writer, &batch, marker, &config)?;
        let log_end = writer.tail.position(batch.header().next_offset());
        let positions = self.publish(log_end);
        Ok(AppendInfo {
            base_offset: base,
            last_offset: batch.last_offset(),
            log_append_time_ms: append_time_ms(&batch),
            log_start: positions.log_start,
            log_end,
            duplicate: false,
            rolled_at: is_due.then_some(base),
            flush_due: log_end.offset.distance_from(positions.recovery_point) >= config.flush_messages,
        })
    }

    pub(super) fn append_placed(
        &self,
        batches: Vec<CheckedBatch>,
        now_ms: i64,
    ) -> Result<FollowerAppend, LogError> {
        let config = self.config();
        let body = self.body()?;
        let mut writer = body.writer.lock();
        self.check_writable(&writer)?;
        let positions = self.positions();
        check_ascending(&batches, positions.log_end.offset)?;
        let mut done = FollowerAppend {
            log_start: positions.log_start,
            log_end: positions.log_end,
            rolled_at: None,
            flush_due: false,
        };
        for batch in &batches {
            // The first offset after a gap names the new segment, as in Kafka.
            let base = batch.base_offset();
            if writer.tail.is_due(batch, &config, self.jitter_ms(&writer, &config), now_ms) {
                self.begin_segment(body, &mut writer, base, &config, now_ms)?;
                done.rolled_at = Some(base);
            }
            self.write(&mut writer, batch, control_marker(batch), &config)?;
            done.log_end = writer.tail.position(batch.header().next_offset());
            self.publish(done.log_end);
        }
        let unflushed = done.log_end.offset.distance_from(positions.recovery_point);
        done.flush_due = !batches.is_empty() && unflushed >= config.flush_messages;
        Ok(done)
    }

    /// Writes a batch that has its place and notes what it means. That comes before the log end is published: nobody may
    /// take the records of an open transaction for decided.
    fn write(
        &self,
        writer: &mut Writer,
        batch: &CheckedBatch,
        marker: Option<Marker>,
        config: &LogConfig,
    ) -> Result<(), LogError> {
        let header = batch.header();
        let ending = marker.and_then(|marker| writer.producers.ending(header, marker));
        writer.tail.append(batch, ending.and_then(|ending| ending.aborted()).as_ref(), config)?;
        self.note_epoch(header.leader_epoch(), header.base_offset());
        let ended = writer.producers.note(header, marker);
        debug_assert_eq!(ended, ending, "a marker ends what it was said to end");
        if header.is_transactional() {
            self.set_undecided(writer.producers.first_open(), ended.as_ref());
        }
        Ok(())
    }

    pub(super) fn check_writable(&self, writer: &Writer) -> Result<(), LogError> {
        self.shared.health.check()?;
        if writer.is_closed { Err(LogError::Closed) } else { Ok(()) }
    }

    /// Makes a new log end visible: only ever after all bytes below it are written.
    pub(super) fn publish(&self, log_end: LogPosition) -> LogPositions {
        let mut positions = self.positions.lock();
        positions.log_end = log_end;
        *positions
    }

    fn note_epoch(&self, epoch: LeaderEpoch, start: Offset) {
        let mut epochs = self.epochs.lock();
        if epochs.latest() != Some(epoch) {
            epochs.begin(epoch, start);
        }
    }
}

fn control_marker(batch: &CheckedBatch) -> Option<Marker> {
    if !batch.header().is_control() {
        return None;
    }
    Marker::of(&batch.records(MARKER_BYTES_MAX).ok()?)
}

fn check_size(batch: &CheckedBatch, config: &LogConfig) -> Result<(), LogError> {
    let (size, limit) = (batch.size() as u64, u64::from(config.segment_bytes));
    if size > limit { Err(LogError::BatchTooLarge { size, limit }) } else { Ok(()) }
}

fn check_room(batch: &CheckedBatch, end: Offset) -> Result<(), LogError> {
    let count = i64::from(batch.header().last_offset_delta()).saturating_add(1);
    match end.checked_add(count) {
        Some(_) => Ok(()),
        None => Err(LogError::OffsetsExhausted { end, count }),
    }
}

fn check_ascending(batches: &[CheckedBatch], end: Offset) -> Result<(), LogError> {
    let mut expected = end;
    for batch in batches {
        let (base, last) = (batch.base_offset(), batch.last_offset());
        if base < expected {
            return Err(LogError::OffsetNotNext { base, expected });
        }
        if last == Offset::MAX {
            return Err(LogError::OffsetsExhausted { end: base, count: last.distance_from(base) });
        }
        expected = last.next();
    }
    Ok(())
}

fn append_time_ms(batch: &CheckedBatch) -> Option<i64> {
    match batch.header().timestamp_type() {
        TimestampType::LogAppendTime => Some(batch.max_timestamp_ms()),
        TimestampType::CreateTime => None,
    }
}

fn duplicate(mark: &BatchMark, positions: &LogPositions) -> AppendInfo {
    AppendInfo {
        base_offset: mark.first_offset(),
        last_offset: mark.last_offset,
        log_append_time_ms: Some(mark.timestamp_ms),
        log_start: positions.log_start,
        log_end: positions.log_end,
        duplicate: true,
        rolled_at: None,
        flush_due: false,
    }
}
