//! Tells that a log directory cannot be written or read, as when its disk is full: clients get no more than a code, and
//! thousands of requests may fail in a second.

use std::fmt;
use std::path::Path;

use ottla_storage::TopicPartition;

use ottla_network::Repeats;

/// The failures of one directory.
#[derive(Debug, Default)]
pub(crate) struct WriteErrors {
    writes: Repeats,
    checkpoints: Repeats,
    reads: Repeats,
    coordinators: Repeats,
}

impl WriteErrors {
    /// A write to one partition's log failed.
    pub(crate) fn of_partition(
        &self,
        directory: &Path,
        partition: &TopicPartition,
        error: &dyn fmt::Display,
    ) {
        if let Some(left_out) = self.writes.due() {
            let directory = directory.display();
            tracing::error!(
                %directory,
                %partition,
                %error,
                left_out,
                "records cannot be written: producers get error 56 until the disk has room or is mended; a directory \
                 that went offline comes back with a restart"
            );
        }
    }

    /// A coordinator's records were not written, for a reason that is not the disk's.
    pub(crate) fn of_coordinator(
        &self,
        partition: &TopicPartition,
        error: &dyn fmt::Display,
        what: &'static str,
    ) {
        if let Some(left_out) = self.coordinators.due() {
            tracing::error!(
                %partition,
                %error,
                left_out,
                "a coordinator's records were not appended, {what}: members and producers get an error"
            );
        }
    }

    /// A file of the directory itself could not be written.
    pub(crate) fn of_directory(&self, directory: &Path, what: &'static str, error: &dyn fmt::Display) {
        if let Some(left_out) = self.checkpoints.due() {
            tracing::error!(
                directory = %directory.display(),
                what,
                %error,
                left_out,
                "a checkpoint cannot be written: the next start has more to recover; look at the disk"
            );
        }
    }

    /// A partition's log could not be read.
    pub(crate) fn of_read(&self, directory: &Path, partition: &TopicPartition, error: &dyn fmt::Display) {
        if let Some(left_out) = self.reads.due() {
            tracing::error!(
                directory = %directory.display(),
                %partition,
                %error,
                left_out,
                "records cannot be read: consumers get an error; look at the disk, and at the file that is named"
            );
        }
    }
}
