//! Taking records away at the start of a log: by its start offset, and by whole segments. What may go is decided above.

use std::io;
use std::sync::Arc;

use ottla_model::Offset;

use super::DiskLog;
use super::asleep::Body;
use crate::io::{self as disk, Directory};
use crate::log::{Log, LogError, SegmentInfo};
use crate::segment::Segment;
use crate::segment::name::{self, FileKind, Stage, file_name};
use crate::segments::Segments;

/// Files that left a log and wait to be deleted. Where that never happens, the next start does it.
#[derive(Debug)]
#[must_use = "the files stay on the disk until they are deleted"]
pub struct RemovedFiles {
    directory: Arc<dyn Directory>,
    names: Vec<String>,
    bytes: u64,
}

impl RemovedFiles {
    pub(super) fn new(directory: &Arc<dyn Directory>) -> Self {
        Self { directory: Arc::clone(directory), names: Vec::new(), bytes: 0 }
    }

    /// Bytes of the batches in them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is nothing to delete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Deletes the files. Who has one open goes on reading it; one that is gone already, with its folder perhaps, is no
    /// error.
    ///
    /// # Errors
    /// Of the disk; the others are deleted all the same.
    pub fn delete(self) -> Result<(), LogError> {
        let mut first = Ok(());
        for name in &self.names {
            let removed = disk::remove_if_there(&*self.directory, name);
            let removed = removed.map_err(|source| error("remove", &*self.directory, name, source));
            first = first.and(removed);
        }
        first
    }

    /// Gives the live files of a segment that is no longer listed their last name.
    pub(super) fn take(&mut self, segment: &Segment) -> Result<(), LogError> {
        self.bytes += segment.bytes();
        for kind in name::SEGMENT_KINDS {
            self.rename(segment.base(), kind)?;
        }
        Ok(())
    }

    /// The same for one file, which need not be there.
    pub(super) fn rename(&mut self, base: Offset, kind: FileKind) -> Result<(), LogError> {
        let live = file_name(base, kind);
        let deleted = name::staged(&live, Stage::Deleted);
        match self.directory.rename(&live, &deleted) {
            Ok(()) => self.names.push(deleted),
            Err(source) if source.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(error("rename", &*self.directory, &live, source)),
        }
        Ok(())
    }
}

impl DiskLog {
    pub(super) fn raise_start(&self, offset: Offset) -> Result<Offset, LogError> {
        {
            let mut positions = self.positions.lock();
            if offset <= positions.log_start {
                return Ok(positions.log_start);
            }
            let end = positions.log_end.offset;
            if offset > end {
                return Err(LogError::OffsetOutOfRange { wanted: offset, start: positions.log_start, end });
            }
            positions.log_start = offset;
        }
        self.epochs.lock().truncate_start(offset);
        Ok(offset)
    }

    pub(super) fn list_segments(&self) -> Result<Vec<SegmentInfo>, LogError> {
        let log_end = self.positions().log_end.offset;
        self.told(|body| Self::list_open(body, log_end), |asleep| Ok(asleep.memo.infos(log_end)))
    }

    fn list_open(body: &Body, log_end: Offset) -> Result<Vec<SegmentInfo>, LogError> {
        let list = body.segments.load_full();
        let active = list.active().base();
        let ends = list.iter().skip(1).map(|segment| segment.base()).chain([log_end.max(active)]);
        list.iter().zip(ends).map(|(segment, end)| segment.info(end, segment.base() == active)).collect()
    }

    /// Takes segments out of the log, from its first one on: those that end at or below `end`, never the active one. The
    /// log start rises to the first that stays. Their files get the suffix `.deleted` and are handed over; who reads in
    /// them goes on. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk: the segments are then out of the log, and the next start finds some of them again.
    pub fn remove_segments(&self, end: Offset) -> Result<RemovedFiles, LogError> {
        let mut files = RemovedFiles::new(&self.directory);
        // No flush may look for the files by their old names.
        let _no_flush = self.flushing.lock();
        self.check_not_abandoned()?;
        let body = self.body()?;
        let gone = {
            let mut writer = body.writer.lock();
            self.check_writable(&writer)?;
            self.seal_rolled(&mut writer)?;
            let list = body.segments.load_full();
            let kept = list.from(end);
            let Some(first) = kept.first().map(|segment| segment.base()) else { return Ok(files) };
            let gone: Vec<_> = list.iter().filter(|segment| segment.base() < first).cloned().collect();
            for segment in &gone {
                segment.pin()?;
            }
            // Readers look at the start before they look at the list.
            self.raise_start(first)?;
            body.segments.store(Arc::new(Segments::new(kept.to_vec())));
            gone
        };
        for segment in &gone {
            files.take(segment)?;
            files.rename(segment.base(), FileKind::Snapshot)?;
            body.writer.lock().snapshots.forget(segment.base());
        }
        if !gone.is_empty() {
            // A log start that is its first segment's base is in no checkpoint: the names alone tell it.
            self.synced("", self.directory.sync())?;
        }
        Ok(files)
    }
}

fn error(action: &'static str, directory: &dyn Directory, name: &str, source: io::Error) -> LogError {
    LogError::Io { action, path: directory.path().join(name), source }
}
