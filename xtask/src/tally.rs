//! Counts of what passed and what failed, and the plain line that closes a run.

use std::fmt;
use std::process::ExitCode;

/// How many single checks passed and failed. Shown as `N passed, N failed`, alone on a line, at the end of a run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, passed: bool) {
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Failure also when nothing at all was checked: a run that looked at nothing has shown nothing.
    pub(crate) fn exit_code(self) -> ExitCode {
        if self.failed == 0 && self.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Takes the counts out of a line that a Rust test binary closes with.
    pub(crate) fn from_test_result(line: &str) -> Option<Tally> {
        let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
        let number = |word: &str| {
            let (value, _) =
                counts.split("; ").find_map(|part| part.split_once(' ').filter(|p| p.1 == word))?;
            value.parse().ok()
        };
        Some(Tally { passed: number("passed")?, failed: number("failed")? })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_a_test_binary_are_read() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(Tally::from_test_result(line), Some(Tally { passed: 12, failed: 3 }));
        assert_eq!(Tally::from_test_result("test it::works ... ok"), None);
    }

    #[test]
    fn a_run_that_checked_nothing_has_failed() {
        assert_eq!(Tally::default().exit_code(), ExitCode::FAILURE);
        assert_eq!(Tally { passed: 1, failed: 0 }.exit_code(), ExitCode::SUCCESS);
        assert_eq!(Tally { passed: 9, failed: 1 }.exit_code(), ExitCode::FAILURE);
    }
}
