//! Up to where each log of a directory was compacted, as `cleaner-offset-checkpoint` keeps it. Which log is compacted next
//! and what that does is decided elsewhere. The file is a help and no truth: where it says too little, or nothing that
//! can be read, records are compacted once more.

use std::collections::BTreeMap;

use ottla_model::Offset;
use parking_lot::Mutex;

use super::{LogDir, LogDirError, TopicPartition};
use crate::checkpoint;
use crate::io::Directory;
use crate::log::LogError;

/// The entries. The lock is held while the file is written, so that it never falls behind.
#[derive(Debug, Default)]
pub(super) struct Cleaned {
    offsets: Mutex<BTreeMap<TopicPartition, Offset>>,
}

impl Cleaned {
    /// Reads the file. One that is no checkpoint is told and counts as empty.
    pub(super) fn load(&self, directory: &dyn Directory) -> Result<(), LogError> {
        let entries = match checkpoint::read_offsets(directory, checkpoint::CLEANER_OFFSETS) {
            Ok(entries) => entries,
            Err(error @ LogError::Malformed { .. }) => {
                tracing::warn!(%error, "logs are compacted from their first record on");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        *self.offsets.lock() = entries.into_iter().collect();
        Ok(())
    }
}

impl LogDir {
    /// The first offset of a log that was never compacted; none where nothing was yet. It may lie outside of the log.
    #[must_use]
    pub fn cleaner_offset(&self, partition: &TopicPartition) -> Option<Offset> {
        self.cleaned.offsets.lock().get(partition).copied()
    }

    /// Notes durably up to where a log was compacted. Waits for the disk.
    ///
    /// # Errors
    /// Of the disk. The directory is then offline.
    pub fn set_cleaner_offset(&self, partition: &TopicPartition, offset: Offset) -> Result<(), LogDirError> {
        self.change_cleaned(|offsets| offsets.insert(partition.clone(), offset) != Some(offset))
    }

    /// Notes durably that a log was truncated: what lies at and above `end` was not compacted. Waits for the disk.
    ///
    /// # Errors
    /// As [`LogDir::set_cleaner_offset`].
    pub fn lower_cleaner_offset(&self, partition: &TopicPartition, end: Offset) -> Result<(), LogDirError> {
        self.change_cleaned(|offsets| match offsets.get_mut(partition) {
            Some(offset) if *offset > end => {
                *offset = end;
                true
            }
            _ => false,
        })
    }

    /// Forgets a log that has left the directory, so that the next one of its name is compacted from its start.
    pub(super) fn forget_cleaned(&self, partition: &TopicPartition) -> Result<(), LogDirError> {
        self.change_cleaned(|offsets| offsets.remove(partition).is_some())
    }

    fn change_cleaned(
        &self,
        change: impl FnOnce(&mut BTreeMap<TopicPartition, Offset>) -> bool,
    ) -> Result<(), LogDirError> {
        let mut offsets = self.cleaned.offsets.lock();
        if !change(&mut offsets) {
            return Ok(());
        }
        let entries: Vec<_> =
            offsets.iter().map(|(partition, offset)| (partition.clone(), *offset)).collect();
        self.write_checkpoint(checkpoint::CLEANER_OFFSETS, &entries)
    }
}
