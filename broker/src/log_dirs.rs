//! The log directories of this broker as storage's set, each with what its writers share: the queue of its flusher and
//! whether it has room. What is in a directory, and how a log gets from one to another, is storage's affair.

use std::path::PathBuf;
use std::sync::Arc;

use ottla_model::Uuid;
use ottla_storage::{LogDir, LogDirError, LogDirsReport, LogMove, TopicPartition, VolumeSpace};
use parking_lot::Mutex;

use crate::flusher::FlushQueue;
use crate::partition_map::PartitionMap;
use crate::room::RoomRule;

/// A directory with what its writers share.
pub(crate) struct HeldDir {
    pub(crate) dir: Arc<LogDir>,
    pub(crate) queue: Arc<FlushQueue>,
    /// As it was last looked at.
    space: Mutex<Option<VolumeSpace>>,
    failure_told: Mutex<bool>,
    /// Logs that are about to be made here, so that of several made at once each counts.
    coming: Mutex<usize>,
}

/// A directory as it is described to others.
pub(crate) struct DirState<'a> {
    pub(crate) path: PathBuf,
    /// None where it is offline.
    pub(crate) held: Option<&'a HeldDir>,
    pub(crate) space: Option<VolumeSpace>,
}

/// All log directories, in the order of the configuration.
pub(crate) struct LogDirs {
    set: ottla_storage::LogDirs,
    dirs: Vec<HeldDir>,
    /// The paths as they were configured, those that could not be opened among them.
    paths: Vec<PathBuf>,
}

/// A place for a log that is to be made. The log counts there from now on, until this is dropped; by then it is there.
pub(crate) struct Placed<'a> {
    pub(crate) held: &'a HeldDir,
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        *self.held.coming.lock() -= 1;
    }
}

impl HeldDir {
    /// As it was last looked at.
    pub(crate) fn space(&self) -> Option<VolumeSpace> {
        *self.space.lock()
    }
}

impl LogDirs {
    /// A set that is open. `paths` are those of the configuration.
    pub(crate) fn new(set: ottla_storage::LogDirs, paths: Vec<PathBuf>) -> Self {
        let held = |dir: &Arc<LogDir>| HeldDir {
            dir: Arc::clone(dir),
            queue: Arc::default(),
            space: Mutex::default(),
            failure_told: Mutex::new(false),
            coming: Mutex::new(0),
        };
        let dirs = set.iter().map(held).collect();
        Self { set, dirs, paths }
    }

    /// The directories that could be opened. One may have failed since.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeldDir> {
        self.dirs.iter()
    }

    /// Every directory of the configuration, in its order.
    pub(crate) fn states(&self) -> impl Iterator<Item = DirState<'_>> {
        self.paths.iter().map(|path| {
            let held = self.dirs.iter().find(|held| held.dir.path() == *path);
            let held = held.filter(|held| held.dir.failure().is_none());
            let space = held.and_then(HeldDir::space);
            DirState { path: std::path::absolute(path).unwrap_or_else(|_| path.clone()), held, space }
        })
    }

    /// The one of these that a partition's directory is.
    pub(crate) fn find(&self, dir: &Arc<LogDir>) -> Option<&HeldDir> {
        self.dirs.iter().find(|held| Arc::ptr_eq(&held.dir, dir))
    }

    /// Loads the logs of every directory; one that fails at it is offline, and the others go on.
    pub(crate) fn load(
        &self,
        threads: usize,
        now_ms: i64,
        config: &(dyn Fn(&TopicPartition) -> ottla_storage::LogConfig + Sync),
    ) -> Result<LogDirsReport, LogDirError> {
        self.set.load(threads, now_ms, config)
    }

    /// Where a partition's log is to be made: the directory that the metadata names, else the one with fewest logs. The
    /// place is taken with the answer, so that logs made at the same time spread.
    ///
    /// # Errors
    /// [`LogDirError::Offline`] where a log that was there before may lie in a failed directory, or none works.
    pub(crate) fn place(&self, assigned: Option<Uuid>, is_new: bool) -> Result<Placed<'_>, LogDirError> {
        // Storage refuses what may not be made; among several that may hold it the choice is made here, where what is
        // about to come is known.
        let chosen = self.set.place(assigned, is_new)?;
        let is_named = chosen.id().is_some() && chosen.id() == assigned;
        let mut usable: Vec<_> =
            self.dirs.iter().filter(|held| held.dir.failure().is_none()).map(|held| (held, 0)).collect();
        if is_named {
            usable.retain(|(held, _)| Arc::ptr_eq(&held.dir, chosen));
        }
        // Every count is taken under the locks of all, in one order, so that two callers cannot both see the same least.
        let mut locks: Vec<_> = usable.iter().map(|(held, _)| held.coming.lock()).collect();
        for ((held, load), coming) in usable.iter_mut().zip(&locks) {
            *load = held.dir.held() + **coming;
        }
        let least = usable.iter().enumerate().min_by_key(|(_, (_, load))| *load);
        let Some((number, (held, _))) = least else { return Err(LogDirError::NoDirectory) };
        if let Some(coming) = locks.get_mut(number) {
            **coming += 1;
        }
        Ok(Placed { held })
    }

    /// Begins to move a partition to a directory.
    ///
    /// # Errors
    /// As storage's.
    pub(crate) fn begin_move(
        &self,
        partition: &TopicPartition,
        target: &HeldDir,
    ) -> Result<LogMove, LogDirError> {
        let id = target.dir.id().ok_or(LogDirError::NoDirectory)?;
        self.set.begin_move(partition, id)
    }

    /// Whether none is left to go on with.
    pub(crate) fn have_all_failed(&self) -> bool {
        self.set.have_all_failed()
    }

    /// Looks at every directory: one that is gone, read-only or full is known then, whether somebody writes or not.
    /// Waits for disks. Says which directories were found failed for the first time.
    pub(crate) fn look(&self, rule: RoomRule, partitions: &PartitionMap) -> usize {
        let mut failed = 0;
        for held in &self.dirs {
            match held.dir.look() {
                Ok(space) => {
                    *held.space.lock() = space;
                    if let Some(space) = space {
                        held.queue.room.set(
                            rule.judge(space, held.queue.room.is_short()),
                            space,
                            &held.dir.path(),
                        );
                    }
                }
                Err(_) if !std::mem::replace(&mut *held.failure_told.lock(), true) => {
                    failed += 1;
                    // Who waits for a write or for records there learns of it now.
                    for partition in partitions.in_directory(&held.dir) {
                        partition.waiters().moved(partition.key());
                    }
                }
                Err(_) => {}
            }
        }
        failed
    }
}
