//! How long to rest so that no more than so many bytes a second are read and written. It only counts: who compacts
//! rests.

use std::time::Duration;

/// Rest that was not needed is not saved up for longer than this.
const PERIOD: Duration = Duration::from_millis(300);

/// A bound on bytes a second, reads and writes together, over all compactions that share it.
#[derive(Debug, Clone)]
pub struct Throttle {
    bytes_per_second: f64,
    since: Duration,
    bytes: u64,
}

impl Throttle {
    /// A bound that is counted from now on (`log.cleaner.io.max.bytes.per.second`).
    #[must_use]
    pub fn new(bytes_per_second: f64, now: Duration) -> Self {
        Self { bytes_per_second, since: now, bytes: 0 }
    }

    /// Counts bytes and says how long to rest before the next ones. `now` is of a clock that does not go back.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a rate needs no more than a double has")]
    pub fn rest_after(&mut self, bytes: u64, now: Duration) -> Duration {
        self.bytes = self.bytes.saturating_add(bytes);
        let passed = now.saturating_sub(self.since);
        let needed = Duration::try_from_secs_f64(self.bytes as f64 / self.bytes_per_second);
        let rest = needed.unwrap_or(Duration::ZERO).saturating_sub(passed);
        if passed + rest >= PERIOD {
            self.since = now + rest;
            self.bytes = 0;
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_as_long_as_the_rate_says_and_a_pause_is_not_made_up_for() {
        let mut now = Duration::from_secs(5);
        let mut throttle = Throttle::new(1000.0, now);
        for _ in 0..100 {
            now += throttle.rest_after(100, now);
        }
        assert_eq!(now, Duration::from_secs(15));
        now += Duration::from_secs(60);
        assert_eq!(throttle.rest_after(100, now), Duration::ZERO);
        assert_eq!(throttle.rest_after(100, now), Duration::from_millis(100));
    }

    #[test]
    fn a_rate_without_bound_never_rests() {
        let mut throttle = Throttle::new(f64::MAX, Duration::ZERO);
        assert_eq!(throttle.rest_after(u64::MAX, Duration::ZERO), Duration::ZERO);
        let mut throttle = Throttle::new(0.0, Duration::ZERO);
        assert_eq!(throttle.rest_after(1, Duration::ZERO), Duration::ZERO, "a rate of nothing is none");
    }
}
