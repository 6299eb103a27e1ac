//! What a directory has to do with logs that come from another one: the folder of the copy, and the note inside it that
//! says that it has replaced the log that it was copied from. How a log is copied is decided elsewhere.

use std::sync::Arc;

use ottla_model::Uuid;

use super::name::{Farewell, FolderName};
use super::retired::RetiredFiles;
use super::{Entries, LogDir, LogDirError, TopicPartition, properties};
use crate::disk_log::{DiskLog, LogOpening};
use crate::io as disk;
use crate::io::Directory;
use crate::log::{Log, LogConfig};

/// In a partition's folder: it was moved here, and the log that it was copied from is void. Kafka does not look at it.
const NOTE: &str = "moved-here";

/// A copy that did not become the log.
#[derive(Debug)]
pub(crate) struct FailedArrival {
    pub(crate) error: LogDirError,
    /// It never will, so that the log that it was copied from may go on.
    pub(crate) is_undone: bool,
}

impl LogDir {
    /// The partitions whose copies were on their way here when the last run ended.
    #[must_use]
    pub fn futures(&self) -> Vec<TopicPartition> {
        self.futures.lock().iter().map(|(partition, _)| partition.clone()).collect()
    }

    /// Removes what there is of copies of a log; says whether there was something. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk.
    pub fn drop_future(&self, partition: &TopicPartition) -> Result<bool, LogDirError> {
        let dropped: Vec<_> = self.futures.lock().extract_if(.., |(of, _)| of == partition).collect();
        for (partition, folder) in &dropped {
            if let Err(source) = disk::remove_folder_if_there(&*self.directory, folder) {
                self.futures.lock().push((partition.clone(), folder.clone()));
                return Err(self.error("remove", folder, source).into());
            }
        }
        Ok(!dropped.is_empty())
    }

    /// Makes the folder for a copy.
    pub(crate) fn begin_future(
        &self,
        partition: &TopicPartition,
        topic_id: Option<Uuid>,
    ) -> Result<(String, Arc<dyn Directory>), LogDirError> {
        self.shared.health.check()?;
        self.drop_future(partition)?;
        let name = self.unused(Farewell::Future, partition, topic_id.unwrap_or(Uuid::ZERO))?;
        let folder = self.directory.folder(&name);
        folder.create().map_err(|source| self.error("create", &name, source))?;
        self.futures.lock().push((partition.clone(), name.clone()));
        Ok((name, folder))
    }

    /// Makes a copy, in which nothing is missing and everything is durable, the partition's log: from here on it counts,
    /// and the one that it was copied from is void.
    pub(crate) fn complete_future(
        &self,
        partition: &TopicPartition,
        folder: &str,
        source: &LogDir,
        config: LogConfig,
        now_ms: i64,
    ) -> Result<Arc<DiskLog>, FailedArrival> {
        let Some(origin) = source.log(partition) else {
            return Err(FailedArrival { error: source.unknown(partition), is_undone: true });
        };
        let positions = origin.positions();
        let entries = Entries {
            recovery_point: positions.log_end.offset,
            log_start: Some(positions.log_start),
            high_watermark: None,
        };
        self.arriving.lock().insert(partition.clone(), entries);
        let arrived = self.arrive(partition, folder, source, config, now_ms, entries);
        if let Ok(log) = &arrived {
            // It may have been raised meanwhile, and a log that is not written is not asked to raise it.
            let raised = log.raise_log_start(origin.positions().log_start);
            debug_assert!(raised.is_ok(), "both logs end at the same offset");
            self.logs.lock().insert(partition.clone(), Arc::clone(log));
            self.futures.lock().retain(|(_, known)| known != folder);
        }
        self.arriving.lock().remove(partition);
        arrived.map_err(|error| {
            let undone = self.undo_arrival(partition, folder, now_ms);
            FailedArrival { error, is_undone: undone.is_ok() }
        })
    }

    /// The next start must not take the copy for the log, to which others may append from here on.
    fn undo_arrival(&self, partition: &TopicPartition, folder: &str, now_ms: i64) -> Result<(), LogDirError> {
        let name = partition.to_string();
        if !self.holds_folder(&name)? {
            return self.directory.sync().map_err(|source| self.error("sync", "", source).into());
        }
        let gone = self.rename_away(&name, partition, Farewell::Deleted)?;
        self.futures.lock().retain(|(_, known)| known != folder);
        self.add_retired(RetiredFiles::Folder(gone), now_ms);
        Ok(())
    }

