//! What may repeat in the log, as often as requests fail or a thread tries again: the first event is told at once, later
//! ones at most every while, each with how many were left out since the last. For the whole process: what lies above the
//! network takes it from here.
//!
//! ```text
//! if let Some(left_out) = self.repeats.due() {
//!     tracing::error!(%partition, %error, left_out, "what happened, why, and what to do");
//! }
//! ```

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The pause of those who have no reason for another one.
pub const REPEATS_PAUSE: Duration = Duration::from_secs(10);
/// Kinds of events of one [`RepeatsBy`] that are told apart; those beyond share one pause.
const KINDS_MAX: usize = 1000;

/// Events of one kind.
#[derive(Debug)]
pub struct Repeats {
    pause: Duration,
    state: Mutex<State>,
}

/// Events of many kinds, such as one a partition, each with a pause of its own.
#[derive(Debug)]
pub struct RepeatsBy<K> {
    pause: Duration,
    kinds: Mutex<HashMap<Option<K>, State>>,
}

#[derive(Debug, Default)]
struct State {
    told_at: Option<Instant>,
    left_out: u64,
}

impl Repeats {
    /// At most one event in so long.
    #[must_use]
    pub const fn every(pause: Duration) -> Self {
        Self { pause, state: Mutex::new(State { told_at: None, left_out: 0 }) }
    }

    /// Whether one more is told now, and how many were not since the last that was.
    pub fn due(&self) -> Option<u64> {
        self.due_at(Instant::now())
    }

    fn due_at(&self, now: Instant) -> Option<u64> {
        self.state.lock().due_at(now, self.pause)
    }
}

impl Default for Repeats {
    fn default() -> Self {
        Self::every(REPEATS_PAUSE)
    }
}

impl<K: Hash + Eq> RepeatsBy<K> {
    /// At most one event of a kind in so long.
    #[must_use]
    pub fn every(pause: Duration) -> Self {
        Self { pause, kinds: Mutex::default() }
    }

    /// Whether one more of this kind is told now, and how many were not since the last that was.
    pub fn due(&self, kind: K) -> Option<u64> {
        self.due_at(kind, Instant::now())
    }

    fn due_at(&self, kind: K, now: Instant) -> Option<u64> {
        let mut kinds = self.kinds.lock();
        if kinds.len() >= KINDS_MAX {
            // Whoever was silent for a pause has nothing left to tell.
            let pause = self.pause;
            kinds.retain(|_, state| state.left_out > 0 || state.is_recent(now, pause));
        }
        let kind = Some(kind);
        let known = kinds.len() < KINDS_MAX || kinds.contains_key(&kind);
        kinds.entry(kind.filter(|_| known)).or_default().due_at(now, self.pause)
    }
}

impl<K: Hash + Eq> Default for RepeatsBy<K> {
    fn default() -> Self {
        Self::every(REPEATS_PAUSE)
    }
}

impl State {
    fn is_recent(&self, now: Instant, pause: Duration) -> bool {
        self.told_at.is_some_and(|told_at| now.saturating_duration_since(told_at) < pause)
    }

    fn due_at(&mut self, now: Instant, pause: Duration) -> Option<u64> {
        if self.is_recent(now, pause) {
            self.left_out += 1;
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_and_then_one_every_while_with_the_number_of_the_others() {
        let repeats = Repeats::default();
        let begin = Instant::now();
        assert_eq!(repeats.due_at(begin), Some(0));
        assert_eq!(repeats.due_at(begin + REPEATS_PAUSE / 3), None);
        assert_eq!(repeats.due_at(begin + REPEATS_PAUSE / 2), None);
        assert_eq!(repeats.due_at(begin + REPEATS_PAUSE), Some(2));
        assert_eq!(repeats.due_at(begin + REPEATS_PAUSE * 2), Some(0));
    }

    #[test]
    fn each_kind_has_a_pause_of_its_own_and_kinds_have_a_limit() {
        let repeats = RepeatsBy::default();
        let begin = Instant::now();
        assert_eq!(repeats.due_at(0, begin), Some(0));
        assert_eq!(repeats.due_at(1, begin), Some(0));
        assert_eq!(repeats.due_at(1, begin), None);
        let told = (2..3 * KINDS_MAX).filter(|kind| repeats.due_at(*kind, begin).is_some()).count();
        assert_eq!(told, KINDS_MAX - 2 + 1, "and one for all those beyond");
        assert!(repeats.kinds.lock().len() <= KINDS_MAX + 1);
        // A while later the silent ones have made room.
        assert_eq!(repeats.due_at(1, begin + REPEATS_PAUSE), Some(1));
        assert_eq!(repeats.due_at(5_000_000, begin + REPEATS_PAUSE), Some(0));
    }
}
