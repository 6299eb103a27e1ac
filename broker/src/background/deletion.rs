//! The files of deleted partitions, which got another name when their topic was deleted.

use crate::context::Broker;

/// Removes the renamed folders of every directory.
pub(crate) fn purge(broker: &Broker) {
    for held in broker.log_dirs.iter() {
        match held.dir.purge_removed() {
            Ok(0) => {}
            Ok(folders) => {
                tracing::info!(directory = %held.dir.path().display(), folders, "deleted files removed")
            }
            Err(error) => {
                tracing::error!(directory = %held.dir.path().display(), %error, "deleted files not removed");
            }
        }
    }
}
