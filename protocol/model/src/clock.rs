//! The time, as an argument: code that needs it is handed a [`Clock`], so that a test can move it by hand.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the wall-clock time comes from.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00Z.
    fn now_ms(&self) -> i64;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ms: AtomicI64,
}

impl ManualClock {
    /// A clock that shows this time.
    #[must_use]
    pub const fn new(now_ms: i64) -> Self {
        Self { now_ms: AtomicI64::new(now_ms) }
    }

    /// Moves the time on by so many milliseconds.
    pub fn advance_ms(&self, by: i64) {
        self.now_ms.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = ManualClock::new(1000);
        assert_eq!((clock.now_ms(), clock.now_ms()), (1000, 1000));
        clock.advance_ms(5);
        assert_eq!(clock.now_ms(), 1005);
    }
}
