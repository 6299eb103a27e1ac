//! Numbers that many threads move and one reads. Relaxed: each stands for itself, and a scrape need not be a moment.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A number that only grows, since the start.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Zero.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds, from any thread.
    pub fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    /// Adds one, from any thread.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds where one thread alone ever does: a load and a store, which cost nothing beside a locked instruction. With
    /// a second writer counts are lost.
    pub fn add_alone(&self, by: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
    }

    /// What it is now.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// Zero.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicI64::new(0))
    }

    /// Adds; a negative number takes away.
    pub fn add(&self, by: i64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    /// Sets it.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// What it is now.
    #[must_use]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up_whoever_adds() {
        let (shared, own) = (Counter::new(), Counter::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| shared.increment()));
            }
        });
        own.add_alone(2);
        own.add_alone(3);
        assert_eq!((shared.get(), own.get()), (4000, 5));
    }

    #[test]
    fn a_gauge_goes_both_ways() {
        let gauge = Gauge::new();
        gauge.set(7);
        gauge.add(-9);
        assert_eq!(gauge.get(), -2);
    }
}
