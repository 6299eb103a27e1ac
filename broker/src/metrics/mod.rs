//! What the broker counts and how it is told. Counting is here and knows no page; the pages' families stand in `export/`,
//! the text in `page.rs`, the sockets in `http/`.
//!
//! # To count something
//!
//! 1. The object that moves a number owns it: a field of type [`Counter`], [`Gauge`] or [`Histogram`] (fixed buckets from
//!    4 µs to 34 s) in its struct, or in `Metrics` if it belongs to nobody. All three take `&self`, need no lock and are
//!    relaxed atomics. Where one thread alone writes (a reactor, a flusher), `add_alone` and `observe_alone` save the locked
//!    instruction. Nothing is counted by record; a request costs a few stores.
//! 2. A function in a file of `export/` reads it at a scrape, off the data path, and writes a family:
//!
//!    ```text
//!    /// Quotas and what they did.
//!    pub(super) fn quotas(scrape: &Scrape<'_>, page: &mut Page) {
//!        let mut family = page.counter("ottla_throttles_total", "Answers after which a connection was muted.");
//!        for quota in scrape.broker.quotas.kinds() {
//!            family.sample(&[("quota", quota.name())], quota.throttles.get());
//!        }
//!        page.histogram("ottla_throttle_seconds", "How long connections were muted.")
//!            .durations(&[], &scrape.broker.quotas.muted.snapshot());
//!    }
//!    ```
//!
//!    Its name goes into `export::FAMILIES`. Names begin with `ottla_`, units come last (`_seconds`, `_bytes`), counters end
//!    with `_total`. A label whose values grow with topics, groups or clients takes `.limited()`.
//! 3. docs/operations.md lists every family; its table is rendered (`OTTLA_RENDER=1 cargo test -p ottla-broker --test it
//!    metrics_docs`).
//!
//! A thing that a reactor counts for each API stands in `requests`; for what repeats in the log see `ottla_network::Repeats`.

mod counter;
pub(crate) mod export;
mod histogram;
pub(crate) mod meter;
pub(crate) mod page;
pub(crate) mod requests;

use std::sync::Arc;
use std::time::Instant;

use ottla_network::Repeats;
use parking_lot::Mutex;

pub use counter::{Counter, Gauge};
pub use histogram::{Histogram, HistogramSnapshot};

use requests::ReactorMetrics;

/// What no single object of the broker owns.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    started_ms: i64,
    reactors: Box<[Arc<ReactorMetrics>]>,
    /// When the reactors' processor time was last looked at, and what it was.
    last_look: Mutex<(Instant, f64)>,
    /// Requests that found no controller, for the log.
    pub(crate) controller_failures: Repeats,
}

impl Metrics {
    /// For so many reactors, from now on.
    pub(crate) fn new(reactors: usize, now_ms: i64) -> Self {
        let started = Instant::now();
        Self {
            started,
            started_ms: now_ms,
            last_look: Mutex::new((started, 0.0)),
            controller_failures: Repeats::default(),
            reactors: (0..reactors).map(|_| Arc::default()).collect(),
        }
    }

    /// What one reactor counts.
    pub(crate) fn reactor(&self, index: usize) -> Option<&Arc<ReactorMetrics>> {
        self.reactors.get(index)
    }

    pub(crate) fn reactors(&self) -> impl Iterator<Item = &ReactorMetrics> {
        self.reactors.iter().map(|reactor| &**reactor)
    }

    /// When the broker began to open its logs.
    pub(crate) const fn started(&self) -> Instant {
        self.started
    }

    pub(crate) const fn started_ms(&self) -> i64 {
        self.started_ms
    }

    /// The share of time since the last call, from 0 to 1, in which the reactors did nothing, by the processor seconds that
    /// they have taken so far.
    pub(crate) fn idle_share(&self, seconds: f64) -> f64 {
        let mut last = self.last_look.lock();
        let (since, before) = std::mem::replace(&mut *last, (Instant::now(), seconds));
        let there_was = since.elapsed().as_secs_f64() * self.reactors.len().max(1) as f64;
        if there_was <= 0.0 { 1.0 } else { (1.0 - (seconds - before) / there_was).clamp(0.0, 1.0) }
    }
}
