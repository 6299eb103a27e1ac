//! Exchanging segments for those that a compaction made of them, so that a crash at any call leaves the ones or the
//! others. Names tell which: all new files are whole and durable as `.cleaned` before the first becomes `.swap`; while one
//! `.cleaned` is left nothing has happened, and when none is left it has. `leftovers` finishes or undoes what a crash
//! interrupted. What the new segments hold is decided by who made them.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_model::{Offset, ProducerId};

use super::asleep::Body;
use super::remove::RemovedFiles;
use super::{DiskLog, Writer};
use crate::compaction::{CleanError, CleanPlan, NewSegment, PlanInput, cleaned_name, plan};
use crate::io::{self as disk, Directory};
use crate::log::{Log, LogError};
use crate::producer_state::LastBatch;
use crate::segment::Segment;
use crate::segment::name::{FileKind, Stage, file_name, staged};
use crate::segments::Segments;

/// The right to compact a log, which one holds at a time.
#[derive(Debug)]
pub(crate) struct CleaningClaim(Arc<AtomicBool>);

impl Drop for CleaningClaim {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl DiskLog {
    /// What a compaction of the log would do now. `checkpoint` says how far the last one came; no record at or above
    /// `high_watermark` takes another's place, nor one that is undecided or not yet durable. May wait for the disk.
    ///
    /// # Errors
    /// Of the disk.
    pub fn plan_cleaning(
        &self,
        high_watermark: Offset,
        checkpoint: Option<Offset>,
        now_ms: i64,
    ) -> Result<CleanPlan, LogError> {
        let positions = self.positions();
        let stable = self.first_undecided(high_watermark).unwrap_or(high_watermark).min(high_watermark);
        let input = PlanInput {
            segments: &self.segments()?,
            log_start: positions.log_start,
            log_end: positions.log_end.offset,
            // A newer record that a loss of power takes would leave neither.
            stable_end: stable.min(positions.recovery_point),
            checkpoint,
            config: &self.config(),
            now_ms,
        };
        plan(&input, |info| {
            let list = self.listed()?;
            list.iter()
                .find(|segment| segment.base() == info.base)
                .map_or(Ok(None), |it| it.first_timestamp())
        })
    }

    pub(crate) fn claim_cleaning(&self) -> Option<CleaningClaim> {
        let was_claimed = self.is_being_cleaned.swap(true, Ordering::AcqRel);
        (!was_claimed).then(|| CleaningClaim(Arc::clone(&self.is_being_cleaned)))
    }

    /// Whether it makes sense to begin or go on.
    pub(crate) fn check_cleanable(&self) -> Result<(), LogError> {
        self.check_not_abandoned()?;
        self.shared.health.check()
    }

    pub(crate) fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    pub(crate) fn listed(&self) -> Result<Arc<Segments>, LogError> {
        Ok(self.body()?.segments.load_full())
    }

    /// Whether all these segments follow each other in the log, and others follow them.
    pub(crate) fn holds(&self, segments: &[Arc<Segment>]) -> bool {
        self.body.get().is_some_and(|body| is_listed(&body.segments.load(), segments))
    }

    /// Of each producer, the batch that its state hangs on.
    pub(crate) fn last_batches(&self) -> HashMap<ProducerId, LastBatch> {
        self.ask_producers(|producers| producers.last_batches()).unwrap_or_default()
    }

    /// Puts new segments, durable as `.cleaned` files, in the place of old ones. Appends wait for a look at the list only,
    /// readers for nothing: who is in an old segment goes on in it.
    ///
    /// # Errors
    /// [`CleanError::Changed`] where an old segment is no longer in the log, and other errors before the first old file
    /// was touched: the new files are then gone or still `.cleaned`. Later ones end the directory's writing.
    pub(crate) fn replace_segments(
        &self,
        old: &[Arc<Segment>],
        new: &[NewSegment],
    ) -> Result<RemovedFiles, CleanError> {
        // Whoever truncates, deletes or flushes waits meanwhile.
        let _alone = self.flushing.lock();
        self.check_not_abandoned()?;
        let body = self.body()?;
        {
            let mut writer = body.writer.lock();
            self.check_writable(&writer)?;
            // Nothing may be written to an old segment by its name any more.
            self.seal_rolled(&mut writer)?;
        }
        if !is_listed(&body.segments.load(), old) {
            return Err(CleanError::Changed);
        }
        if let Err(error) = self.announce(new) {
            let undone = self.withdraw(new);
            return Err(undone
                .map_or_else(|undoing| self.shared.health.fail_with(undoing), |()| error)
                .into());
        }
        let replaced = self.put_in_place(body, old, new);
        replaced.map_err(|error| self.shared.health.fail_with(error).into())
    }

