//! The produce walk's last step above the log: leadership and epoch, the append, the positions it moves, and the
//! flushes it asks for. The batch was checked before (`ottla_model::batch`); nothing here reads a record.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, Offset};
use ottla_storage::{AppendInfo, LogError, MarkerRule};

use super::{Partition, PartitionError};

/// How far a log may grow before the flusher moves its recovery point: what a recovery has to read at most, give or
/// take what is written while an fsync runs.
pub(crate) const UNFLUSHED_BYTES_MAX: u64 = 64 << 20;

/// Who must have a batch before its producer is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acks {
    /// Nobody: there is no answer.
    None,
    /// This broker.
    Leader,
    /// All in-sync replicas.
    InSync,
}

impl Partition {
    /// Appends a batch as leader. Where the partition is not [ready](Self::is_ready) this opens its log, which waits for the
    /// disk.
    pub(crate) fn append(
        self: &Arc<Self>,
        batch: CheckedBatch,
        acks: Acks,
        now_ms: i64,
    ) -> Result<AppendInfo, PartitionError> {
        let epoch = self.check_append(acks)?;
        let size = batch.size() as u64;
        self.note(self.place().log.append_as_leader(batch, epoch, now_ms), size)
    }

    /// Appends a transaction's marker as leader; [`append_marker`](Self::append_marker) is what others call.
    pub(super) fn append_end_of_transaction(
        self: &Arc<Self>,
        marker: CheckedBatch,
        rule: MarkerRule,
        now_ms: i64,
    ) -> Result<AppendInfo, PartitionError> {
        let epoch = self.check_append(Acks::InSync)?;
        let size = marker.size() as u64;
        self.note(self.place().log.append_marker(marker, rule, epoch, now_ms), size)
    }

    /// Whether something may be appended: the epoch to append it in.
    fn check_append(&self, acks: Acks) -> Result<LeaderEpoch, PartitionError> {
        let epoch = self.check_leader(LeaderEpoch::UNKNOWN)?;
        if let Err(error) = self.check_writable() {
            self.tell_write_error(&error);
            return Err(error);
        }
        if acks == Acks::InSync {
            self.check_in_sync()?;
        }
        Ok(epoch)
    }

    fn note(
        self: &Arc<Self>,
        appended: Result<AppendInfo, LogError>,
        size: u64,
    ) -> Result<AppendInfo, PartitionError> {
        let info = appended.map_err(PartitionError::from).inspect_err(|error| {
            self.traffic.appends_failed.increment();
            self.tell_write_error(error);
        })?;
        if !info.duplicate {
            self.appended(&info, size);
        }
        Ok(info)
    }

    /// Whether a batch that ends at `last` may be acknowledged: consumers see it, and where the topic asks for fsync
    /// it was made.
    pub(crate) fn is_acknowledged(&self, last: Offset) -> bool {
        last < self.positions().high_watermark
    }

    /// The flusher made everything below `end` durable. Says whether so much was flushed that the directory's
    /// checkpoint of recovery points should be written before its time.
    pub(crate) fn flushed(&self, end: Offset) -> bool {
        self.commit(end);
        self.unflushed_bytes.swap(0, Ordering::Relaxed) >= UNFLUSHED_BYTES_MAX
    }

    /// Takes the partition off the flusher's list of those with unflushed records.
    pub(crate) fn set_clean(&self) {
        self.dirty.store(false, Ordering::Release);
    }

    /// What is the disk's fault, not the request's, is told in the log too.
    fn tell_write_error(&self, error: &PartitionError) {
        if matches!(error, PartitionError::Log(LogError::Io { .. } | LogError::DirectoryFailed(_))) {
            let place = self.place();
            place.flush.errors.of_partition(&place.directory.path(), &self.name, error);
        }
    }

    fn check_in_sync(&self) -> Result<(), PartitionError> {
        let leadership = self.leadership();
        let configured = usize::try_from(self.settings().min_insync_replicas).unwrap_or(usize::MAX);
        let wanted = configured.min(leadership.replicas);
        match leadership.in_sync {
            in_sync if in_sync < wanted => Err(PartitionError::NotEnoughReplicas { in_sync, wanted }),
            _ => Ok(()),
        }
    }

    fn appended(self: &Arc<Self>, info: &AppendInfo, size: u64) {
        let end = info.log_end.offset;
        self.traffic.batches_in.increment();
        self.traffic.bytes_in.add(size);
        self.positions.log_end_is(end);
        if !self.dirty.swap(true, Ordering::AcqRel) {
            self.place().flush.note_dirty(self);
        }
        let unflushed = self.unflushed_bytes.fetch_add(size, Ordering::Relaxed) + size;
        if info.flush_due {
            // Consumers see it once it is durable, as with a leader that fsyncs within the append.
            self.place().flush.request(self, end);
            return;
        }
        self.commit(end);
        if unflushed >= UNFLUSHED_BYTES_MAX && unflushed - size < UNFLUSHED_BYTES_MAX {
            self.place().flush.request(self, end);
        } else if let Some(rolled_at) = info.rolled_at {
            self.place().flush.request(self, rolled_at);
        }
    }

    /// Everything below `end` is on every replica that counts: with one replica, here.
    fn commit(&self, end: Offset) {
        if self.positions.raise_high_watermark(end, |mark| self.place().log.first_undecided(mark)) {
            self.waiters.moved(self.key);
        }
    }
}
