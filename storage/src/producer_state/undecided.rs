//! Which transactions of a log a reader of committed records cannot pass yet: for readers, beside the producers' state,
//! which is the writer's. It does not know where the high watermark is; whoever asks does.

use std::collections::VecDeque;

use ottla_model::Offset;

use super::EndedTransaction;

/// The earliest open transaction, and the ended ones whose marker is perhaps not replicated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Undecided {
    first_open: Option<Offset>,
    /// First and last offset, in order of the last ones.
    ended: VecDeque<(Offset, Offset)>,
}

impl Undecided {
    /// With this as the earliest open transaction, all others being decided.
    pub(crate) fn new(first_open: Option<Offset>) -> Self {
        Self { first_open, ended: VecDeque::new() }
    }

    /// Takes over the earliest open transaction, and one that ended just now.
    pub(crate) fn update(&mut self, first_open: Option<Offset>, ended: Option<&EndedTransaction>) {
        self.first_open = first_open;
        if let Some(ended) = ended {
            self.ended.push_back((ended.first_offset, ended.last_offset));
        }
    }

    /// The first undecided offset. Ended transactions below the high watermark are forgotten: it never goes back.
    pub(crate) fn first(&mut self, high_watermark: Offset) -> Option<Offset> {
        while self.ended.front().is_some_and(|(_, last)| *last < high_watermark) {
            self.ended.pop_front();
        }
        self.ended.iter().map(|(first, _)| *first).chain(self.first_open).min()
    }

    /// Whether there is nothing to wait for, whatever the high watermark is.
    pub(crate) fn is_empty(&self) -> bool {
        self.first_open.is_none() && self.ended.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use ottla_model::ProducerId;

    use super::*;

    fn ended(first: i64, last: i64) -> EndedTransaction {
        EndedTransaction {
            producer_id: ProducerId::new(1),
            first_offset: Offset::new(first),
            last_offset: Offset::new(last),
            is_aborted: false,
            last_stable: Offset::new(last + 1),
        }
    }

    #[test]
    fn an_ended_transaction_is_undecided_until_the_high_watermark_passes_its_marker() {
        let mut undecided = Undecided::new(Some(Offset::new(4)));
        assert_eq!(undecided.first(Offset::new(100)), Some(Offset::new(4)));
        undecided.update(Some(Offset::new(8)), Some(&ended(4, 10)));
        assert_eq!(undecided.first(Offset::new(10)), Some(Offset::new(4)));
        assert_eq!(undecided.first(Offset::new(11)), Some(Offset::new(8)));
        undecided.update(None, Some(&ended(8, 12)));
        assert!(!undecided.is_empty());
        assert_eq!(undecided.first(Offset::new(12)), Some(Offset::new(8)));
        assert_eq!(undecided.first(Offset::new(13)), None);
        assert!(undecided.is_empty());
    }

    #[test]
    fn the_earliest_start_counts_in_whatever_order_transactions_end() {
        let mut undecided = Undecided::new(None);
        undecided.update(Some(Offset::new(2)), Some(&ended(5, 7)));
        undecided.update(None, Some(&ended(2, 9)));
        assert_eq!(undecided.first(Offset::new(0)), Some(Offset::new(2)));
        assert_eq!(undecided.first(Offset::new(8)), Some(Offset::new(2)));
    }
}
