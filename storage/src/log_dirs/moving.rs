//! A partition's way from one directory to another, file by file, while the log serves. Who moves it calls
//! [`LogMove::copy`] until little is missing, at its own pace, and then [`LogMove::finish`]: the log takes no writes while
//! the rest is copied, and the copy takes its place.
//!
//! A crash at any point leaves the log in one place. Until the copy has its final name it is a `…-future` folder, which
//! nobody believes; when it has, it holds everything, durably, with a note that it replaced the log that it was copied
//! from; that one is renamed for deletion last.

use std::sync::Arc;

use ottla_model::{Offset, Uuid};
use parking_lot::Mutex;

use super::LogDirs;
use crate::disk_log::DiskLog;
use crate::io::{Create, Directory, LogFile};
use crate::log::{Log, LogError};
use crate::log_dir::{LogDir, LogDirError, TopicPartition};
use crate::segment::Segment;
use crate::segment::copy::copy_file;
use crate::segment::name::{self, FileKind, Stage, file_name};

/// Files of a partition that belong to no segment.
const OTHER_FILES: [&str; 2] = ["partition.metadata", "leader-epoch-checkpoint"];

/// A log on its way. Dropped, it leaves the copy as a crash would, and the log as it was.
#[derive(Debug)]
pub struct LogMove {
    partition: TopicPartition,
    source: Arc<LogDir>,
    target: Arc<LogDir>,
    log: Arc<DiskLog>,
    name: String,
    folder: Arc<dyn Directory>,
    copies: Vec<Copy>,
    /// The source's when the copies were begun.
    truncations: u64,
    moving: Arc<Mutex<Vec<TopicPartition>>>,
}

/// A segment of the copy.
#[derive(Debug)]
struct Copy {
    /// The very segment that is copied: a compaction puts another one of the same name in its place.
    of: Arc<Segment>,
    file: Arc<dyn LogFile>,
    bytes: u64,
    /// Everything is there, indexes too, and durable.
    is_whole: bool,
}

/// How far a move is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveProgress {
    /// Bytes of batches in the copy.
    pub copied_bytes: u64,
    /// Bytes that are still missing; more may be appended meanwhile.
    pub missing_bytes: u64,
    /// Everything below this offset is in the copy; of a segment that is copied in part nothing counts.
    pub copied_end: Offset,
}

impl LogDirs {
    /// Begins to move a partition to the directory of this id. A copy that an earlier move left anywhere is removed.
    ///
    /// # Errors
    /// [`LogDirError::Unknown`] without such a log, [`LogDirError::NoDirectory`] without such a directory,
    /// [`LogDirError::Moving`] while the partition is on its way, [`LogDirError::Exists`] where it is there already; or of
    /// a directory that has failed.
    pub fn begin_move(&self, partition: &TopicPartition, target: Uuid) -> Result<LogMove, LogDirError> {
        let target = self.by_id(target).ok_or(LogDirError::NoDirectory)?;
        let found = self.find(partition);
        let (source, log) = found.ok_or_else(|| target.unknown(partition))?;
        if Arc::ptr_eq(source, target) {
            return Err(LogDirError::Exists { path: log.path() });
        }
        let ticket = Ticket::take(&self.moving, partition)?;
        for dir in self.usable() {
            dir.drop_future(partition)?;
        }
        // A note of an earlier arrival would contradict that of the coming one.
        source.forget_coming(partition)?;
        let (name, folder) = target.begin_future(partition, source.topic_id_of(partition))?;
        Ok(LogMove {
            partition: partition.clone(),
            source: Arc::clone(source),
            target: Arc::clone(target),
            truncations: log.truncations(),
            log,
            name,
            folder,
            copies: Vec::new(),
            moving: ticket.keep(),
        })
    }
}

impl LogMove {
    /// The partition.
    #[must_use]
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Where it goes.
    #[must_use]
    pub fn target(&self) -> &Arc<LogDir> {
        &self.target
    }

