//! Tells that a log directory cannot be written, as when its disk is full: producers get no more than a code, and
//! thousands of requests may fail in a second. The first failure is told at once, later ones at most every ten seconds,
//! with how many were left out.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use ottla_storage::TopicPartition;
use parking_lot::Mutex;

/// The shortest time between two events of one directory.
const PAUSE: Duration = Duration::from_secs(10);

/// The failures of one directory.
#[derive(Debug, Default)]
pub(crate) struct WriteErrors {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    told_at: Option<Instant>,
    untold: u64,
}

impl WriteErrors {
    /// A write to one partition's log failed.
    pub(crate) fn of_partition(
        &self,
        directory: &Path,
        partition: &TopicPartition,
        error: &dyn fmt::Display,
    ) {
        if let Some(untold) = self.is_due(Instant::now()) {
            let directory = directory.display();
            tracing::error!(%directory, %partition, %error, untold, "records cannot be written");
        }
    }

    /// A file of the directory itself could not be written.
    pub(crate) fn of_directory(&self, directory: &Path, what: &'static str, error: &dyn fmt::Display) {
        if let Some(untold) = self.is_due(Instant::now()) {
            tracing::error!(directory = %directory.display(), what, %error, untold, "a checkpoint cannot be written");
        }
    }

    /// Whether one more is told now, and how many were not since the last that was.
    fn is_due(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock();
        if state.told_at.is_some_and(|told_at| now.saturating_duration_since(told_at) < PAUSE) {
            state.untold += 1;
            return None;
        }
        state.told_at = Some(now);
        Some(std::mem::take(&mut state.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_and_then_one_every_while_with_the_number_of_the_others() {
        let errors = WriteErrors::default();
        let begin = Instant::now();
        assert_eq!(errors.is_due(begin), Some(0));
        assert_eq!(errors.is_due(begin + PAUSE / 3), None);
        assert_eq!(errors.is_due(begin + PAUSE / 2), None);
        assert_eq!(errors.is_due(begin + PAUSE), Some(2));
        assert_eq!(errors.is_due(begin + PAUSE * 2), Some(0));
    }
}
