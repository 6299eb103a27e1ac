//! A log that lives in memory only: the second implementation of [`Log`], for tests of what stands above it. It rolls
//! only when told to, its segments are places in one list, and it takes a flush's word for it.

use bytes::{Bytes, BytesMut};
use ottla_model::batch::{CheckedBatch, RecordBatch, TimestampType};
use ottla_model::{LeaderEpoch, Offset, ProducerId};
use parking_lot::Mutex;

use crate::epoch_cache::EpochCache;
use crate::log::{
    AbortedTransaction, AppendInfo, CommittedRead, Damage, EpochEnd, FollowerAppend, Log, LogConfig,
    LogError, LogPosition, LogPositions, MarkerRule, ProducerInfo, ReadEnd, ReadOutcome, ReadRequest,
    ReadSlice, SegmentInfo, SliceSource, TimestampedOffset,
};
use crate::producer_state::{MARKER_BYTES_MAX, Marker, ProducerStates, Undecided, Verdict};

/// What a batch may unfold to when a timestamp is looked for in it.
const DECOMPRESSED_BYTES_MAX: usize = 1 << 30;

/// A log in memory.
#[derive(Debug)]
pub struct MemoryLog {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    config: LogConfig,
    batches: Vec<RecordBatch>,
    start: Offset,
    end: Offset,
    recovery_point: Offset,
    epochs: EpochCache,
    producers: ProducerStates,
    undecided: Undecided,
    /// In order of their markers.
    aborted: Vec<AbortedTransaction>,
    /// The bases of the segments, ascending.
    bases: Vec<Offset>,
    last_append_ms: i64,
    last_flush_ms: i64,
    is_closed: bool,
}

impl MemoryLog {
    /// An empty log that begins at 0.
    #[must_use]
    pub fn new(config: LogConfig, now_ms: i64) -> Self {
        let state = State {
            config,
            batches: Vec::new(),
            start: Offset::ZERO,
            end: Offset::ZERO,
            recovery_point: Offset::ZERO,
            epochs: EpochCache::default(),
            producers: ProducerStates::new(Offset::ZERO),
            undecided: Undecided::default(),
            aborted: Vec::new(),
            bases: vec![Offset::ZERO],
            last_append_ms: now_ms,
            last_flush_ms: now_ms,
            is_closed: false,
        };
        Self { state: Mutex::new(state) }
    }
}

impl State {
    fn positions(&self) -> LogPositions {
        let segment_base = self.bases.last().copied().unwrap_or_default();
        let position = self.bytes_between(segment_base, self.end);
        LogPositions {
            log_start: self.start,
            log_end: LogPosition { offset: self.end, segment_base, position },
            recovery_point: self.recovery_point,
        }
    }

    fn append(
        &mut self,
        mut batch: CheckedBatch,
        rule: MarkerRule,
        epoch: LeaderEpoch,
    ) -> Result<AppendInfo, LogError> {
        if self.is_closed {
            return Err(LogError::Closed);
        }
        let (size, limit) = (batch.size() as u64, u64::from(self.config.segment_bytes));
        if size > limit {
            return Err(LogError::BatchTooLarge { size, limit });
        }
        if batch.header().is_control()
            && let Ok(records) = batch.records(MARKER_BYTES_MAX)
            && let Some(marker) = Marker::of(&records)
        {
            self.producers.check_marker(batch.header(), marker, rule)?;
        }
        if let Verdict::Duplicate(mark) = self.producers.check(batch.header())? {
            let append_time_ms = Some(mark.timestamp_ms);
            return Ok(self.info(mark.first_offset(), mark.last_offset, append_time_ms, true));
        }
        let count = i64::from(batch.header().last_offset_delta()) + 1;
        if self.end.checked_add(count).is_none() {
            return Err(LogError::OffsetsExhausted { end: self.end, count });
        }
        batch.assign(self.end, epoch);
        let header = *batch.header();
        self.put(&batch);
        let is_stamped = header.timestamp_type() == TimestampType::LogAppendTime;
        let append_time_ms = is_stamped.then(|| header.max_timestamp_ms());
        Ok(self.info(header.base_offset(), header.last_offset(), append_time_ms, false))
    }

