//! Recovery: the segments from a place on are scanned, the log is cut at the first batch that is not whole, and their indexes
//! are made from their batches. What was taken away, or is missing, is told.

use std::sync::Arc;

use ottla_model::Offset;

use super::{Cut, Hole, Loader, RestoredTail, note_epoch};
use crate::log::{Damage, LogError};
use crate::producer_state::EndedTransaction;
use crate::segment::append::Tail;
use crate::segment::name::FileKind;
use crate::segment::recover::{ScanEnd, ScannedBatch};
use crate::segment::{Segment, remove_newest_first};

impl Loader {
    /// Scans the segments from `from` on, and cuts the log at the first batch that is not whole.
    pub(super) fn recover(&mut self, from: Offset) -> Result<RestoredTail, LogError> {
        self.replay(from)?;
        self.names_changed = true;
        let scanned: Vec<_> = self.segments.iter().filter(|s| s.base() >= from).cloned().collect();
        let mut restored: Option<RestoredTail> = None;
        for segment in scanned {
            if let Some(mut before) = restored.take() {
                before.tail.seal()?;
            }
            self.take_snapshot_at(segment.base())?;
            let (tail, end) = self.recover_segment(&segment)?;
            restored = Some(RestoredTail { tail, next: end.next });
            if self.segments.last().is_none_or(|last| last.base() <= segment.base()) {
                break;
            }
        }
        let mut restored = restored.expect("a log has an active segment");
        // Before the stop room may have been set aside for it.
        restored.tail.expect_room();
        self.take_snapshot_at(restored.next)?;
        Ok(restored)
    }

    fn recover_segment(&mut self, segment: &Arc<Segment>) -> Result<(Tail, ScanEnd), LogError> {
        let file_bytes = segment.bytes();
        self.known_end = self.known_end.max(segment.indexed_end());
        let (tail, end) = self.scan_segment(segment, file_bytes, |loader, batch| {
            note_epoch(&mut loader.epochs, batch.header);
            batch.note_in(&mut loader.producers)
        })?;
        self.recovery.scanned_segments += 1;
        self.recovery.scanned_bytes += file_bytes;
        let is_end = |damage: &Damage| !matches!(damage, Damage::ZeroTail | Damage::Overlap { .. });
        let torn = end.damage.filter(is_end);
        let damage = torn.or_else(|| self.gap_after(segment, end.next)).or(end.damage);
        if let Some(damage) = damage {
            self.cut(segment, &end, damage, file_bytes - end.bytes)?;
        }
        self.note_hole(segment, &end, file_bytes - end.bytes);
        Ok((tail, end))
    }

    /// Tells of records that are missing before the next segment, if there is one.
    pub(super) fn note_hole(&mut self, segment: &Segment, end: &ScanEnd, bytes: u64) {
        let Some(to) = self.base_after(segment).filter(|base| *base > end.next) else { return };
        if self.opening.config.is_compacted {
            return;
        }
        let (file, position, from) = (segment.log_path(), end.bytes, end.next);
        tracing::warn!(
            file = %file.display(), position, bytes, from = from.get(), to = to.get(),
            "a segment ends before the next one begins: the records between are missing"
        );
        self.recovery.holes.push(Hole { file, position, bytes, from, to });
    }

    /// Whether a loss of power took the end of this segment and left the next one. Below the recovery point it cannot
    /// have; and where there is no such point, its file was perhaps lost, and a hole is better than to lose the rest.
    fn gap_after(&self, segment: &Segment, end: Offset) -> Option<Damage> {
        let durable = self.opening.recovery_point;
        if self.opening.config.is_compacted || durable == Offset::ZERO || end < durable {
            return None;
        }
        let base = self.base_after(segment).filter(|base| *base > end)?;
        Some(Damage::Gap { end, base })
    }

    /// The base of the next segment.
    fn base_after(&self, segment: &Segment) -> Option<Offset> {
        self.segments.iter().map(|other| other.base()).find(|base| *base > segment.base())
    }

    /// Makes a segment's indexes from its batches, and from the transactions that `visit` says they end; the tail that did it ends at the last whole batch.
    pub(super) fn scan_segment(
        &mut self,
        segment: &Arc<Segment>,
        file_bytes: u64,
        mut visit: impl FnMut(&mut Self, &ScannedBatch<'_>) -> Option<EndedTransaction>,
    ) -> Result<(Tail, ScanEnd), LogError> {
        segment.start_indexes(self.opening.config.segment_index_bytes)?;
        let mut tail = Tail::new(Arc::clone(segment), false, self.opening.now_ms);
        let interval = self.opening.config.index_interval_bytes;
        let next_base = self.base_after(segment).unwrap_or(Offset::MAX);
        let mut entered = Ok(());
        let end = segment.scan(0, file_bytes, segment.base()..next_base, |batch| {
            tail.note(batch.header, interval);
            let ended = visit(self, &batch);
            if let (Ok(()), Some(aborted)) = (&entered, ended.and_then(|ended| ended.aborted())) {
                entered = segment.enter_aborted(&aborted);
            }
        })?;
        entered?;
        Ok((tail, end))
    }

    fn cut(
        &mut self,
        segment: &Arc<Segment>,
        end: &ScanEnd,
        damage: Damage,
        bytes: u64,
    ) -> Result<(), LogError> {
        let is_zeros = damage == Damage::ZeroTail;
        let is_reserved = self.opening.config.preallocate && end.next >= self.known_end;
        if is_zeros && (is_reserved || self.base_after(segment).is_some()) {
            // Room that was reserved and never written; or what is missing before the next segment is told as a hole.
            return segment.cut_file(end.bytes);
        }
        let mut removed = Vec::new();
        if !is_zeros && !matches!(damage, Damage::Overlap { .. }) {
            let later = self.segments.partition_point(|other| other.base() <= segment.base());
            removed = self.segments.split_off(later);
        }
        let segments_deleted = remove_newest_first(&*self.opening.directory, removed.iter())?;
        segment.cut_file(end.bytes)?;
        // After a crash, what was cut would otherwise stand again behind what is appended next.
        segment.sync_log().map_err(|source| segment.error("sync", FileKind::Log, source))?;
        let file = segment.log_path();
        tracing::warn!(
            file = %file.display(), position = end.bytes, %damage, bytes, segments_deleted,
            "a log is cut at its first batch that is not whole"
        );
        self.recovery.cut = Some(Cut { file, position: end.bytes, damage, bytes, segments_deleted });
        Ok(())
    }
}
