//! What the HTTP endpoint sees of the broker. It is there before the broker is, so that a start that recovers for minutes
//! can be told from one that hangs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ottla_network::NetworkMeters;

use crate::context::Broker;
use crate::metrics::export::{self, Scrape};
use crate::metrics::page::Format;

/// A view of a broker that starts, serves and stops.
#[derive(Default)]
pub(crate) struct Sight {
    serving: OnceLock<(Arc<Broker>, NetworkMeters)>,
    stopping: AtomicBool,
}

/// Where the broker's life is.
pub(crate) enum Stage<'a> {
    /// Directories are locked, logs loaded and recovered.
    Starting,
    /// Clients are served.
    Serving(&'a Broker),
    /// No new connections are taken.
    Stopping(&'a Broker),
}

impl Sight {
    /// The broker serves.
    pub(crate) fn serves(&self, broker: Arc<Broker>, network: NetworkMeters) {
        // It is told once; a second time would change nothing.
        drop(self.serving.set((broker, network)));
    }

    /// The broker has begun to stop.
    pub(crate) fn stops(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(super) fn stage(&self) -> Stage<'_> {
        match self.serving.get() {
            None => Stage::Starting,
            Some((broker, _)) if self.stopping.load(Ordering::Relaxed) => Stage::Stopping(broker),
            Some((broker, _)) => Stage::Serving(broker),
        }
    }

    /// The page of metrics, once there is something to tell.
    pub(super) fn metrics(&self, format: Format) -> Option<String> {
        let (broker, network) = self.serving.get()?;
        let scrape = Scrape::of(broker, network.snapshot());
        Some(export::page(&scrape, format))
    }
}
