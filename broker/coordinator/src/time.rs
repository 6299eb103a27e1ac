//! The time as the machines are told it: two readings, because they serve two ends. Timers run on the steady one, so
//! that a corrected wall clock expels nobody; what is written into records is the wall clock's.

use std::time::Duration;

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970-01-01T00:00Z.
    pub wall_ms: i64,
    /// Milliseconds on a clock that only goes forward, from any beginning.
    pub steady_ms: i64,
}

impl Now {
    /// Both clocks show the same: for tests and for hosts with one clock.
    #[must_use]
    pub const fn same(ms: i64) -> Self {
        Self { wall_ms: ms, steady_ms: ms }
    }

    /// The steady time after so many milliseconds; a number below 0 counts as 0.
    #[must_use]
    pub fn after_ms(self, ms: i64) -> i64 {
        self.steady_ms.saturating_add(ms.max(0))
    }

    /// The steady time after so long.
    #[must_use]
    pub fn after(self, wait: Duration) -> i64 {
        self.after_ms(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
    }
}
