//! One log directory: its lock, its identity, the logs in it, their checkpoint files, and how it starts and stops. It
//! decides nothing about topics: which partitions there should be, its caller knows.
//!
//! Life of a directory: [`LogDir::open`] (makes and locks it) → [`LogDir::properties`], [`LogDir::write_properties`] →
//! [`LogDir::load`] (takes the clean marker away, opens all logs in parallel) → create, remove, checkpoint →
//! [`LogDir::close`] (closes all logs, writes checkpoints and the clean marker).

mod clean_stop;
mod cleaned;
mod failure;
mod future;
mod load;
mod lock;
mod look;
mod name;
mod properties;
mod remove;
mod retain;
mod retired;

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
use retired::Retired;

pub use failure::DirectoryFailure;
pub(crate) use failure::Health;
pub use load::{LoadReport, LoadedLog};
pub use lock::is_locked;
use look::Place;
pub use look::VolumeSpace;
pub use name::TopicPartition;
pub use properties::MetaProperties;
pub use retain::{RetainedLog, RetentionReport};
pub use retired::Deleted;

/// Open files that a directory keeps, unless told otherwise: far below any usual limit of descriptors.
pub const OPEN_FILES_MAX: usize = 4096;

/// A directory with logs, locked against every other process.
#[derive(Debug)]
pub struct LogDir {
    path: PathBuf,
    directory: Arc<dyn Directory>,
    /// None on a disk that only this process has.
    _lock: Option<DirectoryLock>,
    /// Which folder the path led to when it was opened; none likewise.
    place: Option<Place>,
    shared: Arc<Shared>,
    clean_marker: Option<CleanMarker>,
    logs: Mutex<BTreeMap<TopicPartition, Arc<DiskLog>>>,
    /// Logs that could not be opened, whose entries in the checkpoints stay as they are.
    unopened: Mutex<BTreeMap<TopicPartition, Entries>>,
    /// What only waits to be deleted.
    retired: Mutex<Vec<Retired>>,
    /// Folders of copies of logs, on their way from another directory when the last run ended.
    futures: Mutex<Vec<(TopicPartition, String)>>,
    /// Logs that are about to appear here: their checkpoints must be there before them.
    arriving: Mutex<BTreeMap<TopicPartition, Entries>>,
    id: Mutex<Option<Uuid>>,
    /// A checkpoint is gathered and written in one go, so that none replaces a newer one.
    checkpointing: Mutex<()>,
    /// The checkpoint files may have entries of logs that are gone.
    has_stale_entries: AtomicBool,
    cleaned: Cleaned,
}

