//! The files of deleted partitions, and of segments that left their log: they got another name at once, and go when they
//! have had their time.

use ottla_storage::Deleted;

use crate::context::Broker;

/// Deletes what is due in every directory.
pub(crate) fn purge(broker: &Broker) {
    let now_ms = broker.clock.now_ms();
    for held in broker.log_dirs.iter() {
        match held.dir.delete_due(now_ms) {
            Ok(Deleted { folders: 0, files: 0 }) => {}
            Ok(Deleted { folders, files }) => {
                tracing::info!(directory = %held.dir.path().display(), folders, files, "deleted files removed")
            }
            Err(error) => {
                tracing::error!(directory = %held.dir.path().display(), %error, "deleted files not removed");
            }
        }
    }
}

/// Whether something still waits for its time.
pub(crate) fn is_pending(broker: &Broker) -> bool {
    broker.log_dirs.iter().any(|held| held.dir.next_deletion_ms().is_some())
}
