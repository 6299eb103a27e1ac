//! One log directory: its lock, its identity, the logs in it, their checkpoint files, and how it starts and stops. It
//! decides nothing about topics: which partitions there should be, its caller knows.
//!
//! Life of a directory: [`LogDir::open`] (makes and locks it) → [`LogDir::properties`], [`LogDir::write_properties`] →
//! [`LogDir::load`] (takes the clean marker away, opens all logs in parallel) → create, remove, checkpoint →
//! [`LogDir::close`] (closes all logs, writes checkpoints and the clean marker).

mod cleaned;
mod failure;
mod load;
mod lock;
mod name;
mod properties;
mod remove;

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ottla_model::{Offset, Uuid};
use parking_lot::Mutex;

use crate::checkpoint;
use crate::disk_log::{self, DiskLog, Inspection, LogOpening, Recovery};
use crate::io::Directory;
use crate::io::posix::PosixDirectory;
use crate::log::{Log, LogConfig, LogError};
use crate::segment::Shared;
use cleaned::Cleaned;
use load::METADATA_FOLDER;
use lock::{DirectoryLock, LOCK_FILE};
use name::FolderName;
use properties::CleanMarker;

pub use failure::DirectoryFailure;
pub(crate) use failure::Health;
pub use load::{LoadReport, LoadedLog};
pub use name::TopicPartition;
pub use properties::MetaProperties;

/// Open files that a directory keeps, unless told otherwise: far below any usual limit of descriptors.
pub const OPEN_FILES_MAX: usize = 4096;

/// A directory with logs, locked against every other process.
#[derive(Debug)]
pub struct LogDir {
    path: PathBuf,
    directory: Arc<dyn Directory>,
    /// None on a disk that only this process has.
    _lock: Option<DirectoryLock>,
    shared: Arc<Shared>,
    clean_marker: Option<CleanMarker>,
    logs: Mutex<BTreeMap<TopicPartition, Arc<DiskLog>>>,
    /// Logs that could not be opened, with their recovery points, which stay as they are.
    unopened: Mutex<BTreeMap<TopicPartition, Offset>>,
    /// Folders that only wait for their files to be deleted.
    removed: Mutex<Vec<String>>,
    cleaned: Cleaned,
}