/// What the checkpoints say of a log.
#[derive(Debug, Clone, Copy)]
struct Entries {
    recovery_point: Offset,
    log_start: Option<Offset>,
    high_watermark: Option<Offset>,
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
    /// Two directories have a log of that name, as after a move that ended with a directory's failure.
    #[error(
        "{partition} lies both in {} and in {}: one of the two has to be removed by hand, that of the directory which failed last",
        first.display(), second.display()
    )]
    Twice {
        /// The partition.
        partition: TopicPartition,
        /// One directory.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// Two directories have the same id, as after one was copied.
    #[error("{} and {} have the same directory.id {id}", first.display(), second.display())]
    SameId {
        /// The id.
        id: Uuid,
        /// One directory.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// The log may lie in a directory that has failed.
    #[error("{} is offline: {failure}", path.display())]
    Offline {
        /// The directory.
        path: PathBuf,
        /// Why.
        failure: Arc<DirectoryFailure>,
    },
    /// The log is on its way to another directory already.
    #[error("{partition} is being moved")]
    Moving {
        /// The partition.
        partition: TopicPartition,
    },
    /// There is no directory at all.
    #[error("there is no log directory")]
    NoDirectory,
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
        std::fs::create_dir_all(path).map_err(error("create"))?;
        if let Some(above) = path.parent().filter(|above| is_new && !above.as_os_str().is_empty()) {
            PosixDirectory::new(above).sync().map_err(error("sync"))?;
        }
        let Some(lock) = DirectoryLock::take(path).map_err(error("lock"))? else {
            return Err(LogDirError::InUse { path: path.to_owned() });
        };
        let place = Place::of(path).map_err(error("open"))?;
        Self::over(directory, Some((lock, place)), open_files_max)
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
        of_system: Option<(DirectoryLock, Place)>,
        open_files_max: usize,
    ) -> Result<Self, LogDirError> {
        let (lock, place) = of_system.unzip();
        Ok(Self {
            path: directory.path(),
            clean_marker: properties::read_clean_marker(&*directory)?,
            cleaned: Cleaned::default(),
            directory,
            _lock: lock,
            place,
            shared: Shared::new(open_files_max),
            logs: Mutex::new(BTreeMap::new()),
            unopened: Mutex::new(BTreeMap::new()),
            retired: Mutex::new(Vec::new()),
            futures: Mutex::new(Vec::new()),
            arriving: Mutex::new(BTreeMap::new()),
            id: Mutex::new(None),
            checkpointing: Mutex::new(()),
            has_stale_entries: AtomicBool::new(false),
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
        let properties = properties::read_meta_properties(&*self.directory)?;
        *self.id.lock() = properties.as_ref().and_then(|properties| properties.directory_id);
        Ok(properties)
    }

    /// The directory's own id, once `meta.properties` was read or written.
    #[must_use]
    pub fn id(&self) -> Option<Uuid> {
        *self.id.lock()
    }

    /// Writes `meta.properties`, durably.
    ///
    /// # Errors
    /// Of the disk.
    pub fn write_properties(&self, properties: &MetaProperties) -> Result<(), LogDirError> {
        properties::write_meta_properties(&*self.directory, properties)?;
        *self.id.lock() = properties.directory_id;
        Ok(())
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
        if self.has_stale_entries.swap(false, Ordering::AcqRel) {
            // After a crash an earlier log's entries would be taken for the new one's.
            self.checkpoint()?;
        }
        if let Err(source) = folder.create() {
            // Where the directory itself has gone, nothing may be made in its place.
            let is_gone = source.kind() == io::ErrorKind::NotFound;
            let error = self.error("create", &name, source);
            return Err(if is_gone { self.shared.health.fail_with(error) } else { error }.into());
        }
        properties::write_partition_metadata(&*folder, topic_id)?;
        let kept = self.unopened.lock().get(partition).copied();
        let opening = LogOpening {
            directory: folder,
            config,
            is_clean: false,
            log_start: kept.and_then(|kept| kept.log_start).unwrap_or(Offset::ZERO),
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
    /// Of the disk. The directory is then offline.
    pub fn checkpoint(&self) -> Result<(), LogDirError> {
        let _in_turn = self.checkpointing.lock();
        let mut recovery_points = self.kept(|entry| Some(entry.recovery_point));
        let of_log = |(partition, log): (_, Arc<DiskLog>)| (partition, log.positions().recovery_point);
        recovery_points.extend(self.logs().into_iter().map(of_log));
        self.write_checkpoint(checkpoint::RECOVERY_POINTS, &recovery_points)?;
        self.write_log_starts()
    }

    /// Writes the log starts alone: after they were raised, and before anything relies on that. Waits for the disk.
    ///
    /// # Errors
    /// As [`LogDir::checkpoint`].
    pub fn checkpoint_log_starts(&self) -> Result<(), LogDirError> {
        let _in_turn = self.checkpointing.lock();
        self.write_log_starts()
    }

    /// Writes the high watermarks to their checkpoint file. Waits for the disk.
    ///
    /// # Errors
    /// As [`LogDir::checkpoint`].
    pub fn checkpoint_high_watermarks(&self, marks: &[(TopicPartition, Offset)]) -> Result<(), LogDirError> {
        let _in_turn = self.checkpointing.lock();
        let mut all = self.kept(|entry| entry.high_watermark);
        all.extend_from_slice(marks);
        self.write_checkpoint(checkpoint::HIGH_WATERMARKS, &all)
    }

    /// Why the directory is offline, if it is.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<DirectoryFailure>> {
        self.shared.health.failure().cloned()
    }

    /// Takes the directory offline for this reason, and returns the error to answer. Errors that say nothing of the disk
    /// pass.
    pub fn fail(&self, error: LogDirError) -> LogDirError {
        match error {
            LogDirError::Log(cause) => self.shared.health.fail_for(cause).into(),
            other => other,
        }
    }

    /// Closes the files and takes down the maps that nobody has used since this was last called; whoever needs one opens it
    /// again. Called now and then, so that an idle log holds none. Says how many there were.
    pub fn close_idle(&self) -> usize {
        self.shared.close_idle()
    }

    /// How many partitions are here, on their way, or could not be opened.
    #[must_use]
    pub fn held(&self) -> usize {
        self.logs.lock().len() + self.unopened.lock().len() + self.futures.lock().len()
    }

    pub(crate) fn unknown(&self, partition: &TopicPartition) -> LogDirError {
        LogDirError::Unknown { partition: partition.clone(), path: self.path() }
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
        // On a disk that only this process has, calls keep their order.
        let threads = if self._lock.is_some() {
            std::thread::available_parallelism()
        } else {
            Ok(NonZero::<usize>::MIN)
        };
        let threads = threads.map_or(1, NonZero::get);
        let closed = each_in_parallel(&logs, threads, |(_, log)| log.close(now_ms));
        for result in closed {
            result?;
        }
        self.checkpoint()?;
        if !self.was_clean() && !self.unopened.lock().is_empty() {
            tracing::warn!(path = %self.path.display(), "no clean stop: a log here was never recovered");
            return Ok(());
        }
        properties::write_clean_marker(&*self.directory, broker_epoch)?;
        if let Err(error) = self.remember(threads) {
            tracing::warn!(path = %self.path.display(), %error, "the next start opens every log");
        }
        Ok(())
    }

    fn write_log_starts(&self) -> Result<(), LogDirError> {
        let mut log_starts = self.kept(|entry| entry.log_start);
        for (partition, log) in self.logs() {
            let log_start = log.positions().log_start;
            if log_start > log.first_segment_base() {
                log_starts.push((partition, log_start));
            }
        }
        self.write_checkpoint(checkpoint::LOG_STARTS, &log_starts)
    }

    /// What stays in the checkpoints of logs that are not open.
    fn kept(&self, value: impl Fn(&Entries) -> Option<Offset>) -> Vec<(TopicPartition, Offset)> {
        let entry =
            |(partition, entries): (&TopicPartition, &Entries)| Some((partition.clone(), value(entries)?));
        let mut kept: Vec<_> = self.unopened.lock().iter().filter_map(entry).collect();
        kept.extend(self.arriving.lock().iter().filter_map(entry));
        kept
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