    /// Copies about so many bytes more, the oldest first. Waits for the disks.
    ///
    /// # Errors
    /// Of either disk; [`LogError::Closed`] once the log was removed.
    pub fn copy(&mut self, bytes_max: u64) -> Result<MoveProgress, LogDirError> {
        self.log.check_present()?;
        if self.log.truncations() != self.truncations {
            self.start_over()?;
        }
        let segments: Vec<_> = self.log.listed()?.iter().cloned().collect();
        self.drop_replaced(&segments)?;
        let copied = self.copy_segments(&segments, bytes_max);
        match copied {
            // A truncation cut a file while it was read.
            Err(_) if self.log.truncations() != self.truncations => {}
            copied => copied?,
        }
        Ok(self.progress(&segments))
    }

    fn copy_segments(&mut self, segments: &[Arc<Segment>], bytes_max: u64) -> Result<(), LogDirError> {
        let mut room = bytes_max;
        for (number, segment) in segments.iter().enumerate() {
            let is_active = number + 1 == segments.len();
            let index = self.copy_of(segment)?;
            let Some(copy) = self.copies.get_mut(index) else { continue };
            let end = segment.bytes().min(copy.bytes.saturating_add(room));
            segment.copy_batches(&*copy.file, copy.bytes, end)?;
            room -= end - copy.bytes;
            copy.bytes = end;
            if !is_active && !copy.is_whole && copy.bytes == segment.bytes() {
                copy.complete(&*self.folder)?;
            }
            if room == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Ends the move: from now on the log that is returned is the partition's, and the old one takes neither reads nor
    /// writes; its files go once it is `due_ms`. Call it when little is missing: meanwhile appends are answered
    /// [`LogError::Closed`], and reads are answered. Waits for the disks.
    ///
    /// # Errors
    /// Of either disk: the old log then goes on as if nothing had been, and the copy is void. Only where the copy cannot
    /// be taken back it stays closed, and the next start finds the copy.
    pub fn finish(mut self, now_ms: i64, due_ms: i64) -> Result<Arc<DiskLog>, LogDirError> {
        if let Err(error) = self.log.close(now_ms).map_err(LogDirError::from).and_then(|()| self.copy_rest())
        {
            self.log.reopen();
            return Err(error);
        }
        let config = (*self.log.config()).clone();
        let arrived = self.target.complete_future(&self.partition, &self.name, &self.source, config, now_ms);
        let log = match arrived {
            Ok(log) => log,
            Err(failed) => {
                if failed.is_undone {
                    self.log.reopen();
                }
                return Err(failed.error);
            }
        };
        // The partition is where it should be; what is left to do is cleaning up, and the next start can do that too.
        if let Err(error) = self.source.remove_log(&self.partition, due_ms) {
            tracing::error!(partition = %self.partition, %error, "a log that was moved could not be removed");
            self.source.let_go(&self.partition);
        } else if let Err(error) = self.target.forget_coming(&self.partition) {
            tracing::warn!(partition = %self.partition, %error, "the note of a move stays");
        }
        Ok(log)
    }

    /// Gives the move up and removes the copy. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk; the next start finds the rest.
    pub fn cancel(self) -> Result<(), LogDirError> {
        self.target.drop_future(&self.partition).map(|_| ())
    }

    /// Everything that is not there yet, of a log that takes no writes.
    fn copy_rest(&mut self) -> Result<(), LogDirError> {
        self.copy(u64::MAX)?;
        for copy in self.copies.iter_mut().filter(|copy| !copy.is_whole) {
            copy.complete(&*self.folder)?;
        }
        let from = self.log.directory();
        let files = from.list().map_err(|error| self.error("list", error))?;
        let is_snapshot = |file: &str| {
            name::parse(file).is_some_and(|name| name.kind == FileKind::Snapshot && name.stage == Stage::Live)
        };
        let snapshots = files.iter().map(|entry| entry.name.as_str()).filter(|file| is_snapshot(file));
        for file in snapshots.chain(OTHER_FILES) {
            copy_file(&**from, &*self.folder, file).map_err(|error| self.error("copy", error))?;
        }
        Ok(self.folder.sync().map_err(|error| self.error("sync", error))?)
    }

    /// The log has lost its end, so that nothing that was copied can be relied on.
    fn start_over(&mut self) -> Result<(), LogDirError> {
        self.truncations = self.log.truncations();
        self.drop_replaced(&[])
    }

    /// Removes the copies of segments that the log no longer has.
    fn drop_replaced(&mut self, segments: &[Arc<Segment>]) -> Result<(), LogDirError> {
        let is_gone = |copy: &mut Copy| !segments.iter().any(|segment| Arc::ptr_eq(segment, &copy.of));
        let gone: Vec<_> = self.copies.extract_if(.., is_gone).collect();
        for copy in gone {
            for kind in name::SEGMENT_KINDS {
                let removed = crate::io::remove_if_there(&*self.folder, &file_name(copy.of.base(), kind));
                removed.map_err(|error| self.error("remove", error))?;
            }
        }
        Ok(())
    }

    /// The number of a segment's copy, which is begun if there is none.
    fn copy_of(&mut self, segment: &Arc<Segment>) -> Result<usize, LogDirError> {
        if let Some(index) = self.copies.iter().position(|copy| Arc::ptr_eq(&copy.of, segment)) {
            return Ok(index);
        }
        let file = self.folder.open(&file_name(segment.base(), FileKind::Log), Create::Empty);
        let file = file.map_err(|error| self.error("create", error))?;
        self.copies.push(Copy { of: Arc::clone(segment), file, bytes: 0, is_whole: false });
        Ok(self.copies.len() - 1)
    }

    fn progress(&self, segments: &[Arc<Segment>]) -> MoveProgress {
        let copied_bytes = self.copies.iter().map(|copy| copy.bytes).sum();
        let bytes: u64 = segments.iter().map(|segment| segment.bytes()).sum();
        let is_whole = |segment: &Arc<Segment>| {
            let copy = self.copies.iter().find(|copy| Arc::ptr_eq(&copy.of, segment));
            copy.map_or(0, |copy| copy.bytes) == segment.bytes()
        };
        let first_missing = segments.iter().find(|segment| !is_whole(segment)).map(|segment| segment.base());
        MoveProgress {
            copied_bytes,
            missing_bytes: bytes.saturating_sub(copied_bytes),
            copied_end: first_missing.unwrap_or_else(|| self.log.positions().log_end.offset),
        }
    }

    fn error(&self, action: &'static str, source: std::io::Error) -> LogError {
        LogError::Io { action, path: self.folder.path(), source }
    }
}

impl Drop for LogMove {
    fn drop(&mut self) {
        self.moving.lock().retain(|partition| *partition != self.partition);
    }
}

impl Copy {
    /// Makes it durable with its indexes.
    fn complete(&mut self, folder: &dyn Directory) -> Result<(), LogError> {
        self.of.copy_indexes(folder)?;
        self.of.copy_age(&*self.file)?;
        let synced = self.file.sync();
        synced.map_err(|error| self.of.error("copy", FileKind::Log, error))?;
        self.is_whole = true;
        Ok(())
    }
}

/// The right to move a partition, given back if the move does not begin.
struct Ticket<'a> {
    moving: &'a Arc<Mutex<Vec<TopicPartition>>>,
    partition: Option<TopicPartition>,
}

impl<'a> Ticket<'a> {
    fn take(
        moving: &'a Arc<Mutex<Vec<TopicPartition>>>,
        partition: &TopicPartition,
    ) -> Result<Self, LogDirError> {
        let mut held = moving.lock();
        if held.contains(partition) {
            return Err(LogDirError::Moving { partition: partition.clone() });
        }
        held.push(partition.clone());
        Ok(Self { moving, partition: Some(partition.clone()) })
    }

    /// The move has begun and gives it back itself.
    fn keep(mut self) -> Arc<Mutex<Vec<TopicPartition>>> {
        self.partition = None;
        Arc::clone(self.moving)
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if let Some(partition) = self.partition.take() {
            self.moving.lock().retain(|held| *held != partition);
        }
    }
}