/// Why a log directory could not do as told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogDirError {
    /// Another process has the lock.
    #[error("{} is in use by another process, which may be a running Kafka broker", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// There is a log of that name already.
    #[error("{} exists already", path.display())]
    Exists {
        /// The partition's folder.
        path: PathBuf,
    },
    /// There is no log of that name.
    #[error("there is no log {partition} in {}", path.display())]
    Unknown {
        /// The partition.
        partition: TopicPartition,
        /// The directory.
        path: PathBuf,
    },
    /// A file or a log could not be used.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl LogDir {
    /// Makes the directory if it is missing, and locks it.
    ///
    /// # Errors
    /// [`LogDirError::InUse`] while another process, ours or Apache Kafka's, has it locked; or of the disk.
    pub fn open(path: &Path) -> Result<Self, LogDirError> {
        Self::open_with(path, OPEN_FILES_MAX)
    }

    /// As [`LogDir::open`], with a bound on the files that are kept open.
    ///
    /// # Errors
    /// As [`LogDir::open`].
    pub fn open_with(path: &Path, open_files_max: usize) -> Result<Self, LogDirError> {
        let directory: Arc<dyn Directory> = Arc::new(PosixDirectory::new(path));
        let error = |action| move |source| LogError::Io { action, path: path.to_owned(), source };
        let is_new = !path.exists();
        directory.create().map_err(error("create"))?;
        if let Some(above) = path.parent().filter(|above| is_new && !above.as_os_str().is_empty()) {
            PosixDirectory::new(above).sync().map_err(error("sync"))?;
        }
        let Some(lock) = DirectoryLock::take(path).map_err(error("lock"))? else {
            return Err(LogDirError::InUse { path: path.to_owned() });
        };
        Self::over(directory, Some(lock), open_files_max)
    }

    /// A directory on a disk that no other process sees, which needs no lock.
    ///
    /// # Errors
    /// Of the disk.
    #[cfg(any(test, feature = "test-util"))]
    pub fn open_unlocked(directory: Arc<dyn Directory>) -> Result<Self, LogDirError> {
        let path = directory.path();
        directory.create().map_err(|source| LogError::Io { action: "create", path, source })?;
        Self::over(directory, None, OPEN_FILES_MAX)
    }

    fn over(
        directory: Arc<dyn Directory>,
        lock: Option<DirectoryLock>,
        open_files_max: usize,
    ) -> Result<Self, LogDirError> {
        Ok(Self {
            path: directory.path(),
            clean_marker: properties::read_clean_marker(&*directory)?,
            cleaned: Cleaned::default(),
            directory,
            _lock: lock,
            shared: Shared::new(open_files_max),
            logs: Mutex::new(BTreeMap::new()),
            unopened: Mutex::new(BTreeMap::new()),
            removed: Mutex::new(Vec::new()),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// A folder inside, for files that are no log's.
    #[must_use]
    pub fn folder(&self, name: &str) -> Arc<dyn Directory> {
        self.directory.folder(name)
    }

    /// Whether nothing was ever stored here: `lost+found` and the lock file do not count.
    ///
    /// # Errors
    /// Of the disk.
    pub fn is_empty(&self) -> Result<bool, LogDirError> {
        let entries = self.directory.list().map_err(|source| self.error("list", "", source))?;
        Ok(entries.iter().all(|entry| entry.name == LOCK_FILE || entry.name == "lost+found"))
    }

    /// Whether there is a folder of this name.
    ///
    /// # Errors
    /// Of the disk.
    pub fn holds_folder(&self, name: &str) -> Result<bool, LogDirError> {
        let entries = self.directory.list().map_err(|source| self.error("list", "", source))?;
        Ok(entries.iter().any(|entry| entry.is_folder && entry.name == name))
    }

    /// Whether there is a folder of any partition, that of the cluster's metadata aside.
    ///
    /// # Errors
    /// Of the disk.
    pub fn holds_partitions(&self) -> Result<bool, LogDirError> {
        let entries = self.directory.list().map_err(|source| self.error("list", "", source))?;
        let is_log =
            |name: &str| name != METADATA_FOLDER && matches!(FolderName::parse(name), FolderName::Log(_));
        Ok(entries.iter().any(|entry| entry.is_folder && is_log(&entry.name)))
    }

    /// What `meta.properties` says, or none where there is no such file.
    ///
    /// # Errors
    /// Of the disk, or where the file is not one of version 1.
    pub fn properties(&self) -> Result<Option<MetaProperties>, LogDirError> {
        Ok(properties::read_meta_properties(&*self.directory)?)
    }

    /// Writes `meta.properties`, durably.
    ///
    /// # Errors
    /// Of the disk.
    pub fn write_properties(&self, properties: &MetaProperties) -> Result<(), LogDirError> {
        Ok(properties::write_meta_properties(&*self.directory, properties)?)
    }

    /// Whether the stop before this start was an orderly one.
    #[must_use]
    pub fn was_clean(&self) -> bool {
        self.clean_marker.is_some()
    }

    /// The broker epoch that the orderly stop before this start noted.
    #[must_use]
    pub fn previous_broker_epoch(&self) -> Option<i64> {
        self.clean_marker.and_then(|marker| marker.broker_epoch)
    }

    /// Makes a partition's folder, durably, and its empty log. A log whose folder is there already and that could not be
    /// opened before is tried once more, and scanned from its first byte.
    ///
    /// # Errors
    /// [`LogDirError::Exists`], or of the disk.
    pub fn create_log(
        &self,
        partition: &TopicPartition,
        topic_id: Uuid,
        config: LogConfig,
        now_ms: i64,
    ) -> Result<Arc<DiskLog>, LogDirError> {
        self.shared.health.check()?;
        let name = partition.to_string();
        let folder = self.directory.folder(&name);
        if self.log(partition).is_some() {
            return Err(LogDirError::Exists { path: folder.path() });
        }
        folder.create().map_err(|source| self.error("create", &name, source))?;
        properties::write_partition_metadata(&*folder, topic_id)?;
        let opening = LogOpening {
            directory: folder,
            config,
            is_clean: false,
            log_start: Offset::ZERO,
            recovery_point: Offset::ZERO,
            now_ms,
        };
        let (log, _) = DiskLog::open_shared(opening, Arc::clone(&self.shared))?;
        self.directory.sync().map_err(|source| self.error("sync", "", source))?;
        let log = Arc::new(log);
        self.unopened.lock().remove(partition);
        self.logs.lock().insert(partition.clone(), Arc::clone(&log));
        Ok(log)
    }

    /// Notes durably which topic an open log belongs to, where a stop while it was made left no note.
    ///
    /// # Errors
    /// [`LogDirError::Unknown`], or of the disk.
    pub fn claim(&self, partition: &TopicPartition, topic_id: Uuid) -> Result<(), LogDirError> {
        if self.log(partition).is_none() {
            return Err(LogDirError::Unknown { partition: partition.clone(), path: self.path() });
        }
        Ok(properties::write_partition_metadata(&*self.directory.folder(&partition.to_string()), topic_id)?)
    }

    /// Reads all batches of a log that is no topic's, and changes nothing: opening it cuts it at its first bad batch,
    /// which its owner may not want.
    ///
    /// # Errors
    /// Of the disk.
    pub fn inspect_internal(&self, folder: &str) -> Result<Inspection, LogDirError> {
        Ok(disk_log::inspect(&self.directory.folder(folder), &self.shared)?)
    }

    /// Opens or makes a log that is no topic's, as `__cluster_metadata-0` is. All its batches are checked, since nobody
    /// keeps a recovery point of it. The caller closes it, before the directory.
    ///
    /// # Errors
    /// Of the disk.
    pub fn open_internal(
        &self,
        folder: &str,
        config: LogConfig,
        now_ms: i64,
    ) -> Result<(DiskLog, Recovery), LogDirError> {
        let opening = LogOpening {
            directory: self.directory.folder(folder),
            config,
            is_clean: false,
            log_start: Offset::ZERO,
            recovery_point: Offset::ZERO,
            now_ms,
        };
        let opened = DiskLog::open_shared(opening, Arc::clone(&self.shared))?;
        // A log with records was opened before, and its folder made durable.
        if opened.0.positions().log_end.offset == Offset::ZERO {
            self.directory.sync().map_err(|source| self.error("sync", "", source))?;
        }
        Ok(opened)
    }

    /// A partition's log.
    #[must_use]
    pub fn log(&self, partition: &TopicPartition) -> Option<Arc<DiskLog>> {
        self.logs.lock().get(partition).cloned()
    }

    /// All logs, in order of their names.
    #[must_use]
    pub fn logs(&self) -> Vec<(TopicPartition, Arc<DiskLog>)> {
        self.logs.lock().iter().map(|(partition, log)| (partition.clone(), Arc::clone(log))).collect()
    }

    /// Writes the recovery points and log starts of all logs to their checkpoint files. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk. The directory then takes no more writes.
    pub fn checkpoint(&self) -> Result<(), LogDirError> {
        let logs = self.logs();
        let unopened = self.unopened.lock().clone();
        let mut recovery_points: Vec<_> = unopened.into_iter().collect();
        let mut log_starts = Vec::new();
        for (partition, log) in logs {
            let positions = log.positions();
            if positions.log_start > log.first_segment_base() {
                log_starts.push((partition.clone(), positions.log_start));
            }
            recovery_points.push((partition, positions.recovery_point));
        }
        self.write_checkpoint(checkpoint::RECOVERY_POINTS, &recovery_points)?;
        self.write_checkpoint(checkpoint::LOG_STARTS, &log_starts)
    }

    /// Writes the high watermarks to their checkpoint file. Waits for the disk.
    ///
    /// # Errors
    /// As [`LogDir::checkpoint`].
    pub fn checkpoint_high_watermarks(&self, marks: &[(TopicPartition, Offset)]) -> Result<(), LogDirError> {
        self.write_checkpoint(checkpoint::HIGH_WATERMARKS, marks)
    }

    /// Why the directory takes no more writes, if it does not.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<DirectoryFailure>> {
        self.shared.health.failure().cloned()
    }

    /// Closes all logs, a scoped thread a core, writes the checkpoints, and last the marker of an orderly stop: nothing
    /// may be written here after it. Waits for the disk. After an error there is no marker, and the next start recovers;
    /// nor is there one while a log that needed recovery could not be opened.
    ///
    /// # Errors
    /// The first one of any log, or of the directory.
    pub fn close(&self, broker_epoch: i64, now_ms: i64) -> Result<(), LogDirError> {
        self.shared.health.check()?;
        let logs = self.logs();
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let closed = each_in_parallel(&logs, threads, |(_, log)| log.close(now_ms));
        for result in closed {
            result?;
        }
        self.checkpoint()?;
        if !self.was_clean() && !self.unopened.lock().is_empty() {
            tracing::warn!(path = %self.path.display(), "no clean stop: a log here was never recovered");
            return Ok(());
        }
        Ok(properties::write_clean_marker(&*self.directory, broker_epoch)?)
    }

    fn write_checkpoint(
        &self,
        name: &'static str,
        offsets: &[(TopicPartition, Offset)],
    ) -> Result<(), LogDirError> {
        self.shared.health.check()?;
        let written = checkpoint::write_offsets(&*self.directory, name, offsets);
        written.map_err(|error| self.shared.health.fail_with(error).into())
    }

    fn error(&self, action: &'static str, name: &str, source: io::Error) -> LogError {
        LogError::Io { action, path: self.path.join(name), source }
    }
}

/// What `work` makes of each item, in order, with so many scoped threads.
fn each_in_parallel<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { return done };
            done.push((number, work(item)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for worker in workers {
            match worker.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
