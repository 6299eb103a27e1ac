//! What has left the logs of a directory and waits for its time to be deleted: folders of deleted partitions and files of
//! segments. When that time is, the caller says; who still reads in them goes on. What is never deleted here is by the
//! next start.

use super::{LogDir, LogDirError};
use crate::disk_log::RemovedFiles;
use crate::io as disk;

/// Something to delete, and when.
#[derive(Debug)]
pub(super) struct Retired {
    pub(super) due_ms: i64,
    pub(super) what: RetiredFiles,
}

#[derive(Debug)]
pub(super) enum RetiredFiles {
    /// A folder with all that is in it.
    Folder(String),
    /// Files of a log that goes on.
    OfLog(RemovedFiles),
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Folders of partitions.
    pub folders: usize,
    /// Files of segments.
    pub files: usize,
}

impl LogDir {
    /// Takes files that left a log, to delete them once it is `due_ms`.
    pub fn retire(&self, files: RemovedFiles, due_ms: i64) {
        if !files.is_empty() {
            self.add_retired(RetiredFiles::OfLog(files), due_ms);
        }
    }

    /// When something is next to be deleted; none while nothing waits.
    #[must_use]
    pub fn next_deletion_ms(&self) -> Option<i64> {
        self.retired.lock().iter().map(|retired| retired.due_ms).min()
    }

    /// Deletes what is due. Waits for the disk.
    ///
    /// # Errors
    /// The first one of the disk; the rest is deleted all the same. A folder is tried again the next time.
    pub fn delete_due(&self, now_ms: i64) -> Result<Deleted, LogDirError> {
        let due: Vec<_> = self.retired.lock().extract_if(.., |retired| retired.due_ms <= now_ms).collect();
        let mut deleted = Deleted::default();
        let mut first = Ok(());
        for Retired { due_ms, what } in due {
            let result = match what {
                RetiredFiles::Folder(folder) => match disk::remove_folder_if_there(&*self.directory, &folder)
                {
                    Ok(()) => {
                        deleted.folders += 1;
                        Ok(())
                    }
                    Err(source) => {
                        let error = self.error("remove", &folder, source);
                        self.add_retired(RetiredFiles::Folder(folder), due_ms);
                        Err(error)
                    }
                },
                RetiredFiles::OfLog(files) => {
                    deleted.files += files.len();
                    files.delete()
                }
            };
            first = first.and(result);
        }
        first.map(|()| deleted).map_err(LogDirError::from)
    }

    pub(super) fn add_retired(&self, what: RetiredFiles, due_ms: i64) {
        self.retired.lock().push(Retired { due_ms, what });
    }
}
