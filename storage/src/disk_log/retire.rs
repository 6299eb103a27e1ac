//! What retention does to a log before its segments go: it is decided, an active segment that goes too is replaced, the
//! log start rises. And the other end of a log's life in a folder: what a move to another directory needs to know.

use std::sync::atomic::Ordering;

use ottla_model::Offset;

use super::DiskLog;
use crate::log::{Log, LogError};
use crate::retention::{self, RetentionLimits, RetentionPlan, RetentionView};

impl DiskLog {
    /// Decides which of the oldest segments may go and raises the log start above them; `high_watermark` bounds it. They
    /// go by [`DiskLog::remove_segments`] up to the plan's end, once the log start is in its checkpoint: until then a
    /// crash could bring records back that were gone. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk; nothing was raised then.
    pub fn begin_retention(&self, high_watermark: Offset, now_ms: i64) -> Result<RetentionPlan, LogError> {
        let segments = self.segments()?;
        let limits = RetentionLimits::from(&*self.config());
        let view = RetentionView { log_start: self.positions().log_start, high_watermark, now_ms };
        let plan = retention::plan(&segments, &view, &limits);
        if plan.roll_first {
            // What is appended from here on begins the new segment, or keeps the old one if it came before.
            self.roll(now_ms)?;
        }
        if let Some(end) = plan.end {
            if end > self.positions().recovery_point {
                // What producers did there is known from a snapshot alone once the records are gone.
                self.flush_up_to(end, now_ms)?;
            }
            self.raise_log_start(end)?;
        }
        Ok(plan)
    }

    pub(super) fn delete_gone(&self) -> Result<u64, LogError> {
        let files = self.remove_segments(self.positions().log_start)?;
        let bytes = files.bytes();
        files.delete()?;
        Ok(bytes)
    }

    /// Moves with each truncation: what was known of the segments holds as long as it stays.
    pub(crate) fn truncations(&self) -> u64 {
        self.truncations.load(Ordering::Acquire)
    }

    /// Takes writes again after a close that was for nothing: only the caller's own close, and only while its log is the
    /// one of its partition.
    pub(crate) fn reopen(&self) {
        let mut asleep = self.asleep.lock();
        asleep.is_closed = false;
        if let Some(body) = self.body.get() {
            body.writer.lock().is_closed = false;
        }
    }

    /// The log's folder is another log's or nobody's: neither reads nor writes.
    pub(crate) fn check_present(&self) -> Result<(), LogError> {
        self.check_not_abandoned()
    }
}
