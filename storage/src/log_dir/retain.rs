//! Retention over all logs of a directory: first every log start rises, then all of them are written down at once, then
//! the segments below go. What goes is decided by `retention.rs`, when this is called by whoever owns the directory.

use ottla_model::Offset;

use super::{LogDir, LogDirError, TopicPartition};
use crate::disk_log::DiskLog;
use crate::log::LogError;
use crate::retention::RetentionPlan;

/// What a pass over a directory did.
#[derive(Debug, Default)]
pub struct RetentionReport {
    /// The logs that something went from, or that are kept by a timestamp in the future.
    pub logs: Vec<RetainedLog>,
    /// The logs whose turn failed, and why. The next pass tries them again.
    pub failed: Vec<(TopicPartition, LogError)>,
}

/// What a pass did to a log.
#[derive(Debug)]
pub struct RetainedLog {
    /// The log.
    pub partition: TopicPartition,
    /// What was decided.
    pub plan: RetentionPlan,
    /// Bytes of batches that are gone.
    pub bytes: u64,
}

impl LogDir {
    /// Applies retention to every log to which `high_watermark` gives an upper bound; the others are left alone. The
    /// files get the suffix `.deleted` and go by [`LogDir::delete_due`] after their topic's `file.delete.delay.ms`. Waits
    /// for the disk.
    ///
    /// # Errors
    /// Where the log starts could not be written: then nothing is gone, and the directory is offline.
    pub fn apply_retention(
        &self,
        high_watermark: &dyn Fn(&TopicPartition, &DiskLog) -> Option<Offset>,
        now_ms: i64,
    ) -> Result<RetentionReport, LogDirError> {
        self.shared.health.check()?;
        let mut report = RetentionReport::default();
        let mut begun = Vec::new();
        for (partition, log) in self.logs() {
            let Some(bound) = high_watermark(&partition, &log) else { continue };
            match log.begin_retention(bound, now_ms) {
                Ok(plan) if plan == RetentionPlan::default() => {}
                Ok(plan) => begun.push((partition, log, plan)),
                // It was removed meanwhile, or is on its way to another directory.
                Err(LogError::Closed) => {}
                Err(error) => report.failed.push((partition, error)),
            }
        }
        if begun.iter().any(|(_, _, plan)| plan.end.is_some()) {
            self.checkpoint_log_starts()?;
        }
        for (partition, log, plan) in begun {
            match self.remove_below(&log, plan.end, now_ms) {
                Ok(bytes) => report.logs.push(RetainedLog { partition, plan, bytes }),
                Err(LogError::Closed) => {}
                Err(error) => report.failed.push((partition, error)),
            }
        }
        Ok(report)
    }

    fn remove_below(&self, log: &DiskLog, end: Option<Offset>, now_ms: i64) -> Result<u64, LogError> {
        let Some(end) = end else { return Ok(0) };
        let files = log.remove_segments(end)?;
        let bytes = files.bytes();
        let delay_ms = log.config().file_delete_delay_ms;
        self.retire(files, now_ms.saturating_add(delay_ms));
        Ok(bytes)
    }
}
