//! A running server as its owner sees it: addresses, counters, and the way to stop it. Stopping means: accept nobody,
//! read nothing more, answer what has been dispatched, close; what is left at the deadline is cut off.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::acceptor::ConnectionSlots;
use crate::admission::Admission;
use crate::metrics::{AcceptorMetrics, NetworkMeters, NetworkSnapshot, ReactorMetrics};

/// What the threads of a server are at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Serving,
    /// Until then connections may finish.
    Draining(Instant),
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShutdownReport {
    /// Connections that still had work at the deadline.
    pub cut_off: usize,
    /// Threads that panicked.
    pub threads_panicked: usize,
}

/// A running server. Dropping it stops the server at once.
#[derive(Debug)]
pub struct ServerHandle {
    addresses: Vec<(Arc<str>, SocketAddr)>,
    phase: watch::Sender<Phase>,
    acceptor: Option<JoinHandle<()>>,
    reactors: Vec<JoinHandle<usize>>,
    meters: NetworkMeters,
}

impl ServerHandle {
    pub(crate) fn new(
        addresses: Vec<(Arc<str>, SocketAddr)>,
        phase: watch::Sender<Phase>,
        admission: Admission,
        slots: Arc<ConnectionSlots>,
        acceptor_metrics: Arc<AcceptorMetrics>,
    ) -> Self {
        let meters = NetworkMeters::new(admission, slots, acceptor_metrics);
        Self { addresses, phase, acceptor: None, reactors: Vec::new(), meters }
    }

    pub(crate) fn add_reactor(&mut self, thread: JoinHandle<usize>, metrics: Arc<ReactorMetrics>) {
        self.reactors.push(thread);
        self.meters.add_reactor(metrics);
    }

    pub(crate) fn add_acceptor(&mut self, thread: JoinHandle<()>) {
        self.acceptor = Some(thread);
    }

    /// The listeners' names and addresses, in the order of the configuration.
    pub fn local_addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.addresses.iter().map(|(name, address)| (&**name, *address))
    }

    /// The counts of connections, whose limits can be changed.
    #[must_use]
    pub fn slots(&self) -> Arc<ConnectionSlots> {
        self.meters.slots()
    }

    /// The counters now.
    #[must_use]
    pub fn metrics(&self) -> NetworkSnapshot {
        self.meters.snapshot()
    }

    /// What the counters can be read from by others, also after the server has ended.
    #[must_use]
    pub fn meters(&self) -> NetworkMeters {
        self.meters.clone()
    }

    /// Begins to stop and returns at once: nobody is accepted any more, services are told to drain, idle connections
    /// close, those with requests in flight close once these are answered, the rest when the time is over. A second
    /// call may only shorten the time.
    pub fn begin_shutdown(&self, time_max: Duration) {
        let deadline = Instant::now() + time_max;
        self.phase.send_if_modified(|phase| match phase {
            Phase::Draining(earlier) if *earlier <= deadline => false,
            _ => {
                *phase = Phase::Draining(deadline);
                true
            }
        });
    }

    /// Waits until every thread has ended; for ever, if nobody begins a shutdown.
    #[must_use]
    pub fn join(mut self) -> ShutdownReport {
        self.join_threads()
    }

    /// Stops within this time and waits for it.
    pub fn shutdown(self, time_max: Duration) -> ShutdownReport {
        self.begin_shutdown(time_max);
        self.join()
    }

    fn join_threads(&mut self) -> ShutdownReport {
        let mut report = ShutdownReport::default();
        if self.acceptor.take().is_some_and(|acceptor| acceptor.join().is_err()) {
            report.threads_panicked += 1;
        }
        for reactor in self.reactors.drain(..) {
            match reactor.join() {
                Ok(cut_off) => report.cut_off += cut_off,
                Err(_) => report.threads_panicked += 1,
            }
        }
        report
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.begin_shutdown(Duration::ZERO);
        self.join_threads();
    }
}
