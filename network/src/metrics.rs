//! What the network counts: one struct of plain counters a reactor, moved by that reactor alone, added up when
//! somebody asks. It names nothing; the broker exports them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::acceptor::ConnectionSlots;
use crate::admission::Admission;
use crate::connection::End;
use crate::repeats::Repeats;

/// One reactor's counters. Relaxed: each stands for itself.
#[derive(Debug, Default)]
pub(crate) struct ReactorMetrics {
    pub(crate) opened: AtomicU64,
    pub(crate) ended: [AtomicU64; End::COUNT],
    pub(crate) frames: AtomicU64,
    pub(crate) bytes_in: AtomicU64,
    pub(crate) replies: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) file_bytes_out: AtomicU64,
    pub(crate) cold_file_steps: AtomicU64,
    pub(crate) admission_waits: AtomicU64,
    /// What clients can make happen as often as they like is told now and then.
    pub(crate) file_failures: Repeats,
    pub(crate) panics: Repeats,
}

/// Counters that belong to no reactor.
#[derive(Debug, Default)]
pub(crate) struct AcceptorMetrics {
    pub(crate) refused_per_ip: AtomicU64,
    pub(crate) accept_failures: AtomicU64,
}

/// Adds to a counter that this thread alone writes: a load and a store, no locked instruction.
pub(crate) fn add(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

/// The counters of a server, for whoever reads them now and then. Clones read the same ones.
#[derive(Debug, Clone)]
pub struct NetworkMeters {
    admission: Admission,
    slots: Arc<ConnectionSlots>,
    acceptor: Arc<AcceptorMetrics>,
    reactors: Vec<Arc<ReactorMetrics>>,
}

impl NetworkMeters {
    pub(crate) fn new(
        admission: Admission,
        slots: Arc<ConnectionSlots>,
        acceptor: Arc<AcceptorMetrics>,
    ) -> Self {
        Self { admission, slots, acceptor, reactors: Vec::new() }
    }

    pub(crate) fn add_reactor(&mut self, metrics: Arc<ReactorMetrics>) {
        self.reactors.push(metrics);
    }

    /// The counts of connections, whose limits can be changed.
    pub(crate) fn slots(&self) -> Arc<ConnectionSlots> {
        Arc::clone(&self.slots)
    }

    /// The counters now.
    #[must_use]
    pub fn snapshot(&self) -> NetworkSnapshot {
        let mut sums = NetworkSnapshot {
            connections_open: self.slots.open() as u64,
            connections_refused_per_ip: self.acceptor.refused_per_ip.load(Ordering::Relaxed),
            accept_failures: self.acceptor.accept_failures.load(Ordering::Relaxed),
            request_memory_bytes: self.admission.taken() as u64,
            ..NetworkSnapshot::default()
        };
        for metrics in &self.reactors {
            sums.add_reactor(metrics);
        }
        sums
    }
}

/// The sums at one moment, since the server's start unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkSnapshot {
    /// Connections open now, those on their way to a reactor included.
    pub connections_open: u64,
    /// Connections that a reactor took over.
    pub connections_opened: u64,
    /// Connections that ended, by [`End::index`].
    pub connections_ended: [u64; End::COUNT],
    /// Connections closed when accepted, since their address had too many.
    pub connections_refused_per_ip: u64,
    /// Failed attempts to accept, for instance for want of descriptors.
    pub accept_failures: u64,
    /// Frames dispatched.
    pub frames: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Replies sent or being sent.
    pub replies: u64,
    /// Bytes sent, those of files included.
    pub bytes_out: u64,
    /// Bytes sent from files by `sendfile`.
    pub file_bytes_out: u64,
    /// Pieces of files that were not in the page cache and went through the blocking pool.
    pub cold_file_steps: u64,
    /// Frames that waited for a share of the memory budget.
    pub admission_waits: u64,
    /// Bytes of the memory budget taken now, or kept for the frame that waits first.
    pub request_memory_bytes: u64,
}

impl NetworkSnapshot {
    /// Connections that ended in this way.
    #[must_use]
    pub fn ended(&self, end: End) -> u64 {
        self.connections_ended.get(end.index()).copied().unwrap_or_default()
    }

    /// Connections that ended in any way.
    #[must_use]
    pub fn ended_total(&self) -> u64 {
        self.connections_ended.iter().sum()
    }

    pub(crate) fn add_reactor(&mut self, reactor: &ReactorMetrics) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.connections_opened += read(&reactor.opened);
        for (sum, counter) in self.connections_ended.iter_mut().zip(&reactor.ended) {
            *sum += read(counter);
        }
        self.frames += read(&reactor.frames);
        self.bytes_in += read(&reactor.bytes_in);
        self.replies += read(&reactor.replies);
        self.bytes_out += read(&reactor.bytes_out);
        self.file_bytes_out += read(&reactor.file_bytes_out);
        self.cold_file_steps += read(&reactor.cold_file_steps);
        self.admission_waits += read(&reactor.admission_waits);
    }
}
