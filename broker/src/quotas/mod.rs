//! Client quotas: who has used how much, and for how long he is held back (KIP-13, KIP-124, KIP-219, KIP-599, KIP-612). An
//! answer leaves at once and says how long its connection is not read afterwards; holding back is the network's.
//!
//! Without any quota nothing is counted and no lock is taken.

mod rate;
mod table;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ottla_cluster::KeptRecords;
use parking_lot::Mutex;

pub(crate) use rate::Window;
pub(crate) use table::{Limited, Who};

use rate::{Bucket, Rate};
use table::{Counted, QuotaTable};

/// Who is counted at once. Beyond it those who have used nothing lately are forgotten, and then whoever comes is counted
/// together with all others that are too many.
const COUNTED_MAX: usize = 10_000;
/// A request is not held back longer than this for the time that it took, nor a connection.
const BOUNDED_DELAY_MAX: Duration = Duration::from_secs(1);

/// The quotas in force and what was used of them.
pub(crate) struct Quotas {
    begin: Instant,
    window: Window,
    mutation_window: Window,
    table: ArcSwap<QuotaTable>,
    /// There is any for requests; for connections.
    of_requests: AtomicBool,
    of_connections: AtomicBool,
    used: Mutex<Used>,
}

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HeldBack {
    /// For how long its client is held back.
    pub(crate) time: Duration,
    /// It is not sent.
    pub(crate) is_refused: bool,
}

#[derive(Default)]
struct Used {
    rates: HashMap<Option<Counted>, Rate>,
    buckets: HashMap<Option<Counted>, Bucket>,
    addresses: HashMap<Option<IpAddr>, Rate>,
}

impl Quotas {
    pub(crate) fn new(window: Window, mutation_window: Window) -> Self {
        Self {
            begin: Instant::now(),
            window,
            mutation_window,
            table: ArcSwap::default(),
            of_requests: AtomicBool::new(false),
            of_connections: AtomicBool::new(false),
            used: Mutex::default(),
        }
    }

    /// Takes over what the metadata say. What was used stays.
    pub(crate) fn follow(&self, kept: &KeptRecords) {
        let table = QuotaTable::of(kept);
        let of_connections = kept.quotas.keys().any(|key| key.key == "connection_creation_rate");
        self.of_requests.store(!table.is_empty(), Ordering::Relaxed);
        self.of_connections.store(of_connections, Ordering::Relaxed);
        self.table.store(std::sync::Arc::new(table));
    }

    /// Whether any quota may hold for a request.
    pub(crate) fn hold(&self) -> bool {
        self.of_requests.load(Ordering::Relaxed)
    }

    /// Counts what was used; says for how long to hold back who used it.
    pub(crate) fn charge(&self, limited: Limited, who: Who<'_>, amount: f64) -> Duration {
        let Some((quota, counted)) = self.table.load().find(limited, who) else { return Duration::ZERO };
        let now = self.begin.elapsed();
        let mut used = self.used.lock();
        let rate = used.rate(counted, self.window, now);
        rate.add(self.window, amount, now);
        let delay = rate.delay(self.window, quota, now);
        if limited == Limited::Time { delay.min(BOUNDED_DELAY_MAX) } else { delay }
    }

    /// Counts the records of an answer that is about to be sent. Where it would be too much it is refused and not counted,
    /// unless nothing was sent lately: a single batch beyond what the quota lets through at once would never be sent.
    pub(crate) fn charge_fetch(&self, who: Who<'_>, bytes: u64) -> HeldBack {
        let limited = Limited::Fetch;
        let Some((quota, counted)) = self.table.load().find(limited, who) else { return HeldBack::default() };
        let now = self.begin.elapsed();
        let mut used = self.used.lock();
        let rate = used.rate(counted, self.window, now);
        let was_idle = rate.is_over(self.window, now);
        #[allow(clippy::cast_precision_loss, reason = "a rate needs no more than a double has")]
        let amount = bytes as f64;
        rate.add(self.window, amount, now);
        let time = rate.delay(self.window, quota, now);
        let is_refused = !time.is_zero() && !was_idle;
        if is_refused {
            rate.add(self.window, -amount, now);
        }
        HeldBack { time, is_refused }
    }

