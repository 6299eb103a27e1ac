//! Work that nobody waits for and that comes rarely: what retention lets go, the files of what was deleted, producers that
//! were silent for long, files that nobody uses, on one thread; compaction (`cleaner.rs`) and moves between directories
//! (`mover.rs`) on threads of their own. Each job has a file of its own;
//! here is only when it runs.

mod cleaner;
mod deletion;
mod expiry;
mod mover;
mod retention;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ottla_network::RepeatsBy;
use parking_lot::{Condvar, Mutex};

use crate::config::StorageConfig;
use crate::context::Broker;

pub(crate) use cleaner::Cleaners;
pub use cleaner::{CleanerState, Uncleanable};
pub(crate) use mover::{Mover, Moving};
pub use retention::RetentionState;

/// How often silent producers are looked for (Kafka's `producer.id.expiration.check.interval.ms`).
const EXPIRY_INTERVAL: Duration = Duration::from_secs(600);
/// Files that could not be deleted are tried again after so long.
const DELETION_RETRY: Duration = Duration::from_secs(60);

/// How long a file or index is left alone before it is closed; twice as long at most.
const IDLE_FILES: Duration = Duration::from_secs(60);

/// What background work has done since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BackgroundState {
    /// What retention let go.
    pub retention: RetentionState,
    /// What was compacted.
    pub cleaner: CleanerState,
}

/// The timetable. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Background {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    timetable: Mutex<Timetable>,
    changed: Condvar,
    retention: Mutex<RetentionState>,
    deletion_failures: RepeatsBy<String>,
}

#[derive(Default)]
struct Timetable {
    stopping: bool,
    /// Something was deleted: when its files may go is to be looked up.
    has_deleted: bool,
}

/// When each job runs next.
struct Due {
    retention: Instant,
    expiry: Instant,
    idle_files: Instant,
    deletion: Option<Instant>,
}

impl Background {
    /// A topic was deleted, or segments were: their files go after their delay.
    pub(crate) fn schedule_deletion(&self) {
        self.shared.timetable.lock().has_deleted = true;
        self.shared.changed.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.shared.timetable.lock().stopping = true;
        self.shared.changed.notify_one();
    }

    /// Whether one more failure to delete in this directory is told, and how many were not.
    fn deletion_failure_due(&self, directory: &str) -> Option<u64> {
        self.shared.deletion_failures.due(directory.to_owned())
    }

    pub(crate) fn retention_state(&self) -> RetentionState {
        self.shared.retention.lock().clone()
    }

    /// Works off the timetable until it is stopped or the broker is gone.
    pub(crate) fn run(&self, broker: &Weak<Broker>, storage: &StorageConfig) {
        let begin = Instant::now();
        let mut retention = retention::Retention::default();
        let mut due = Due {
            retention: begin + storage.initial_delay,
            expiry: begin + EXPIRY_INTERVAL,
            idle_files: begin + IDLE_FILES,
            deletion: Some(begin),
        };
        while self.sleep_until(&due) {
            let Some(broker) = broker.upgrade() else { return };
            let now = Instant::now();
            if due.retention <= now {
                retention.pass(&broker, &self.shared.retention);
                due.retention = now + storage.retention_interval;
                due.deletion = Some(now);
            }
            if due.expiry <= now {
                expiry::expire_producers(&broker);
                due.expiry = now + EXPIRY_INTERVAL;
            }
            if due.idle_files <= now {
                let closed: usize = broker.log_dirs.iter().map(|held| held.dir.close_idle()).sum();
                tracing::trace!(closed, "idle files are closed");
                due.idle_files = now + IDLE_FILES;
            }
            let has_deleted = std::mem::take(&mut self.shared.timetable.lock().has_deleted);
            if has_deleted || due.deletion.is_some_and(|deletion| deletion <= now) {
                let again_at_the_soonest =
                    now + if deletion::purge(&broker) { Duration::ZERO } else { DELETION_RETRY };
                due.deletion = deletion::next(&broker, now).map(|next| next.max(again_at_the_soonest));
            }
        }
    }

    /// Sleeps until something is due; false when it is time to stop.
    fn sleep_until(&self, due: &Due) -> bool {
        let mut timetable = self.shared.timetable.lock();
        loop {
            if timetable.stopping {
                return false;
            }
            let next = due.retention.min(due.expiry).min(due.idle_files);
            let next = due.deletion.map_or(next, |deletion| deletion.min(next));
            if timetable.has_deleted || next <= Instant::now() {
                return true;
            }
            self.shared.changed.wait_until(&mut timetable, next);
        }
    }
}
