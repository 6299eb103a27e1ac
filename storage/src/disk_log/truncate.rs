//! Taking records away at the end, or all of them. Whoever calls must checkpoint the lowered recovery point before the
//! log is appended to again: otherwise a crash could believe the new records durable that have the old ones' offsets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_model::Offset;

use super::asleep::Body;
use super::{DiskLog, Writer};
use crate::log::{Log, LogError, LogPosition, ReadMode};
use crate::producer_state::ProducerStates;
use crate::segment::Segment;
use crate::segment::append::Tail;
use crate::segment::name::{FileKind, file_name};
use crate::segment::read::ReadFault;
use crate::segment::remove_newest_first;
use crate::segments::Segments;

/// Counts a truncation when it begins and when it is over: whoever copies files beside it, and looks at the number before
/// and after, has met none if it is the same, whether the bytes that he read were already cut or not yet.
struct Told<'a>(&'a AtomicU64);

impl<'a> Told<'a> {
    fn begin(truncations: &'a AtomicU64) -> Self {
        truncations.fetch_add(1, Ordering::AcqRel);
        Self(truncations)
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

impl DiskLog {
    pub(super) fn truncate(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        let _no_flush = self.flushing.lock();
        let body = self.body()?;
        let mut writer = body.writer.lock();
        self.check_writable(&writer)?;
        if offset >= self.positions().log_end.offset {
            return Ok(());
        }
        self.seal_rolled(&mut writer)?;
        if offset < self.first_segment_base() {
            return self.begin_anew(body, &mut writer, offset, now_ms);
        }
        let list = body.segments.load_full();
        let kept = list.iter().filter(|segment| segment.base() <= offset);
        let kept = Segments::new(kept.cloned().collect());
        let active = Arc::clone(kept.active());
        let cut = active.find(offset, active.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        let bytes = cut.map_or(active.bytes(), |found| found.position);
        let _told = Told::begin(&self.truncations);
        // Readers see the shorter log first; what they already hold stays readable or ends early.
        self.lower_end(LogPosition { offset, segment_base: active.base(), position: bytes });
        body.segments.store(Arc::new(kept));
        self.names_dirty.store(true, Ordering::Release);
        // Half a truncation cannot be gone on from: the next start finishes it.
        let gone = list.iter().filter(|segment| segment.base() > offset);
        let finished = self.finish_truncation(body, &mut writer, gone, active, (offset, bytes), now_ms);
        finished.map_err(|error| self.shared.health.fail_with(error))
    }

    fn finish_truncation<'a>(
        &self,
        body: &Body,
        writer: &mut Writer,
        gone: impl DoubleEndedIterator<Item = &'a Arc<Segment>>,
        active: Arc<Segment>,
        (offset, bytes): (Offset, u64),
        now_ms: i64,
    ) -> Result<(), LogError> {
        remove_newest_first(&*self.directory, gone)?;
        let state = active.resume(offset, bytes, self.config().segment_index_bytes)?;
        active.cut_file(bytes)?;
        // After a crash, what was cut would otherwise stand again behind what is appended next.
        self.synced(&file_name(active.base(), FileKind::Log), active.sync_log())?;
        writer.tail = Tail::resume(active, state, now_ms);
        self.epochs.lock().truncate_end(offset);
        self.rebuild_producers(body, writer, offset, now_ms)
    }

    pub(super) fn restart(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        let _no_flush = self.flushing.lock();
        let body = self.body()?;
        let mut writer = body.writer.lock();
        self.check_writable(&writer)?;
        self.begin_anew(body, &mut writer, offset, now_ms)
    }

    fn begin_anew(
        &self,
        body: &Body,
        writer: &mut Writer,
        offset: Offset,
        now_ms: i64,
    ) -> Result<(), LogError> {
        let begun = self.try_to_begin_anew(body, writer, offset, now_ms);
        begun.map_err(|error| self.shared.health.fail_with(error))
    }

    fn try_to_begin_anew(
        &self,
        body: &Body,
        writer: &mut Writer,
        offset: Offset,
        now_ms: i64,
    ) -> Result<(), LogError> {
        let _told = Told::begin(&self.truncations);
        remove_newest_first(&*self.directory, body.segments.load().iter())?;
        let tail = self.new_tail(offset, &self.config(), false, now_ms)?;
        // Its name alone tells where the log starts.
        self.synced("", self.directory.sync())?;
        body.segments.store(Arc::new(Segments::new(vec![Arc::clone(tail.segment())])));
        {
            let mut positions = self.positions.lock();
            positions.log_start = offset;
            positions.log_end = tail.position(offset);
            positions.recovery_point = offset;
        }
        writer.tail = tail;
        writer.unsealed.clear();
        writer.producers = ProducerStates::new(offset);
        self.reset_undecided(None);
        self.epochs.lock().clear();
        writer.snapshots.clear(&*self.directory, offset)
    }

    fn lower_end(&self, log_end: LogPosition) {
        let mut positions = self.positions.lock();
        positions.log_end = log_end;
        positions.recovery_point = positions.recovery_point.min(log_end.offset);
        positions.log_start = positions.log_start.min(log_end.offset);
    }

    /// The producers as the batches below `end` have them.
    fn rebuild_producers(
        &self,
        body: &Body,
        writer: &mut Writer,
        end: Offset,
        now_ms: i64,
    ) -> Result<(), LogError> {
        let list = body.segments.load_full();
        let loaded = writer.snapshots.load(&*self.directory, end)?;
        let mut producers = loaded.unwrap_or_else(|| ProducerStates::new(list.first().base()));
        producers.expire(now_ms, self.config().producer_id_expiration_ms);
        for segment in list.from(producers.end()) {
            let limit = segment.bytes();
            let found = segment.find(producers.end(), limit, ReadMode::MayBlock);
            let Some(found) = found.map_err(ReadFault::patient)? else { continue };
            segment.scan(found.position, limit, segment.base()..Offset::MAX, |batch| {
                batch.note_in(&mut producers);
            })?;
        }
        producers.set_end(end);
        self.reset_undecided(producers.first_open());
        writer.producers = producers;
        Ok(())
    }
}