    /// Adds a batch that has its place.
    fn put(&mut self, batch: &CheckedBatch) {
        let batch = RecordBatch::split_first(&mut batch.to_bytes()).ok().flatten();
        let batch = batch.expect("a checked batch is a batch");
        let header = batch.header();
        if self.epochs.latest() != Some(header.leader_epoch()) {
            self.epochs.begin(header.leader_epoch(), header.base_offset());
        }
        self.end = header.next_offset();
        self.note(&batch);
        self.batches.push(batch);
    }

    fn note(&mut self, batch: &RecordBatch) {
        let ended = self.producers.note(batch.header(), marker(batch));
        self.undecided.update(self.producers.first_open(), ended.as_ref());
        self.aborted.extend(ended.and_then(|ended| ended.aborted()));
    }

    fn append_placed(&mut self, batches: &[CheckedBatch]) -> Result<FollowerAppend, LogError> {
        if self.is_closed {
            return Err(LogError::Closed);
        }
        let mut expected = self.end;
        for batch in batches {
            if batch.base_offset() < expected {
                return Err(LogError::OffsetNotNext { base: batch.base_offset(), expected });
            }
            expected = batch.header().next_offset();
        }
        batches.iter().for_each(|batch| self.put(batch));
        let LogPositions { log_start, log_end, .. } = self.positions();
        let flush_due = self.end.distance_from(self.recovery_point) >= self.config.flush_messages;
        Ok(FollowerAppend {
            log_start,
            log_end,
            rolled_at: None,
            flush_due: flush_due && !batches.is_empty(),
        })
    }

    fn bytes_between(&self, start: Offset, end: Offset) -> u64 {
        let within = |batch: &&RecordBatch| (start..end).contains(&batch.header().base_offset());
        self.batches.iter().filter(within).map(|batch| batch.bytes().len() as u64).sum()
    }

    /// The offset after the last batch of which a read from `from` on gives a byte.
    fn end_of_read(&self, from: Offset, bytes: u64) -> Offset {
        let mut left = bytes;
        let mut end = from;
        for batch in self.batches.iter().filter(|batch| batch.header().last_offset() >= from) {
            if left == 0 {
                break;
            }
            end = batch.header().next_offset();
            left = left.saturating_sub(batch.bytes().len() as u64);
        }
        end
    }

    fn raise_start(&mut self, offset: Offset) -> Result<Offset, LogError> {
        if offset > self.end {
            return Err(LogError::OffsetOutOfRange { wanted: offset, start: self.start, end: self.end });
        }
        if offset > self.start {
            self.start = offset;
            self.epochs.truncate_start(offset);
        }
        Ok(self.start)
    }

    fn segments(&self) -> Vec<SegmentInfo> {
        let ends = self.bases.iter().skip(1).copied().chain([self.end]);
        let info = |(base, end): (&Offset, Offset)| {
            let within = |batch: &&RecordBatch| (*base..end).contains(&batch.header().base_offset());
            let times = self.batches.iter().filter(within).map(|batch| batch.header().max_timestamp_ms());
            SegmentInfo {
                base: *base,
                end,
                bytes: self.bytes_between(*base, end),
                largest_timestamp_ms: times.max().filter(|largest| *largest >= 0),
                modified_ms: self.last_append_ms,
                is_active: Some(base) == self.bases.last(),
            }
        };
        self.bases.iter().zip(ends).map(info).collect()
    }

    fn roll(&mut self) -> Result<Option<Offset>, LogError> {
        if self.is_closed {
            return Err(LogError::Closed);
        }
        if self.bases.last().is_some_and(|base| *base >= self.end) {
            return Ok(None);
        }
        self.bases.push(self.end);
        Ok(Some(self.end))
    }

    fn info(
        &self,
        base_offset: Offset,
        last_offset: Offset,
        log_append_time_ms: Option<i64>,
        duplicate: bool,
    ) -> AppendInfo {
        let positions = self.positions();
        let unflushed = self.end.distance_from(self.recovery_point);
        AppendInfo {
            base_offset,
            last_offset,
            log_append_time_ms,
            log_start: positions.log_start,
            log_end: positions.log_end,
            duplicate,
            rolled_at: None,
            flush_due: !duplicate && unflushed >= self.config.flush_messages,
        }
    }

