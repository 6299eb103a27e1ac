//! The log directories of this broker, each with its flusher's queue, and the choice among them for a new partition.
//! What is in a directory is storage's affair.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ottla_model::Uuid;
use ottla_storage::LogDir;

use crate::flusher::FlushQueue;

/// A directory with the queue of its flusher.
pub(crate) struct HeldDir {
    pub(crate) dir: Arc<LogDir>,
    pub(crate) id: Option<Uuid>,
    pub(crate) queue: Arc<FlushQueue>,
    /// How many partitions are held in it.
    partitions: AtomicUsize,
}

/// All log directories, in the order of the configuration.
pub(crate) struct LogDirs {
    dirs: Vec<HeldDir>,
}

impl HeldDir {
    /// A partition's log was made or opened here.
    pub(crate) fn count_in(&self) {
        self.partitions.fetch_add(1, Ordering::Relaxed);
    }

    /// A partition's log has left.
    pub(crate) fn count_out(&self) {
        self.partitions.fetch_sub(1, Ordering::Relaxed);
    }

    fn partitions(&self) -> usize {
        self.partitions.load(Ordering::Relaxed)
    }
}

impl LogDirs {
    pub(crate) fn new(dirs: Vec<(Arc<LogDir>, Option<Uuid>)>) -> Self {
        let held = |(dir, id)| HeldDir { dir, id, queue: Arc::default(), partitions: AtomicUsize::new(0) };
        Self { dirs: dirs.into_iter().map(held).collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeldDir> {
        self.dirs.iter()
    }

    /// The one of these that a partition's directory is.
    pub(crate) fn find(&self, dir: &Arc<LogDir>) -> Option<&HeldDir> {
        self.dirs.iter().find(|held| Arc::ptr_eq(&held.dir, dir))
    }

    /// Where a new partition goes: the directory that the metadata names, else the one with fewest partitions. Only
    /// one that takes writes.
    pub(crate) fn place(&self, assigned: Option<Uuid>) -> Option<&HeldDir> {
        let usable = || self.dirs.iter().filter(|held| held.dir.failure().is_none());
        let named = usable().find(|held| held.id.is_some() && held.id == assigned);
        named.or_else(|| usable().min_by_key(|held| held.partitions()))
    }
}
