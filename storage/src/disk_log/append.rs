//! Appending a batch: the steps under the append lock, in their fixed order. It never waits for an fsync.

use ottla_model::batch::{CheckedBatch, TimestampType};
use ottla_model::{LeaderEpoch, Offset};

use super::{DiskLog, Writer};
use crate::log::{AppendInfo, Log, LogConfig, LogError, LogPosition, LogPositions};
use crate::producer_state::{BatchMark, MARKER_BYTES_MAX, Marker, Verdict};

impl DiskLog {
    pub(super) fn append(
        &self,
        mut batch: CheckedBatch,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        let marker = control_marker(&batch);
        let config = self.config();
        let mut writer = self.writer.lock();
        self.check_writable(&writer)?;
        check_size(&batch, &config)?;
        if let Verdict::Duplicate(mark) = writer.producers.check(batch.header())? {
            return Ok(duplicate(&mark, &self.positions()));
        }
        let base = self.positions().log_end.offset;
        check_room(&batch, base)?;
        batch.assign(base, epoch);
        let is_due = writer.tail.is_due(&batch, &config, self.jitter_ms(&writer, &config), now_ms);
        if is_due {
            self.roll(&mut writer, base, &config, now_ms)?;
        }
        writer.tail.append(&batch, &config)?;
        self.note_epoch(epoch, base);
        writer.producers.note(batch.header(), marker);
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