    fn read(&self, request: &ReadRequest) -> Result<ReadOutcome, LogError> {
        if request.from < self.start || request.from > self.end {
            return Err(LogError::OffsetOutOfRange {
                wanted: request.from,
                start: self.start,
                end: self.end,
            });
        }
        let end = match request.end {
            ReadEnd::LogEnd => self.end,
            ReadEnd::Before(bound) => bound.min(self.end),
        };
        let wanted = self
            .batches
            .iter()
            .skip_while(|batch| batch.header().last_offset() < request.from)
            .take_while(|batch| request.from < end && batch.header().last_offset() < end);
        let mut bytes = BytesMut::new();
        for batch in wanted {
            let room = request.max_bytes.saturating_sub(bytes.len() as u64);
            let is_first = bytes.is_empty() && request.at_least_one_batch;
            let room = if is_first { usize::MAX } else { usize::try_from(room).unwrap_or(usize::MAX) };
            if bytes.is_empty() && room < batch.bytes().len() {
                break;
            }
            bytes.extend_from_slice(batch.bytes().get(..room).unwrap_or(batch.bytes()));
        }
        let length = bytes.len() as u64;
        if length == 0 {
            return Ok(ReadOutcome::Empty);
        }
        let source = SliceSource::Memory(Bytes::from(bytes));
        Ok(ReadOutcome::Found(ReadSlice { source, position: 0, length }))
    }

    fn first_record(&self, passes: impl Fn(i64) -> bool) -> Result<Option<TimestampedOffset>, LogError> {
        for batch in self.batches.iter().filter(|batch| passes(batch.header().max_timestamp_ms())) {
            let damaged =
                |_| LogError::Damaged { path: "memory".into(), position: 0, damage: Damage::Records };
            let records = batch.records(DECOMPRESSED_BYTES_MAX).map_err(damaged)?;
            for record in &records {
                let record = record.map_err(damaged)?;
                if record.offset >= self.start && passes(record.timestamp_ms) {
                    return Ok(Some(TimestampedOffset {
                        offset: record.offset,
                        timestamp_ms: record.timestamp_ms,
                        leader_epoch: batch.header().leader_epoch(),
                    }));
                }
            }
        }
        Ok(None)
    }

    fn truncate(&mut self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        if self.is_closed {
            return Err(LogError::Closed);
        }
        if offset >= self.end {
            return Ok(());
        }
        if offset <= self.start {
            return self.restart(offset);
        }
        self.batches.retain(|batch| batch.header().last_offset() < offset);
        self.end = offset;
        self.recovery_point = self.recovery_point.min(offset);
        self.epochs.truncate_end(offset);
        self.bases.retain(|base| *base <= offset);
        self.forget_producers(self.start);
        for batch in self.batches.clone() {
            self.note(&batch);
        }
        // As on a disk: what is left is below every high watermark.
        self.undecided = Undecided::new(self.producers.first_open());
        self.producers.expire(now_ms, self.config.producer_id_expiration_ms);
        Ok(())
    }

    fn forget_producers(&mut self, end: Offset) {
        self.producers = ProducerStates::new(end);
        self.undecided = Undecided::default();
        self.aborted.clear();
    }

    fn restart(&mut self, offset: Offset) -> Result<(), LogError> {
        if self.is_closed {
            return Err(LogError::Closed);
        }
        self.batches.clear();
        self.epochs.clear();
        self.bases = vec![offset];
        self.forget_producers(offset);
        (self.start, self.end, self.recovery_point) = (offset, offset, offset);
        Ok(())
    }
}

impl Log for MemoryLog {
    fn append_as_leader(
        &self,
        batch: CheckedBatch,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        self.append_marker(batch, MarkerRule::NotBelow, epoch, now_ms)
    }

    fn append_marker(
        &self,
        marker: CheckedBatch,
        rule: MarkerRule,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        let mut state = self.state.lock();
        state.last_append_ms = now_ms;
        state.append(marker, rule, epoch)
    }

    fn append_as_follower(
        &self,
        batches: Vec<CheckedBatch>,
        now_ms: i64,
    ) -> Result<FollowerAppend, LogError> {
        let mut state = self.state.lock();
        state.last_append_ms = now_ms;
        state.append_placed(&batches)
    }

    fn first_undecided(&self, high_watermark: Offset) -> Option<Offset> {
        let mut state = self.state.lock();
        let start = state.start;
        state.undecided.first(high_watermark).map(|first| first.max(start))
    }

