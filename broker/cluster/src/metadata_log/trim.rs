//! Taking the oldest records out of the metadata log: whole segments that a snapshot holds, as far as the limits ask for
//! it. The log always goes back to the older of the two snapshots that are kept, in case the newest is damaged.

use std::io;

use ottla_storage::retention::{RetentionLimits, RetentionView, plan};
use tracing::info;

use super::error::EmbeddedError;
use super::{MetadataLog, SNAPSHOTS_KEPT, files};
use crate::snapshot::SnapshotId;

/// How much of the metadata is kept beyond what its snapshots need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataRetention {
    /// `metadata.max.retention.bytes`: of log and snapshots together; none for any size.
    pub bytes_max: Option<u64>,
    /// `metadata.max.retention.ms`; none for ever.
    pub age_ms_max: Option<i64>,
}

impl Default for MetadataRetention {
    /// Kafka's defaults: 100 MiB, seven days.
    fn default() -> Self {
        Self { bytes_max: Some(100 << 20), age_ms_max: Some(7 * 24 * 60 * 60 * 1000) }
    }
}

impl MetadataLog {
    /// Removes what the limits let go. Waits for the disk.
    pub(crate) fn trim(&self, limits: MetadataRetention, now_ms: i64) -> Result<(), EmbeddedError> {
        let snapshots = files::snapshots_with_sizes(&*self.folder)?;
        let Some((oldest_kept, _)) = snapshots.iter().rev().nth(SNAPSHOTS_KEPT - 1) else { return Ok(()) };
        let snapshot_bytes: u64 = snapshots.iter().map(|(_, bytes)| bytes).sum();
        let view = RetentionView {
            log_start: self.log.positions().log_start,
            // What no snapshot holds is needed.
            high_watermark: oldest_kept.end,
            now_ms,
        };
        let limits = RetentionLimits {
            deletes: true,
            retention_ms: limits.age_ms_max,
            retention_bytes: limits.bytes_max.map(|bytes_max| bytes_max.saturating_sub(snapshot_bytes)),
        };
        let Some(end) = plan(&self.log.segments()?, &view, &limits).end else { return Ok(()) };
        self.log.raise_log_start(end)?;
        let bytes = self.log.delete_below_start()?;
        self.remove_bootstrap()?;
        info!(start = end.get(), bytes, "the oldest metadata records, which a snapshot holds, were deleted");
        Ok(())
    }

    /// What the log began with says nothing where it no longer begins there.
    fn remove_bootstrap(&self) -> Result<(), EmbeddedError> {
        let name = SnapshotId::BOOTSTRAP.to_string();
        match self.folder.remove(&name) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(files::error("remove", &name)(cause))
            }
            _ => Ok(()),
        }
    }
}
