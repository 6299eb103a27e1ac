//! The files of deleted partitions, and of segments that left their log: they got another name at once, and go when they
//! have had their time.

use std::time::{Duration, Instant};

use ottla_storage::Deleted;

use crate::context::Broker;

/// Deletes what is due in every directory; says whether all of it could be.
pub(crate) fn purge(broker: &Broker) -> bool {
    let now_ms = broker.clock.now_ms();
    let mut all = true;
    for held in broker.log_dirs.iter() {
        match held.dir.delete_due(now_ms) {
            Ok(Deleted { folders: 0, files: 0 }) => {}
            Ok(Deleted { folders, files }) => {
                tracing::info!(directory = %held.dir.path().display(), folders, files, "deleted files removed")
            }
            Err(error) => {
                all = false;
                let directory = held.dir.path().display().to_string();
                if let Some(left_out) = broker.background.deletion_failure_due(&directory) {
                    tracing::error!(
                        directory,
                        %error,
                        left_out,
                        "files of deleted segments or topics could not be removed and keep their room; tried again"
                    );
                }
            }
        }
    }
    all
}

/// When something is next to be deleted.
pub(crate) fn next(broker: &Broker, now: Instant) -> Option<Instant> {
    let due_ms = broker.log_dirs.iter().filter_map(|held| held.dir.next_deletion_ms()).min()?;
    let wait_ms = due_ms.saturating_sub(broker.clock.now_ms());
    now.checked_add(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0)))
}