    /// The steps of an arrival, each durable before the next: checkpoints, note, name.
    fn arrive(
        &self,
        partition: &TopicPartition,
        folder: &str,
        source: &LogDir,
        config: LogConfig,
        now_ms: i64,
        entries: Entries,
    ) -> Result<Arc<DiskLog>, LogDirError> {
        let name = partition.to_string();
        self.checkpoint()?;
        if let Some(cleaned) = source.cleaner_offset(partition) {
            self.set_cleaner_offset(partition, cleaned)?;
        }
        let note = format!("from {}\n", source.path().display());
        let noted = disk::replace(&*self.directory.folder(folder), NOTE, note.as_bytes());
        noted.map_err(|source| self.error("write", &format!("{folder}/{NOTE}"), source))?;
        let renamed = self.directory.rename(folder, &name).and_then(|()| self.directory.sync());
        renamed.map_err(|source| self.error("rename", folder, source))?;
        let opening = LogOpening {
            directory: self.directory.folder(&name),
            config,
            is_clean: true,
            log_start: entries.log_start.unwrap_or_default(),
            recovery_point: entries.recovery_point,
            now_ms,
        };
        let (log, _) = DiskLog::open_shared(opening, Arc::clone(&self.shared))?;
        Ok(Arc::new(log))
    }

    /// The folders of all partitions that are here.
    pub(crate) fn partition_folders(&self) -> Result<Vec<TopicPartition>, LogDirError> {
        let entries = self.directory.list().map_err(|source| self.error("list", "", source))?;
        let partition = |name: &str| match FolderName::parse(name) {
            FolderName::Log(partition) if name != super::load::METADATA_FOLDER => Some(partition),
            _ => None,
        };
        Ok(entries
            .iter()
            .filter(|entry| entry.is_folder)
            .filter_map(|entry| partition(&entry.name))
            .collect())
    }

    /// The folders of copies that are here, whosever.
    pub(crate) fn future_folders(&self) -> Result<Vec<(TopicPartition, String)>, LogDirError> {
        let entries = self.directory.list().map_err(|source| self.error("list", "", source))?;
        let future = |name: String| match FolderName::parse(&name) {
            FolderName::Future(partition) => Some((partition, name)),
            _ => None,
        };
        Ok(entries
            .into_iter()
            .filter(|entry| entry.is_folder)
            .filter_map(|entry| future(entry.name))
            .collect())
    }

    /// Gives a copy the name of its log, which does not exist.
    pub(crate) fn adopt_future(&self, partition: &TopicPartition, folder: &str) -> Result<(), LogDirError> {
        let renamed =
            self.directory.rename(folder, &partition.to_string()).and_then(|()| self.directory.sync());
        Ok(renamed.map_err(|source| self.error("rename", folder, source))?)
    }

    /// Whether a partition's folder says that it was moved here.
    pub(crate) fn has_come(&self, partition: &TopicPartition) -> Result<bool, LogDirError> {
        let name = partition.to_string();
        let note = disk::read_named(&*self.directory.folder(&name), NOTE);
        note.map(|note| note.is_some()).map_err(|source| self.error("read", &name, source).into())
    }

    /// The log that it was moved from is gone, so that the note says nothing more.
    pub(crate) fn forget_coming(&self, partition: &TopicPartition) -> Result<(), LogDirError> {
        let name = partition.to_string();
        let folder = self.directory.folder(&name);
        let removed = disk::remove_if_there(&*folder, NOTE).and_then(|()| folder.sync());
        removed.map_err(|source| self.error("remove", &format!("{name}/{NOTE}"), source).into())
    }

    /// Takes the folder of a partition away whose log is not open: it was moved to another directory.
    pub(crate) fn remove_folder_of(&self, partition: &TopicPartition) -> Result<(), LogDirError> {
        self.rename_away(&partition.to_string(), partition, Farewell::Deleted).map(|_| ())
    }

    /// The topic's id as the partition's folder has it.
    pub(crate) fn topic_id_of(&self, partition: &TopicPartition) -> Option<Uuid> {
        let folder = self.directory.folder(&partition.to_string());
        properties::read_partition_metadata(&*folder).ok().flatten()
    }
}
