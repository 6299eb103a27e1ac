//! Making records durable, in the order that recovery relies on: data and indexes, epochs and producer snapshots, the
//! folder, and only then the recovery point. It waits for the disk, without the append lock.

use std::io;
use std::sync::atomic::Ordering;

use ottla_model::Offset;

use super::asleep::Body;
use super::{DiskLog, Writer, snapshots};
use crate::checkpoint;
use crate::log::{Log, LogError};
use crate::segment::name::FileKind;

impl DiskLog {
    pub(super) fn flush(&self, offset: Offset, now_ms: i64) -> Result<Offset, LogError> {
        self.shared.health.check()?;
        let _one_at_a_time = self.flushing.lock();
        self.check_not_abandoned()?;
        let positions = self.positions();
        let target = offset.min(positions.log_end.offset);
        if target <= positions.recovery_point {
            return Ok(positions.recovery_point);
        }
        let body = self.body()?;
        self.seal_rolled_aside(body)?;
        let unsynced = body.writer.lock().snapshots.take_unsynced();
        self.sync_up_to(body, target, &unsynced)?;
        let recovery_point = self.set_recovery_point(target, now_ms);
        if let Err(error) = self.prepare_next(body) {
            // Nothing is lost: a roll makes the file, or tells why it cannot.
            tracing::debug!(%error, "the next segment is not prepared");
        }
        Ok(recovery_point)
    }

    pub(super) fn close_cleanly(&self, now_ms: i64) -> Result<(), LogError> {
        self.shared.health.check()?;
        let _one_at_a_time = self.flushing.lock();
        if self.close_asleep()? {
            return Ok(());
        }
        let body = self.body()?;
        let mut writer = body.writer.lock();
        if writer.is_closed {
            return Ok(());
        }
        writer.is_closed = true;
        self.seal_rolled(&mut writer)?;
        self.forget_next(&mut writer)?;
        self.finish_files(&mut writer)?;
        let sealed = body.segments.load_full();
        for segment in sealed.iter().rev().skip(1) {
            segment.give_up_indexes()?;
        }
        let unsynced = writer.snapshots.take_unsynced();
        let log_end = self.positions().log_end.offset;
        self.sync_up_to(body, log_end, &unsynced)?;
        self.set_recovery_point(log_end, now_ms);
        self.release();
        Ok(())
    }

    fn finish_files(&self, writer: &mut Writer) -> Result<(), LogError> {
        writer.tail.close()?;
        writer.producers.set_end(self.positions().log_end.offset);
        writer.snapshots.take(&*self.directory, &writer.producers)?;
        self.names_dirty.store(true, Ordering::Release);
        Ok(())
    }

    /// All or a failed directory: after an error nobody knows what is on the disk.
    fn sync_up_to(&self, body: &Body, target: Offset, snapshots: &[String]) -> Result<(), LogError> {
        self.sync_segments(body, target).map_err(|error| self.shared.health.fail_with(error))?;
        let unwritten = self.epochs.lock().unwritten();
        if let Some(entries) = unwritten {
            let written = checkpoint::write_epochs(&*self.directory, &entries);
            written.map_err(|error| self.shared.health.fail_with(error))?;
            self.epochs.lock().written(&entries);
        }
        for name in snapshots {
            self.synced(name, snapshots::sync(&*self.directory, name))?;
        }
        if self.names_dirty.swap(false, Ordering::AcqRel) {
            self.synced("", self.directory.sync())?;
        }
        Ok(())
    }

    fn sync_segments(&self, body: &Body, target: Offset) -> Result<(), LogError> {
        let list = body.segments.load_full();
        let unflushed = list.from(self.positions().recovery_point).first().map(|segment| segment.base());
        for segment in list.iter() {
            let was_sealed = segment.take_sealed();
            // Sealing also cuts a file, at a place that may lie below the recovery point.
            if was_sealed || (Some(segment.base()) >= unflushed && segment.base() < target) {
                segment.sync_log().map_err(|error| segment.error("sync", FileKind::Log, error))?;
            }
            if was_sealed {
                segment
                    .sync_indexes()
                    .map_err(|error| segment.error("sync", FileKind::OffsetIndex, error))?;
            }
        }
        Ok(())
    }

    /// A sync that failed is the directory's last one.
    pub(super) fn synced(&self, name: &str, result: io::Result<()>) -> Result<(), LogError> {
        let path = || self.directory.path().join(name);
        result.map_err(|source| self.shared.health.fail("sync", path(), source))
    }

    fn set_recovery_point(&self, target: Offset, now_ms: i64) -> Offset {
        self.last_flush_ms.store(now_ms, Ordering::Relaxed);
        let mut positions = self.positions.lock();
        positions.recovery_point = positions.recovery_point.max(target);
        positions.recovery_point
    }
}