    /// The most that may be used at once.
    pub(crate) fn burst(&self, limited: Limited, who: Who<'_>) -> Option<f64> {
        self.table.load().find(limited, who).map(|(quota, _)| self.window.burst(quota))
    }

    /// Counts changes of metadata one after the other. A strict one is refused while too many were made before; how many pass,
    /// and for how long to hold back who asked.
    pub(crate) fn charge_mutations(&self, who: Who<'_>, costs: &[f64], strict: bool) -> (usize, Duration) {
        let Some((quota, counted)) = self.table.load().find(Limited::Mutations, who) else {
            return (costs.len(), Duration::ZERO);
        };
        let now = self.begin.elapsed();
        let mut used = self.used.lock();
        let bucket = used.bucket(counted, self.mutation_window, quota, now);
        let mut passed = 0;
        for cost in costs {
            if strict && !bucket.delay(self.mutation_window, quota, now).is_zero() {
                break;
            }
            bucket.take(*cost);
            passed += 1;
        }
        let delay = bucket.delay(self.mutation_window, quota, now);
        // Whoever was served is told by the next answer, unless he knows no refusal.
        if strict && passed == costs.len() { (passed, Duration::ZERO) } else { (passed, delay) }
    }

    /// Counts a connection of an address; says after how long it is closed, if it is one too many.
    pub(crate) fn charge_connection(&self, address: IpAddr) -> Duration {
        if !self.of_connections.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        let Some(quota) = self.table.load().connections(address) else { return Duration::ZERO };
        let now = self.begin.elapsed();
        let mut used = self.used.lock();
        let rate =
            counted(&mut used.addresses, address, |rate| !rate.is_over(self.window, now), Rate::default);
        rate.add(self.window, 1.0, now);
        let delay = rate.delay(self.window, quota, now);
        if !delay.is_zero() {
            rate.add(self.window, -1.0, now);
        }
        delay.min(BOUNDED_DELAY_MAX)
    }
}

impl Used {
    fn rate(&mut self, of: Counted, window: Window, now: Duration) -> &mut Rate {
        counted(&mut self.rates, of, |rate| !rate.is_over(window, now), Rate::default)
    }

    fn bucket(&mut self, of: Counted, window: Window, quota: f64, now: Duration) -> &mut Bucket {
        let full = || Bucket::full(window, quota, now);
        counted(&mut self.buckets, of, |bucket| bucket.is_used(window, quota, now), full)
    }
}

/// What is counted for somebody, or for all that are too many.
fn counted<K: std::hash::Hash + Eq, V>(
    map: &mut HashMap<Option<K>, V>,
    of: K,
    is_kept: impl Fn(&V) -> bool,
    fresh: impl Fn() -> V,
) -> &mut V {
    let of = Some(of);
    if map.len() >= COUNTED_MAX && !map.contains_key(&of) {
        map.retain(|_, value| is_kept(value));
    }
    let of = if map.len() >= COUNTED_MAX && !map.contains_key(&of) { None } else { of };
    map.entry(of).or_insert_with(fresh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_too_many_is_counted_with_the_others_and_memory_stays_bounded() {
        let mut map: HashMap<Option<usize>, u32> = HashMap::new();
        for who in 0..COUNTED_MAX * 2 {
            *counted(&mut map, who, |_| true, || 0) += 1;
        }
        assert_eq!(map.len(), COUNTED_MAX + 1);
        assert_eq!(map[&None] as usize, COUNTED_MAX);
        counted(&mut map, usize::MAX, |_| false, || 0);
        assert_eq!(map.len(), 1, "those who used nothing lately are forgotten first");
    }
}
