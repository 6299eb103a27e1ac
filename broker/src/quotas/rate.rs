//! How much somebody has used lately, in samples as Kafka counts it, and for how long to hold him back. Asks no clock.

use std::time::Duration;

/// Over which time a rate is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// `quota.window.num`: how many samples are kept, the current one among them.
    pub(crate) samples: u32,
    /// `quota.window.size.seconds`: how long each is.
    pub(crate) sample: Duration,
}

impl Window {
    /// What may be used at once by somebody who has used nothing.
    pub(crate) fn burst(self, quota: f64) -> f64 {
        quota * self.sample.as_secs_f64() * f64::from(self.samples.max(2) - 1)
    }
}

/// What was used, in samples.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    /// By the time at which each began, the oldest first.
    samples: Vec<(Duration, f64)>,
}

impl Rate {
    /// Adds what was used, which may be negative: it was not used after all.
    pub(crate) fn add(&mut self, window: Window, amount: f64, now: Duration) {
        self.forget(window, now);
        match self.samples.last_mut() {
            Some((begun, sum)) if now.saturating_sub(*begun) < window.sample => *sum += amount,
            _ => self.samples.push((now, amount)),
        }
    }

    /// For how long to hold back whoever used so much, so that he has used no more than the quota by then.
    pub(crate) fn delay(&mut self, window: Window, quota: f64, now: Duration) -> Duration {
        self.forget(window, now);
        let used: f64 = self.samples.iter().map(|(_, sum)| sum).sum();
        let seconds = used / quota - self.elapsed(window, now).as_secs_f64();
        // To the millisecond, since that is what clients are told.
        let seconds = (seconds * 1000.0).round() / 1000.0;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
    }

    /// Whether nothing of it counts any more.
    pub(crate) fn is_over(&self, window: Window, now: Duration) -> bool {
        let is_over =
            |(begun, _): &(Duration, f64)| now.saturating_sub(*begun) >= window.sample * window.samples;
        self.samples.iter().all(is_over)
    }

    fn forget(&mut self, window: Window, now: Duration) {
        self.samples.retain(|(begun, _)| now.saturating_sub(*begun) < window.sample * window.samples);
    }

    /// The time over which the rate is counted: since the oldest sample, and all windows but one at least.
    fn elapsed(&self, window: Window, now: Duration) -> Duration {
        let since = self.samples.first().map_or(Duration::ZERO, |(begun, _)| now.saturating_sub(*begun));
        let whole = u32::try_from(since.as_nanos() / window.sample.as_nanos().max(1)).unwrap_or(u32::MAX);
        since + window.sample * (window.samples - 1).saturating_sub(whole)
    }
}

/// Tokens that come back at a rate, as changes of the cluster's metadata are counted (KIP-599).
#[derive(Debug)]
pub(crate) struct Bucket {
    tokens: f64,
    at: Duration,
}

impl Bucket {
    /// A full one.
    pub(crate) fn full(window: Window, quota: f64, now: Duration) -> Self {
        Self { tokens: Self::size(window, quota), at: now }
    }

    /// For how long there is nothing to take from.
    pub(crate) fn delay(&mut self, window: Window, quota: f64, now: Duration) -> Duration {
        let back = now.saturating_sub(self.at).as_secs_f64() * quota;
        self.tokens = (self.tokens + back).min(Self::size(window, quota));
        self.at = now;
        Duration::try_from_secs_f64(((-self.tokens / quota) * 1000.0).round() / 1000.0)
            .unwrap_or(Duration::ZERO)
    }

    /// Takes so many, also of those that are not there yet.
    pub(crate) fn take(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    /// Whether it is not full.
    pub(crate) fn is_used(&self, window: Window, quota: f64, now: Duration) -> bool {
        self.tokens + now.saturating_sub(self.at).as_secs_f64() * quota < Self::size(window, quota)
    }

    fn size(window: Window, quota: f64) -> f64 {
        quota * window.sample.as_secs_f64() * f64::from(window.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { samples: 11, sample: Duration::from_secs(1) };

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn who_has_used_nothing_may_use_ten_seconds_worth_at_once() {
        let mut rate = Rate::default();
        rate.add(WINDOW, 10_000.0, at(0));
        assert_eq!(rate.delay(WINDOW, 1_000.0, at(0)), Duration::ZERO);
        rate.add(WINDOW, 500.0, at(0));
        assert_eq!(rate.delay(WINDOW, 1_000.0, at(0)), at(500));
        assert_eq!(WINDOW.burst(1_000.0), 10_000.0);
    }

    #[test]
    fn a_sample_counts_for_eleven_seconds_and_the_rest_is_what_is_held_back_for() {
        let mut rate = Rate::default();
        rate.add(WINDOW, 12_000.0, at(0));
        assert_eq!(rate.delay(WINDOW, 1_000.0, at(0)), at(2_000));
        // Ten whole windows have passed: the time counts as it is.
        assert_eq!(rate.delay(WINDOW, 1_000.0, at(10_500)), at(1_500));
        assert!(rate.is_over(WINDOW, at(11_000)));
        assert_eq!(rate.delay(WINDOW, 1_000.0, at(11_000)), Duration::ZERO);
    }

    #[test]
    fn a_long_run_comes_to_the_quota() {
        let (mut rate, mut now, mut sent) = (Rate::default(), at(0), 0.0);
        while now < Duration::from_secs(120) {
            rate.add(WINDOW, 700.0, now);
            sent += 700.0;
            now += rate.delay(WINDOW, 1_000.0, now).max(at(1));
        }
        assert!((110_000.0..=135_000.0).contains(&sent), "{sent} in two minutes at 1000 a second");
    }

    #[test]
    fn tokens_come_back_and_one_request_may_take_more_than_there_are() {
        let mut bucket = Bucket::full(WINDOW, 2.0, at(0));
        assert_eq!(bucket.delay(WINDOW, 2.0, at(0)), Duration::ZERO);
        bucket.take(30.0);
        assert_eq!(bucket.delay(WINDOW, 2.0, at(0)), at(4_000));
        assert_eq!(bucket.delay(WINDOW, 2.0, at(4_000)), Duration::ZERO);
        // No more comes back than a full bucket.
        assert_eq!(bucket.delay(WINDOW, 2.0, at(1_000_000)), Duration::ZERO);
        bucket.take(24.0);
        assert_eq!(bucket.delay(WINDOW, 2.0, at(1_000_000)), at(1_000));
    }
}
