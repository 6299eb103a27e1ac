//! The log directories of this broker, each with its flusher's queue, and the choice among them for a new partition.
//! What is in a directory is storage's affair.

use std::sync::Arc;

use ottla_model::Uuid;
use ottla_storage::LogDir;

use crate::flusher::FlushQueue;

/// A directory with the queue of its flusher.
pub(crate) struct HeldDir {
    pub(crate) dir: Arc<LogDir>,
    pub(crate) id: Option<Uuid>,
    pub(crate) queue: Arc<FlushQueue>,
}

/// All log directories, in the order of the configuration.
pub(crate) struct LogDirs {
    dirs: Vec<HeldDir>,
}

impl LogDirs {
    pub(crate) fn new(dirs: Vec<(Arc<LogDir>, Option<Uuid>)>) -> Self {
        let held = |(dir, id)| HeldDir { dir, id, queue: Arc::default() };
        Self { dirs: dirs.into_iter().map(held).collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeldDir> {
        self.dirs.iter()
    }

    /// Where a new partition goes: the directory that the metadata names, else the one with fewest partitions. Only
    /// one that takes writes.
    pub(crate) fn place(&self, assigned: Option<Uuid>) -> Option<&HeldDir> {
        let usable = || self.dirs.iter().filter(|held| held.dir.failure().is_none());
        let named = usable().find(|held| held.id.is_some() && held.id == assigned);
        named.or_else(|| usable().min_by_key(|held| held.dir.log_count()))
    }
}
