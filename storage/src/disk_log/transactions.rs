//! What readers of committed records ask: where the first undecided transaction begins, which aborted ones lie within a
//! range, and how far a read can reach.

use std::sync::atomic::Ordering;

use ottla_model::Offset;

use super::DiskLog;
use crate::log::{AbortedTransaction, Log, LogError, ReadMode};
use crate::producer_state::{EndedTransaction, Undecided};
use crate::segment::read::ReadFault;

impl DiskLog {
    pub(super) fn set_undecided(&self, first_open: Option<Offset>, ended: Option<&EndedTransaction>) {
        let mut undecided = self.undecided.lock();
        undecided.update(first_open, ended);
        self.has_undecided.store(!undecided.is_empty(), Ordering::Release);
    }

    /// Forgets which transactions ended: what is left of the log is below every high watermark.
    pub(super) fn reset_undecided(&self, first_open: Option<Offset>) {
        let mut undecided = self.undecided.lock();
        *undecided = Undecided::new(first_open);
        self.has_undecided.store(!undecided.is_empty(), Ordering::Release);
    }

    pub(super) fn find_undecided(&self, high_watermark: Offset) -> Option<Offset> {
        if !self.has_undecided.load(Ordering::Acquire) {
            return None;
        }
        let first = {
            let mut undecided = self.undecided.lock();
            let first = undecided.first(high_watermark);
            self.has_undecided.store(!undecided.is_empty(), Ordering::Release);
            first
        };
        first.map(|first| first.max(self.positions().log_start))
    }

    pub(super) fn find_aborted(
        &self,
        from: Offset,
        end: Offset,
    ) -> Result<Vec<AbortedTransaction>, LogError> {
        let list = self.body()?.segments.load_full();
        let mut found = Vec::new();
        for segment in list.from(from) {
            let collected = segment.collect_aborted(from, end, ReadMode::MayBlock, &mut found);
            if collected.map_err(ReadFault::patient)? {
                break;
            }
        }
        Ok(found)
    }

    pub(super) fn find_end_of_read(&self, from: Offset, bytes: u64) -> Result<Offset, LogError> {
        let log_end = self.positions().log_end.offset;
        let list = self.body()?.segments.load_full();
        let [segment, later @ ..] = list.from(from) else { return Ok(log_end) };
        let segment_end = later.first().map_or(log_end, |next| next.base());
        let found = segment.find(from, segment.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        // Nothing of this segment: the read went on in the next one.
        let Some(found) = found else { return Ok(log_end) };
        let stop = found.position.saturating_add(bytes);
        let end = segment.end_at(stop, ReadMode::MayBlock).map_err(ReadFault::patient)?;
        Ok(end.unwrap_or(segment_end).min(segment_end))
    }
}
