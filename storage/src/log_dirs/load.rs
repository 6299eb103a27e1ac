//! Opening all logs of all directories at a start. A directory whose own files do not read fails alone. A partition that
//! lies in two of them is no longer one log: only the interrupted end of a move says which is the right one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ottla_model::Uuid;

use super::LogDirs;
use crate::log::LogConfig;
use crate::log_dir::{LoadReport, LogDir, LogDirError, TopicPartition};

/// What a load of all directories found.
#[derive(Debug, Default)]
pub struct LogDirsReport {
    /// The directories that could be loaded, and their logs.
    pub loaded: Vec<(Arc<LogDir>, LoadReport)>,
    /// Partitions whose move to a directory was interrupted: to be begun anew by [`LogDirs::begin_move`], or given up by
    /// [`LogDir::drop_future`].
    pub interrupted: Vec<(TopicPartition, Arc<LogDir>)>,
}

impl LogDirs {
    /// Loads every directory as [`LogDir::load`] does. To be called once.
    ///
    /// # Errors
    /// [`LogDirError::Twice`] where a partition lies in two directories, [`LogDirError::SameId`] where two directories
    /// have one id: nothing was changed then, and a person decides. Where every directory fails, why the first did.
    pub fn load(
        &self,
        threads: usize,
        now_ms: i64,
        config: &(dyn Fn(&TopicPartition) -> LogConfig + Sync),
    ) -> Result<LogDirsReport, LogDirError> {
        self.check_ids()?;
        let known = self.settle_moved()?;
        if self.failed().is_empty() {
            self.adopt_orphans(&known)?;
        }
        let mut report = LogDirsReport::default();
        let mut first_error = None;
        for dir in self.usable() {
            match dir.load(threads, now_ms, config) {
                Ok(loaded) => report.loaded.push((Arc::clone(dir), loaded)),
                Err(error) => {
                    let error = dir.fail(error);
                    first_error.get_or_insert(error);
                }
            }
        }
        for (dir, _) in &report.loaded {
            report
                .interrupted
                .extend(dir.futures().into_iter().map(|partition| (partition, Arc::clone(dir))));
        }
        match first_error {
            Some(error) if report.loaded.is_empty() => Err(error),
            _ => Ok(report),
        }
    }

    fn check_ids(&self) -> Result<(), LogDirError> {
        let mut seen: HashMap<Uuid, &Arc<LogDir>> = HashMap::new();
        for dir in &self.dirs {
            let Some(id) = dir.id() else { continue };
            if let Some(other) = seen.insert(id, dir) {
                return Err(LogDirError::SameId { id, first: other.path(), second: dir.path() });
            }
        }
        Ok(())
    }

    /// Finishes moves that ended between their last two steps: where the copy that came has the note of it, the log that
    /// it came from goes. First everything is looked at, so that nothing changes where a person has to decide.
    fn settle_moved(&self) -> Result<HashSet<TopicPartition>, LogDirError> {
        let mut places: HashMap<TopicPartition, &Arc<LogDir>> = HashMap::new();
        let mut replaced = Vec::new();
        for dir in self.usable() {
            let found = match dir.partition_folders() {
                Ok(found) => found,
                Err(error) => {
                    dir.fail(error);
                    continue;
                }
            };
            for partition in found {
                let Some(other) = places.insert(partition.clone(), dir) else { continue };
                let gone = match (other.has_come(&partition)?, dir.has_come(&partition)?) {
                    (true, false) => dir,
                    (false, true) => other,
                    _ => {
                        return Err(LogDirError::Twice {
                            partition,
                            first: other.path(),
                            second: dir.path(),
                        });
                    }
                };
                if Arc::ptr_eq(gone, dir) {
                    places.insert(partition.clone(), other);
                }
                replaced.push((gone, partition));
            }
        }
        for (dir, partition) in replaced {
            let path = dir.path();
            tracing::warn!(%partition, path = %path.display(), "a move is completed: the log that was copied goes");
            dir.remove_folder_of(&partition)?;
            if let Some(kept) = places.get(&partition) {
                kept.forget_coming(&partition)?;
            }
        }
        Ok(places.into_keys().collect())
    }

    /// A copy whose log is nowhere, though every directory is there, is all that is left of its partition: it becomes the
    /// log, and is scanned. Of several the first one does.
    fn adopt_orphans(&self, known: &HashSet<TopicPartition>) -> Result<(), LogDirError> {
        let mut adopted = HashSet::new();
        for dir in self.usable() {
            for (partition, folder) in dir.future_folders()? {
                if !known.contains(&partition) && adopted.insert(partition.clone()) {
                    tracing::warn!(
                        %partition, path = %dir.path().display(),
                        "a copy becomes the log: there is no log that it could be copied from"
                    );
                    dir.adopt_future(&partition, &folder)?;
                }
            }
        }
        Ok(())
    }
}
