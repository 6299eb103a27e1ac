//! The thread that looks at the log directories every second: one that was removed, made read-only or filled up is known
//! without a write to it. Ends the broker where there is nothing left to serve from. Writes nothing.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ottla_storage::LogDir;
use parking_lot::{Condvar, Mutex};

use crate::context::Broker;
use crate::metadata_thread::Fault;
use crate::room::RoomRule;

/// The time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

type Told = Box<dyn FnOnce(Fault) + Send>;

/// Whom to tell that the broker cannot go on. Clones are the same one: it is told once, whoever does it.
#[derive(Clone)]
pub(crate) struct OnFault(Arc<Mutex<Option<Told>>>);

impl OnFault {
    pub(crate) fn new(told: impl FnOnce(Fault) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(told)))))
    }

    pub(crate) fn tell(&self, fault: Fault) {
        let told = self.0.lock().take();
        if let Some(told) = told {
            told(fault);
        }
    }
}

/// The thread.
pub(crate) struct DiskWatch {
    stop: Arc<Stop>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Stop {
    stopping: Mutex<bool>,
    changed: Condvar,
}

impl DiskWatch {
    /// Looks once, and then from time to time.
    pub(crate) fn start(
        broker: Arc<Broker>,
        metadata: Arc<LogDir>,
        on_fault: OnFault,
    ) -> Result<Self, std::io::Error> {
        let stop = Arc::new(Stop::default());
        let rule = RoomRule::of(broker.config.storage.free_bytes_min);
        broker.log_dirs.look(rule, &broker.partitions);
        let stopped = Arc::clone(&stop);
        let body = move || {
            while stopped.wait() {
                broker.log_dirs.look(rule, &broker.partitions);
                // Apart from the others it is looked at here.
                drop(metadata.look());
                if let Some(fault) = fault(&broker, &metadata) {
                    return on_fault.tell(fault);
                }
            }
        };
        let thread = thread::Builder::new().name("ottla-disks".to_owned()).spawn(body)?;
        Ok(Self { stop, thread })
    }

    pub(crate) fn stop(self) {
        *self.stop.stopping.lock() = true;
        self.stop.changed.notify_all();
        if self.thread.join().is_err() {
            tracing::error!("the thread that looks at the log directories panicked");
        }
    }
}

impl Stop {
    /// Waits for the next look; false when it is time to stop.
    fn wait(&self) -> bool {
        let until = Instant::now() + INTERVAL;
        let mut stopping = self.stopping.lock();
        while !*stopping {
            if self.changed.wait_until(&mut stopping, until).timed_out() {
                break;
            }
        }
        !*stopping
    }
}

/// Why the broker cannot go on, if it cannot.
fn fault(broker: &Broker, metadata: &LogDir) -> Option<Fault> {
    if let Some(failure) = metadata.failure() {
        return Some(Fault::MetadataDirectory(failure));
    }
    broker.log_dirs.have_all_failed().then_some(Fault::NoDirectory)
}