    /// From `.cleaned` to `.swap`, the highest base first: the lowest is the last to be left.
    fn announce(&self, new: &[NewSegment]) -> Result<(), LogError> {
        for segment in new.iter().rev() {
            for kind in &segment.kinds {
                let name = file_name(segment.base, *kind);
                self.rename(&staged(&name, Stage::Cleaned), &staged(&name, Stage::Swap))?;
            }
        }
        self.sync_names()
    }

    /// Takes back what was announced in part. First the lowest log is `.cleaned` again, which makes all others void; it
    /// goes last.
    fn withdraw(&self, new: &[NewSegment]) -> Result<(), LogError> {
        let Some(lowest) = new.first() else { return Ok(()) };
        let log = file_name(lowest.base, FileKind::Log);
        let (cleaned, swap) = (staged(&log, Stage::Cleaned), staged(&log, Stage::Swap));
        match self.directory.rename(&swap, &cleaned) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(self.error("rename", &swap, source));
            }
            _ => {}
        }
        for segment in new.iter().rev() {
            for kind in segment.kinds.iter().rev() {
                self.remove(&staged(&file_name(segment.base, *kind), Stage::Swap))?;
            }
        }
        for segment in new.iter().rev() {
            for kind in segment.kinds.iter().rev() {
                self.remove(&cleaned_name(segment.base, *kind))?;
            }
        }
        Ok(())
    }

    fn put_in_place(
        &self,
        body: &Body,
        old: &[Arc<Segment>],
        new: &[NewSegment],
    ) -> Result<RemovedFiles, LogError> {
        let mut files = RemovedFiles::new(&self.directory);
        for segment in old {
            segment.pin()?;
        }
        let is_new = |base| new.iter().any(|segment| segment.base == base);
        for segment in old {
            files.take(segment)?;
            // Producers are known from the snapshots at the bases that are left.
            if !is_new(segment.base()) {
                files.rename(segment.base(), FileKind::Snapshot)?;
            }
        }
        for segment in new {
            for kind in &segment.kinds {
                let name = file_name(segment.base, *kind);
                self.rename(&staged(&name, Stage::Swap), &name)?;
            }
        }
        self.sync_names()?;
        let mut writer = body.writer.lock();
        for segment in old.iter().filter(|segment| !is_new(segment.base())) {
            writer.snapshots.forget(segment.base());
        }
        self.exchange_listed(body, &mut writer, old, new);
        Ok(files)
    }

    /// An append may have begun a segment meanwhile, so this wants its lock.
    fn exchange_listed(
        &self,
        body: &Body,
        _no_append: &mut Writer,
        old: &[Arc<Segment>],
        new: &[NewSegment],
    ) {
        let (Some(first), Some(last)) = (old.first(), old.last()) else { return };
        let made = new.iter().map(|new| {
            let NewSegment { base, bytes, txn_index_bytes, .. } = *new;
            let segment = Segment::existing(&self.directory, &self.shared, base, bytes, txn_index_bytes);
            segment.set_largest_timestamp(new.largest);
            Arc::new(segment)
        });
        let list = body.segments.load_full();
        let before = list.iter().filter(|segment| segment.base() < first.base()).cloned();
        let after = list.iter().filter(|segment| segment.base() > last.base()).cloned();
        body.segments.store(Arc::new(Segments::new(before.chain(made).chain(after).collect())));
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), LogError> {
        self.directory.rename(from, to).map_err(|source| self.error("rename", from, source))
    }

    fn remove(&self, name: &str) -> Result<(), LogError> {
        let removed = disk::remove_if_there(&*self.directory, name);
        removed.map_err(|source| self.error("remove", name, source))
    }

    fn sync_names(&self) -> Result<(), LogError> {
        self.directory.sync().map_err(|source| self.shared.health.fail("sync", self.directory.path(), source))
    }

    /// After a failed fsync a directory is offline, whatever the file was.
    pub(crate) fn fail_if_sync(&self, error: LogError) -> LogError {
        match error {
            LogError::Io { action: "sync", path, source } => self.shared.health.fail("sync", path, source),
            other => other,
        }
    }

    fn error(&self, action: &'static str, name: &str, source: io::Error) -> LogError {
        LogError::Io { action, path: self.directory.path().join(name), source }
    }
}

/// Whether all these segments follow each other in the log, and others follow them.
fn is_listed(list: &Segments, old: &[Arc<Segment>]) -> bool {
    let Some(first) = old.first() else { return false };
    let listed: Vec<_> = list.iter().skip_while(|segment| segment.base() < first.base()).collect();
    listed.len() > old.len() && listed.iter().zip(old).all(|(listed, old)| Arc::ptr_eq(listed, old))
}