    fn aborted_transactions(&self, from: Offset, end: Offset) -> Result<Vec<AbortedTransaction>, LogError> {
        let state = self.state.lock();
        let overlaps = |entry: &&AbortedTransaction| entry.last_offset >= from && entry.first_offset < end;
        Ok(state.aborted.iter().filter(overlaps).copied().collect())
    }

    fn read_committed(&self, request: &ReadRequest) -> Result<CommittedRead, LogError> {
        let outcome = self.read(request)?;
        let aborted = match &outcome {
            ReadOutcome::Found(slice) => {
                let end = self.end_of_read(request.from, slice.length)?;
                self.aborted_transactions(request.from, end)?
            }
            _ => Vec::new(),
        };
        Ok(CommittedRead { outcome, aborted })
    }

    fn end_of_read(&self, from: Offset, bytes: u64) -> Result<Offset, LogError> {
        Ok(self.state.lock().end_of_read(from, bytes))
    }

    fn producers(&self) -> Vec<ProducerInfo> {
        self.state.lock().producers.infos()
    }

    fn producer(&self, producer_id: ProducerId) -> Option<ProducerInfo> {
        self.state.lock().producers.info(producer_id)
    }

    fn raise_log_start(&self, offset: Offset) -> Result<Offset, LogError> {
        self.state.lock().raise_start(offset)
    }

    fn segments(&self) -> Result<Vec<SegmentInfo>, LogError> {
        Ok(self.state.lock().segments())
    }

    fn roll(&self, _now_ms: i64) -> Result<Option<Offset>, LogError> {
        self.state.lock().roll()
    }

    fn read(&self, request: &ReadRequest) -> Result<ReadOutcome, LogError> {
        self.state.lock().read(request)
    }

    fn offset_for_time(&self, timestamp_ms: i64) -> Result<Option<TimestampedOffset>, LogError> {
        self.state.lock().first_record(|time| time >= timestamp_ms)
    }

    fn offset_of_max_timestamp(&self) -> Result<Option<TimestampedOffset>, LogError> {
        let state = self.state.lock();
        let largest = state.batches.iter().map(|batch| batch.header().max_timestamp_ms()).max();
        match largest.filter(|largest| *largest >= 0) {
            Some(largest) => state.first_record(|time| time == largest),
            None => Ok(None),
        }
    }

    fn positions(&self) -> LogPositions {
        self.state.lock().positions()
    }

    fn begin_epoch(&self, epoch: LeaderEpoch) {
        let mut state = self.state.lock();
        let end = state.end;
        state.epochs.begin(epoch, end);
    }

    fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.state.lock().epochs.latest()
    }

    fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.state.lock().epochs.at(offset)
    }

    fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> Option<EpochEnd> {
        let state = self.state.lock();
        state.epochs.end_of(epoch, state.end)
    }

    fn flush_due(&self, now_ms: i64) -> bool {
        let state = self.state.lock();
        let waited_ms = now_ms.saturating_sub(state.last_flush_ms);
        state.recovery_point < state.end && waited_ms >= state.config.flush_ms
    }

    fn flush_up_to(&self, offset: Offset, now_ms: i64) -> Result<Offset, LogError> {
        let mut state = self.state.lock();
        let target = offset.min(state.end);
        if target > state.recovery_point {
            state.recovery_point = target;
            state.last_flush_ms = now_ms;
        }
        Ok(state.recovery_point)
    }

    fn truncate_to(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        self.state.lock().truncate(offset, now_ms)
    }

    fn restart_at(&self, offset: Offset, _now_ms: i64) -> Result<(), LogError> {
        self.state.lock().restart(offset)
    }

    fn configure(&self, config: LogConfig) {
        self.state.lock().config = config;
    }

    fn expire_producers(&self, now_ms: i64) -> usize {
        let mut state = self.state.lock();
        let expiration_ms = state.config.producer_id_expiration_ms;
        state.producers.expire(now_ms, expiration_ms)
    }

    fn close(&self, now_ms: i64) -> Result<(), LogError> {
        self.flush_up_to(Offset::MAX, now_ms)?;
        self.state.lock().is_closed = true;
        Ok(())
    }
}

fn marker(batch: &RecordBatch) -> Option<Marker> {
    if !batch.header().is_control() {
        return None;
    }
    Marker::of(&batch.records(MARKER_BYTES_MAX).ok()?)
}
