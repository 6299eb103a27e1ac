//! The producer snapshot files of a log: one at each segment's base and one at the end of a clean stop. Which producers
//! there are and how a file looks is decided elsewhere.

use std::io;

use ottla_model::Offset;

use crate::io::{self as disk, Create, Directory};
use crate::log::LogError;
use crate::producer_state::ProducerStates;
use crate::segment::name::{FileKind, file_name};

/// The offsets of the snapshot files, and which of them are not yet durable.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// Ascending.
    offsets: Vec<Offset>,
    /// Those that are not yet files.
    pending: Vec<PendingSnapshot>,
    unsynced: Vec<Offset>,
    /// The log start when the log was opened: a state at or below it describes nothing that is left.
    floor: Offset,
}

/// A snapshot that waits to be written.
#[derive(Debug)]
pub(super) struct PendingSnapshot {
    pub(super) offset: Offset,
    content: Vec<u8>,
}

impl PendingSnapshot {
    pub(super) fn write(&self, directory: &dyn Directory) -> Result<(), LogError> {
        let name = file_name(self.offset, FileKind::Snapshot);
        let file = directory.open(&name, Create::Empty);
        let written = file.and_then(|file| file.write_at(&[&self.content], 0));
        written.map_err(|source| error("write", directory, &name, source))
    }
}

impl Snapshots {
    pub(super) fn new(mut offsets: Vec<Offset>, floor: Offset) -> Self {
        offsets.sort_unstable();
        Self { offsets, pending: Vec::new(), unsynced: Vec::new(), floor }
    }

    /// The offset of the newest file.
    pub(super) fn newest(&self) -> Option<Offset> {
        self.offsets.last().copied()
    }

    /// Writes the state at its end, unless a file has it or there is nothing below it.
    pub(super) fn take(
        &mut self,
        directory: &dyn Directory,
        producers: &ProducerStates,
    ) -> Result<(), LogError> {
        let Some(snapshot) = self.make(producers) else { return Ok(()) };
        snapshot.write(directory)?;
        self.offsets.push(snapshot.offset);
        self.unsynced.push(snapshot.offset);
        Ok(())
    }

    /// As [`Snapshots::take`], but the file is left for later.
    pub(super) fn note(&mut self, producers: &ProducerStates) {
        if let Some(snapshot) = self.make(producers) {
            self.offsets.push(snapshot.offset);
            self.pending.push(snapshot);
        }
    }

    fn make(&self, producers: &ProducerStates) -> Option<PendingSnapshot> {
        let offset = producers.end();
        let is_new = offset > self.offsets.last().copied().unwrap_or(self.floor);
        is_new.then(|| PendingSnapshot { offset, content: producers.to_snapshot() })
    }

    /// What waits to be written.
    pub(super) fn take_pending(&mut self) -> Vec<PendingSnapshot> {
        std::mem::take(&mut self.pending)
    }

    /// Those that wait on, and those that are files now.
    pub(super) fn put_back(&mut self, pending: Vec<PendingSnapshot>, written: &[Offset]) {
        self.pending.splice(..0, pending);
        self.unsynced.extend_from_slice(written);
    }

    /// The newest state at or below `limit`. Files above it, at or below the log start, and those that do not read, are
    /// removed.
    pub(super) fn load(
        &mut self,
        directory: &dyn Directory,
        limit: Offset,
    ) -> Result<Option<ProducerStates>, LogError> {
        let gone = self.offsets.partition_point(|offset| *offset <= self.floor);
        for offset in self.offsets.drain(..gone) {
            remove(directory, &file_name(offset, FileKind::Snapshot))?;
        }
        while let Some(offset) = self.offsets.last().copied() {
            let name = file_name(offset, FileKind::Snapshot);
            if offset <= limit {
                let content = disk::read_named(directory, &name);
                let content = content.map_err(|source| error("read", directory, &name, source))?;
                match ProducerStates::from_snapshot(&content.unwrap_or_default(), offset) {
                    Ok(states) => return Ok(Some(states)),
                    Err(reason) => {
                        let path = directory.path().join(&name);
                        tracing::warn!(path = %path.display(), reason, "a producer snapshot is dropped");
                    }
                }
            }
            self.offsets.pop();
            self.unsynced.retain(|unsynced| *unsynced != offset);
            remove(directory, &name)?;
        }
        Ok(None)
    }

    /// The newest state at or below `limit`. Nothing is changed.
    pub(super) fn look(
        &self,
        directory: &dyn Directory,
        limit: Offset,
    ) -> Result<Option<ProducerStates>, LogError> {
        for offset in self.offsets.iter().rev().filter(|offset| **offset <= limit && **offset > self.floor) {
            let name = file_name(*offset, FileKind::Snapshot);
            let content = disk::read_named(directory, &name);
            let content = content.map_err(|source| error("read", directory, &name, source))?;
            if let Ok(states) = ProducerStates::from_snapshot(&content.unwrap_or_default(), *offset) {
                return Ok(Some(states));
            }
        }
        Ok(None)
    }

    /// Removes the files that belong to no segment, but for the newest one if it lies beyond the last segment's base:
    /// that one is of a clean stop.
    pub(super) fn remove_strays(
        &mut self,
        directory: &dyn Directory,
        bases: &[Offset],
    ) -> Result<(), LogError> {
        let newest = self.offsets.last().copied().filter(|newest| Some(newest) > bases.last());
        let stays = |offset: &Offset| bases.binary_search(offset).is_ok() || Some(*offset) == newest;
        for offset in self.offsets.iter().filter(|offset| !stays(offset)) {
            remove(directory, &file_name(*offset, FileKind::Snapshot))?;
        }
        self.offsets.retain(stays);
        Ok(())
    }

    /// The file of this offset is no longer there.
    pub(super) fn forget(&mut self, offset: Offset) {
        self.offsets.retain(|known| *known != offset);
        self.pending.retain(|known| known.offset != offset);
        self.unsynced.retain(|known| *known != offset);
    }

    /// Removes all files: the log begins anew at this offset.
    pub(super) fn clear(&mut self, directory: &dyn Directory, floor: Offset) -> Result<(), LogError> {
        self.floor = floor;
        self.pending.clear();
        for offset in self.offsets.drain(..) {
            remove(directory, &file_name(offset, FileKind::Snapshot))?;
        }
        self.unsynced.clear();
        Ok(())
    }

    /// The names of the files that a flush still has to make durable; they count as such from now on.
    pub(super) fn take_unsynced(&mut self) -> Vec<String> {
        self.unsynced.drain(..).map(|offset| file_name(offset, FileKind::Snapshot)).collect()
    }
}

/// Makes a snapshot durable; one that is gone by now needs nothing.
pub(super) fn sync(directory: &dyn Directory, name: &str) -> io::Result<()> {
    match directory.open(name, Create::No) {
        Ok(file) => file.sync(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn remove(directory: &dyn Directory, name: &str) -> Result<(), LogError> {
    disk::remove_if_there(directory, name).map_err(|source| error("remove", directory, name, source))
}

fn error(action: &'static str, directory: &dyn Directory, name: &str, source: io::Error) -> LogError {
    LogError::Io { action, path: directory.path().join(name), source }
}
