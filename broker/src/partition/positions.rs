//! The four positions of a partition and the one setter through which they move. Knows nothing of who waits for a
//! move and nothing of files; the log itself keeps its own end, this is what the partition shows to the world.

use std::fmt;

use ottla_model::Offset;
use parking_lot::Mutex;

/// Where a partition stands. Invariant: log start ≤ last stable ≤ high watermark ≤ log end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Positions {
    /// The first offset that may be read.
    pub(crate) log_start: Offset,
    /// The end of what a `read_committed` reader sees (exclusive).
    pub(crate) last_stable: Offset,
    /// The end of what a consumer sees (exclusive): everything below it is on all in-sync replicas.
    pub(crate) high_watermark: Offset,
    /// The first unwritten offset.
    pub(crate) log_end: Offset,
}

impl Positions {
    fn check(&self) {
        assert!(
            self.log_start <= self.last_stable
                && self.last_stable <= self.high_watermark
                && self.high_watermark <= self.log_end,
            "positions out of order: {self}"
        );
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "log start {}, last stable {}, high watermark {}, log end {}",
            self.log_start, self.last_stable, self.high_watermark, self.log_end
        )
    }
}

/// The positions of one partition behind their own lock: four atomics could be read torn. The lock is never held
/// together with another one.
#[derive(Debug)]
pub(crate) struct PositionsCell {
    positions: Mutex<Positions>,
}

impl PositionsCell {
    /// A log as it was opened, with the high watermark of the last checkpoint put between its ends. `undecided` tells, for
    /// a high watermark, the first offset whose transaction is not decided.
    pub(crate) fn opened(
        log_start: Offset,
        log_end: Offset,
        checkpointed_high_watermark: Offset,
        undecided: impl FnOnce(Offset) -> Option<Offset>,
    ) -> Self {
        let high_watermark = checkpointed_high_watermark.max(log_start).min(log_end);
        let last_stable = stable(undecided(high_watermark), log_start, high_watermark);
        let positions = Positions { log_start, last_stable, high_watermark, log_end };
        positions.check();
        Self { positions: Mutex::new(positions) }
    }

    pub(crate) fn get(&self) -> Positions {
        *self.positions.lock()
    }

    /// The log's end after an append. Appends of two reactors may report in either order, so it only ever grows.
    pub(crate) fn log_end_is(&self, log_end: Offset) {
        self.set(|positions| positions.log_end = positions.log_end.max(log_end));
    }

    /// Lets consumers see everything below `end`, as far as the log goes. Says whether that was news. `undecided` is asked
    /// with no lock held. What it tells of a high watermark depends on the records below that alone, so of several raises
    /// the highest one's answer is right, whoever comes last.
    pub(crate) fn raise_high_watermark(
        &self,
        end: Offset,
        undecided: impl FnOnce(Offset) -> Option<Offset>,
    ) -> bool {
        let now = self.get();
        let high_watermark = end.min(now.log_end);
        if high_watermark <= now.high_watermark {
            return false;
        }
        let undecided = undecided(high_watermark);
        self.set(|positions| {
            if high_watermark > positions.high_watermark {
                positions.high_watermark = high_watermark;
                let last_stable = stable(undecided, positions.log_start, high_watermark);
                positions.last_stable = positions.last_stable.max(last_stable);
            }
        })
    }

    /// Records below `log_start` are gone.
    pub(crate) fn log_start_is(&self, log_start: Offset) -> bool {
        self.set(|positions| {
            positions.log_start = positions.log_start.max(log_start.min(positions.log_end));
            positions.high_watermark = positions.high_watermark.max(positions.log_start);
            positions.last_stable = positions.last_stable.max(positions.log_start);
        })
    }

    fn set(&self, change: impl FnOnce(&mut Positions)) -> bool {
        let mut positions = self.positions.lock();
        let mut next = *positions;
        change(&mut next);
        next.check();
        let moved = next != *positions;
        *positions = next;
        moved
    }
}

/// The last stable offset: below it every transaction is decided.
fn stable(undecided: Option<Offset>, log_start: Offset, high_watermark: Offset) -> Offset {
    undecided.map_or(high_watermark, |first| first.min(high_watermark)).max(log_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(value: i64) -> Offset {
        Offset::new(value)
    }

    fn none(_: Offset) -> Option<Offset> {
        None
    }

    #[test]
    fn a_checkpoint_beyond_the_log_is_cut_to_its_ends() {
        assert_eq!(
            PositionsCell::opened(offset(5), offset(9), offset(12), none).get().high_watermark,
            offset(9)
        );
        assert_eq!(
            PositionsCell::opened(offset(5), offset(9), offset(0), none).get().high_watermark,
            offset(5)
        );
    }

    #[test]
    fn the_high_watermark_never_passes_the_log_end_and_never_falls() {
        let cell = PositionsCell::opened(offset(0), offset(0), offset(0), none);
        cell.log_end_is(offset(10));
        assert!(cell.raise_high_watermark(offset(20), none));
        assert_eq!(cell.get().high_watermark, offset(10));
        assert!(!cell.raise_high_watermark(offset(3), none));
        assert_eq!(cell.get().last_stable, offset(10));
    }

    #[test]
    fn appends_that_report_out_of_order_leave_the_larger_end() {
        let cell = PositionsCell::opened(offset(0), offset(0), offset(0), none);
        cell.log_end_is(offset(8));
        cell.log_end_is(offset(4));
        assert_eq!(cell.get().log_end, offset(8));
    }

    #[test]
    fn an_undecided_transaction_holds_the_last_stable_offset_back() {
        let cell = PositionsCell::opened(offset(0), offset(4), offset(4), |_| Some(offset(2)));
        assert_eq!((cell.get().last_stable, cell.get().high_watermark), (offset(2), offset(4)));
        cell.log_end_is(offset(6));
        assert!(cell.raise_high_watermark(offset(5), |_| Some(offset(2))));
        assert_eq!((cell.get().last_stable, cell.get().high_watermark), (offset(2), offset(5)));
        assert!(cell.raise_high_watermark(offset(6), none));
        assert_eq!(cell.get().last_stable, offset(6));
    }

    #[test]
    fn a_raised_log_start_takes_the_positions_below_it_along() {
        let cell = PositionsCell::opened(offset(0), offset(9), offset(4), |_| Some(offset(1)));
        assert!(cell.log_start_is(offset(6)));
        let Positions { log_start, last_stable, high_watermark, log_end } = cell.get();
        assert_eq!([log_start, last_stable, high_watermark, log_end], [6, 6, 6, 9].map(offset));
        assert!(!cell.log_start_is(offset(3)));
    }
}
