//! How long something takes, in fixed exponential buckets: each one's bound is twice the one's before, so that the bucket
//! of a duration is the number of its leading zeros, and histograms of all threads and all brokers add up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The first bucket ends at 2¹² ns, 4.1 µs; faster than that a request is not.
const FIRST_BOUND_BITS: u32 = 12;
/// Bounds from 4.1 µs to 2³⁵ ns, 34.4 s.
pub(crate) const BOUNDS: usize = 24;
/// Those and one for all that is longer.
const BUCKETS: usize = BOUNDS + 1;

/// Durations as they were observed since the start.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

/// What a histogram, or the sum of several, held at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistogramSnapshot {
    buckets: [u64; BUCKETS],
    sum_ns: u64,
}

impl Histogram {
    /// Takes a duration, from any thread.
    pub fn observe(&self, duration: Duration) {
        let ns = nanoseconds(duration);
        if let Some(bucket) = self.buckets.get(bucket_of(ns)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Takes a duration where one thread alone ever does; with a second writer counts are lost.
    pub fn observe_alone(&self, duration: Duration) {
        let ns = nanoseconds(duration);
        let add =
            |to: &AtomicU64, by| to.store(to.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
        if let Some(bucket) = self.buckets.get(bucket_of(ns)) {
            add(bucket, 1);
        }
        add(&self.sum_ns, ns);
    }

    /// Adds what it holds to a sum.
    pub fn add_to(&self, sum: &mut HistogramSnapshot) {
        for (sum, bucket) in sum.buckets.iter_mut().zip(&self.buckets) {
            *sum += bucket.load(Ordering::Relaxed);
        }
        sum.sum_ns = sum.sum_ns.wrapping_add(self.sum_ns.load(Ordering::Relaxed));
    }

    /// What it holds now.
    #[must_use]
    pub fn snapshot(&self) -> HistogramSnapshot {
        let mut sum = HistogramSnapshot::default();
        self.add_to(&mut sum);
        sum
    }
}

impl HistogramSnapshot {
    /// How many durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Their sum, in seconds.
    #[must_use]
    pub fn sum_seconds(&self) -> f64 {
        seconds(self.sum_ns)
    }

    /// The bounds in seconds, each with how many durations do not exceed it. What is longer than the last one is in
    /// [`count`](Self::count) alone.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut below = 0;
        self.buckets.iter().take(BOUNDS).enumerate().map(move |(place, count)| {
            below += count;
            (bound_seconds(place), below)
        })
    }

    /// The duration in seconds that this share of them does not exceed, as far as the buckets tell: evenly spread
    /// within its bucket. None of none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        let wanted = share.clamp(0.0, 1.0) * count as f64;
        let (mut lower, mut below) = (0.0, 0);
        for (upper, up_to) in self.cumulative() {
            if up_to > below && up_to as f64 >= wanted {
                let within = (wanted - below as f64) / (up_to - below) as f64;
                return Some(lower + (upper - lower) * within.max(0.0));
            }
            (lower, below) = (upper, up_to);
        }
        (count > 0).then_some(lower)
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        for (sum, bucket) in self.buckets.iter_mut().zip(&other.buckets) {
            *sum += bucket;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn bound_seconds(place: usize) -> f64 {
    seconds(1 << (FIRST_BOUND_BITS as usize + place))
}

/// The first bucket whose bound is not exceeded.
fn bucket_of(ns: u64) -> usize {
    let bits = u64::BITS - ns.saturating_sub(1).leading_zeros();
    (bits.saturating_sub(FIRST_BOUND_BITS) as usize).min(BOUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_what_is_above_to_the_next() {
        for place in 0..BOUNDS {
            let bound = 1_u64 << (FIRST_BOUND_BITS as usize + place);
            assert_eq!(bucket_of(bound), place, "{bound} ns");
            assert_eq!(bucket_of(bound + 1), place + 1, "{bound} ns and one");
        }
        assert_eq!((bucket_of(0), bucket_of(u64::MAX)), (0, BOUNDS));
    }

    #[test]
    fn sums_counts_and_buckets_agree_however_it_was_observed() {
        let (shared, own) = (Histogram::default(), Histogram::default());
        for micros in [1, 4, 5, 100, 3_000, 60_000_000] {
            shared.observe(Duration::from_micros(micros));
            own.observe_alone(Duration::from_micros(micros));
        }
        assert_eq!(shared.snapshot(), own.snapshot());
        let mut both = shared.snapshot();
        own.add_to(&mut both);
        assert_eq!(both.count(), 12);
        assert!((both.sum_seconds() - 120.006_22).abs() < 1e-9, "{}", both.sum_seconds());
        let at_most = |seconds: f64| both.cumulative().filter(|(bound, _)| *bound <= seconds).last();
        assert_eq!(at_most(5e-6), Some((4.096e-6, 4)));
        assert_eq!(both.cumulative().last(), Some((34.359_738_368, 10)), "a minute is beyond the last bound");
    }

    #[test]
    fn a_quantile_lies_within_the_bucket_of_its_duration() {
        let histogram = Histogram::default();
        assert_eq!(histogram.snapshot().quantile(0.5), None);
        for _ in 0..99 {
            histogram.observe(Duration::from_micros(10));
        }
        histogram.observe(Duration::from_millis(20));
        let quantile = |share| histogram.snapshot().quantile(share).expect("there are durations");
        assert!((8.192e-6..=16.384e-6).contains(&quantile(0.5)), "{}", quantile(0.5));
        assert!((8.192e-6..=16.384e-6).contains(&quantile(0.99)), "{}", quantile(0.99));
        assert!((0.016_777_216..=0.033_554_432).contains(&quantile(0.999)), "{}", quantile(0.999));
    }
}
