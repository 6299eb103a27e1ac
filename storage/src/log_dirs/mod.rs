//! Several log directories as one set: which of them works, where a new partition goes, and a partition's way from one to
//! another. A directory that fails takes its own partitions with it and no others. It decides nothing about topics, and
//! says nothing to a controller: who holds the set does.
//!
//! Life of a set: [`LogDirs::open`] (locks every directory that can be used) → identity, by each [`LogDir`] →
//! [`LogDirs::load`] → place, move, remove → each [`LogDir::close`].

mod load;
mod moving;

use std::path::PathBuf;
use std::sync::Arc;

use ottla_model::Uuid;
use parking_lot::Mutex;

use crate::disk_log::DiskLog;
use crate::log::LogError;
use crate::log_dir::{DirectoryFailure, LogDir, LogDirError, TopicPartition};

pub use load::LogDirsReport;
pub use moving::{LogMove, MoveProgress};

/// Log directories, in the order of the configuration.
#[derive(Debug)]
pub struct LogDirs {
    dirs: Vec<Arc<LogDir>>,
    /// Those that could not even be opened.
    unusable: Vec<UnusableDir>,
    /// Partitions that are being moved.
    moving: Arc<Mutex<Vec<TopicPartition>>>,
}

/// A directory that could not be opened at the start. What it holds is offline.
#[derive(Debug, Clone)]
pub struct UnusableDir {
    /// Where it is, or should be.
    pub path: PathBuf,
    /// Why.
    pub failure: Arc<DirectoryFailure>,
}

impl LogDirs {
    /// Opens and locks the directories, each with its share of open files. One that cannot be used is told and stays
    /// out.
    ///
    /// # Errors
    /// [`LogDirError::InUse`] where another process has one of them: it may be about to change the same partitions. Or,
    /// where none can be used, why not the first.
    pub fn open(paths: &[PathBuf], open_files_max: usize) -> Result<Self, LogDirError> {
        let share = open_files_max / paths.len().max(1);
        let mut set = Self::of(Vec::new());
        for path in paths {
            match LogDir::open_with(path, share) {
                Ok(dir) => set.dirs.push(Arc::new(dir)),
                Err(LogDirError::Log(cause)) => {
                    tracing::error!(path = %path.display(), error = %cause, "a log directory cannot be used");
                    let failure = Arc::new(DirectoryFailure::new(cause));
                    set.unusable.push(UnusableDir { path: path.clone(), failure });
                }
                Err(error) => return Err(error),
            }
        }
        match set.unusable.first() {
            Some(dir) if set.dirs.is_empty() => {
                Err(LogError::DirectoryFailed(Arc::clone(&dir.failure)).into())
            }
            _ => Ok(set),
        }
    }

    /// Directories that are open already, as one set.
    #[must_use]
    pub fn of(dirs: Vec<Arc<LogDir>>) -> Self {
        Self { dirs, unusable: Vec::new(), moving: Arc::default() }
    }

    /// The directories that could be opened, in the order in which they were named. One may have failed since.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<LogDir>> {
        self.dirs.iter()
    }

    /// The directories that could not be opened.
    #[must_use]
    pub fn unusable(&self) -> &[UnusableDir] {
        &self.unusable
    }

    /// All directories that take no more reads and writes: where, which, and why. The id of one that could not be
    /// opened is not known.
    #[must_use]
    pub fn failed(&self) -> Vec<(PathBuf, Option<Uuid>, Arc<DirectoryFailure>)> {
        let unusable = self.unusable.iter().map(|dir| (dir.path.clone(), None, Arc::clone(&dir.failure)));
        let failed = self.dirs.iter().filter_map(|dir| Some((dir.path(), dir.id(), dir.failure()?)));
        unusable.chain(failed).collect()
    }

    /// Whether there is none left to go on with.
    #[must_use]
    pub fn have_all_failed(&self) -> bool {
        self.usable().next().is_none()
    }

    /// The directory with this id, whether it works or has failed since.
    #[must_use]
    pub fn by_id(&self, id: Uuid) -> Option<&Arc<LogDir>> {
        self.dirs.iter().find(|dir| dir.id() == Some(id))
    }

    /// A partition's log and the directory that it is in.
    #[must_use]
    pub fn find(&self, partition: &TopicPartition) -> Option<(&Arc<LogDir>, Arc<DiskLog>)> {
        self.dirs.iter().find_map(|dir| Some((dir, dir.log(partition)?)))
    }

    /// Where a partition's log is to be made: in the directory that the metadata names, else in the one with the fewest
    /// partitions; of several, the one that was named first.
    ///
    /// A log that was there before (`is_new` is false) is made anew only where it cannot lie in a directory that failed:
    /// it would come back empty, and the records with the directory.
    ///
    /// # Errors
    /// [`LogDirError::Offline`] where the log may lie in a failed directory, or no directory works.
    pub fn place(&self, assigned: Option<Uuid>, is_new: bool) -> Result<&Arc<LogDir>, LogDirError> {
        let named = assigned.and_then(|id| self.usable().find(|dir| dir.id() == Some(id)));
        if let Some(named) = named {
            return Ok(named);
        }
        let offline = |(path, _, failure)| LogDirError::Offline { path, failure };
        if !is_new && let Some(failed) = self.failed().into_iter().next() {
            return Err(offline(failed));
        }
        match self.usable().min_by_key(|dir| dir.held()) {
            Some(dir) => Ok(dir),
            None => Err(self.failed().into_iter().next().map_or(LogDirError::NoDirectory, offline)),
        }
    }

    fn usable(&self) -> impl Iterator<Item = &Arc<LogDir>> {
        self.dirs.iter().filter(|dir| dir.failure().is_none())
    }
}
