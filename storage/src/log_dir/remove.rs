//! Taking logs out of a directory. The folder gets another name at once, so that the topic can be made again; its files
//! go later, when the caller says so.

use ottla_model::Uuid;

use super::name::Farewell;
use super::{LogDir, LogDirError, TopicPartition, properties};

impl LogDir {
    /// Takes a deleted topic's partition away: its log takes no more writes, its folder becomes `…-delete`. The files go
    /// with [`LogDir::purge_removed`], or after the next start. Waits for the disk.
    ///
    /// # Errors
    /// [`LogDirError::Unknown`], or of the disk.
    pub fn remove_log(&self, partition: &TopicPartition) -> Result<(), LogDirError> {
        let folder = self.part_with(partition, Farewell::Deleted)?;
        self.removed.lock().push(folder);
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

    /// Deletes the files of all folders that were removed, by this run or an earlier one; returns how many folders.
    /// Waits for the disk.
    ///
    /// # Errors
    /// Of the disk; what is left is tried again the next time.
    pub fn purge_removed(&self) -> Result<usize, LogDirError> {
        let folders = std::mem::take(&mut *self.removed.lock());
        let mut purged = 0;
        for (number, folder) in folders.iter().enumerate() {
            if let Err(source) = self.directory.remove_folder(folder) {
                self.removed.lock().extend(folders.iter().skip(number).cloned());
                return Err(self.error("remove", folder, source).into());
            }
            purged += 1;
        }
        Ok(purged)
    }

    fn part_with(&self, partition: &TopicPartition, farewell: Farewell) -> Result<String, LogDirError> {
        let name = partition.to_string();
        let unknown = || LogDirError::Unknown { partition: partition.clone(), path: self.path() };
        let log = self.log(partition).ok_or_else(unknown)?;
        log.abandon();
        let id = properties::read_partition_metadata(&*self.directory.folder(&name)).ok().flatten();
        let folder = self.unused(farewell, partition, id.unwrap_or(Uuid::ZERO))?;
        let renamed = self.directory.rename(&name, &folder).and_then(|()| self.directory.sync());
        renamed.map_err(|source| self.error("rename", &name, source))?;
        self.logs.lock().remove(partition);
        self.forget_cleaned(partition)?;
        Ok(folder)
    }

    /// The folder's new name. One that is taken, as by an earlier folder that had no id either, counts its id up.
    fn unused(
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
