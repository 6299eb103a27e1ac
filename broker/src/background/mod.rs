//! One thread for work that nobody waits for and that comes rarely: the files of deleted topics, producers that were
//! silent for long. Each job has a file of its own; here is only when it runs.

mod deletion;
mod expiry;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::context::Broker;

/// How long the files of a deleted topic stay (`file.delete.delay.ms`, which cannot be changed yet).
pub(crate) const DELETION_DELAY: Duration = Duration::from_secs(60);
/// How often silent producers are looked for (Kafka's `producer.id.expiration.check.interval.ms`).
const EXPIRY_INTERVAL: Duration = Duration::from_secs(600);

/// The timetable. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Background {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    timetable: Mutex<Timetable>,
    changed: Condvar,
}

#[derive(Default)]
struct Timetable {
    stopping: bool,
    /// When the folders that were renamed last may go.
    deletion: Option<Instant>,
}

impl Background {
    /// A topic was deleted: its files go after the delay. A later one puts it off for both, so that each gets its time.
    pub(crate) fn schedule_deletion(&self) {
        self.shared.timetable.lock().deletion = Some(Instant::now() + DELETION_DELAY);
        self.shared.changed.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.shared.timetable.lock().stopping = true;
        self.shared.changed.notify_one();
    }

    /// Works off the timetable until it is stopped or the broker is gone.
    pub(crate) fn run(&self, broker: &Weak<Broker>) {
        // What an earlier run left behind has had its time.
        self.schedule_deletion();
        let mut expiry = Instant::now() + EXPIRY_INTERVAL;
        while self.sleep_until(expiry) {
            let Some(broker) = broker.upgrade() else { return };
            let now = Instant::now();
            if self.take_deletion(now) {
                deletion::purge(&broker);
                if deletion::is_pending(&broker) {
                    self.schedule_deletion();
                }
            }
            if expiry <= now {
                expiry::expire_producers(&broker);
                expiry = now + EXPIRY_INTERVAL;
            }
        }
    }

    /// Sleeps until something is due; false when it is time to stop.
    fn sleep_until(&self, expiry: Instant) -> bool {
        let mut timetable = self.shared.timetable.lock();
        loop {
            if timetable.stopping {
                return false;
            }
            let due = timetable.deletion.map_or(expiry, |deletion| deletion.min(expiry));
            if due <= Instant::now() {
                return true;
            }
            self.shared.changed.wait_until(&mut timetable, due);
        }
    }

    fn take_deletion(&self, now: Instant) -> bool {
        let deletion = &mut self.shared.timetable.lock().deletion;
        let due = deletion.is_some_and(|at| at <= now);
        if due {
            *deletion = None;
        }
        due
    }
}
