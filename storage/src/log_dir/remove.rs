//! Taking logs out of a directory. The folder gets another name at once, so that the topic can be made again; its files
//! go when they are due.

use std::sync::atomic::Ordering;

use ottla_model::Uuid;

use super::name::Farewell;
use super::retired::RetiredFiles;
use super::{LogDir, LogDirError, TopicPartition, properties};

impl LogDir {
    /// Takes a deleted topic's partition away: its log takes no more writes, its folder becomes `…-delete`. The files go
    /// with [`LogDir::delete_due`] once it is `due_ms`, or after the next start. Waits for the disk.
    ///
    /// # Errors
    /// [`LogDirError::Unknown`], or of the disk.
    pub fn remove_log(&self, partition: &TopicPartition, due_ms: i64) -> Result<(), LogDirError> {
        let folder = self.part_with(partition, Farewell::Deleted)?;
        self.add_retired(RetiredFiles::Folder(folder), due_ms);
        Ok(())
    }

    /// Takes a partition away that nobody claims: its folder becomes `…-stray` and is left to a person. Waits for the
    /// disk.
    ///
    /// # Errors
    /// As [`LogDir::remove_log`].
    pub fn set_aside(&self, partition: &TopicPartition) -> Result<(), LogDirError> {
        self.part_with(partition, Farewell::Stray).map(|_| ())
    }

    /// Forgets a log whose folder could not be renamed: it is another directory's by now.
    pub(crate) fn let_go(&self, partition: &TopicPartition) {
        if let Some(log) = self.logs.lock().remove(partition) {
            log.abandon();
        }
        self.has_stale_entries.store(true, Ordering::Release);
    }

    fn part_with(&self, partition: &TopicPartition, farewell: Farewell) -> Result<String, LogDirError> {
        let name = partition.to_string();
        let unknown = || LogDirError::Unknown { partition: partition.clone(), path: self.path() };
        let log = self.log(partition).ok_or_else(unknown)?;
        log.abandon();
        let folder = self.rename_away(&name, partition, farewell)?;
        self.logs.lock().remove(partition);
        self.has_stale_entries.store(true, Ordering::Release);
        self.forget_cleaned(partition)?;
        Ok(folder)
    }

    /// Gives a partition's folder, which may have any name, the one of its farewell, durably.
    pub(super) fn rename_away(
        &self,
        name: &str,
        partition: &TopicPartition,
        farewell: Farewell,
    ) -> Result<String, LogDirError> {
        let id = properties::read_partition_metadata(&*self.directory.folder(name)).ok().flatten();
        let folder = self.unused(farewell, partition, id.unwrap_or(Uuid::ZERO))?;
        let renamed = self.directory.rename(name, &folder).and_then(|()| self.directory.sync());
        renamed.map_err(|source| self.error("rename", name, source))?;
        Ok(folder)
    }

    /// The folder's new name. One that is taken, as by an earlier folder that had no id either, counts its id up.
    pub(super) fn unused(
        &self,
        farewell: Farewell,
        partition: &TopicPartition,
        id: Uuid,
    ) -> Result<String, LogDirError> {
        let entries = self.directory.list().map_err(|source| self.error("list", "", source))?;
        let mut id = u128::from_be_bytes(*id.as_bytes());
        loop {
            let folder = farewell.folder(partition, Uuid::from_bytes(id.to_be_bytes()));
            if entries.iter().all(|entry| entry.name != folder) {
                return Ok(folder);
            }
            id = id.wrapping_add(1);
        }
    }
}
