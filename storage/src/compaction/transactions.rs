//! Which batches belong to aborted transactions, and whether anything of a marker's transaction is left, while the
//! batches of a log pass in their order. It is told which transactions aborted, and reads nothing itself.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use ottla_model::batch::{BatchHeader, ControlRecordType};
use ottla_model::{Offset, ProducerId};

use crate::log::AbortedTransaction;

/// The transactions that are under way at the batch that passes.
#[derive(Debug, Default)]
pub(crate) struct PassingTransactions {
    /// Aborted ones that begin further on.
    coming: BinaryHeap<Reverse<ByStart>>,
    aborted: HashMap<ProducerId, Aborted>,
    /// Producers of which a batch passed that was not aborted, and no marker since.
    committed: HashSet<ProducerId>,
}

#[derive(Debug)]
struct Aborted {
    transaction: AbortedTransaction,
    /// A batch of it has passed.
    has_batches: bool,
}

#[derive(Debug)]
struct ByStart(AbortedTransaction);

impl PartialEq for ByStart {
    fn eq(&self, other: &Self) -> bool {
        self.0.first_offset == other.0.first_offset
    }
}

impl Eq for ByStart {}

impl PartialOrd for ByStart {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByStart {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.first_offset.cmp(&other.0.first_offset)
    }
}

/// What a marker means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerRole {
    /// Something of its transaction is left, so that it stays. Of an aborted one its index entry stays as well.
    Needed(Option<AbortedTransaction>),
    /// Nothing is left.
    Unneeded,
}

impl PassingTransactions {
    /// Tells of aborted transactions before their first batch passes. One that was told before is told in vain.
    pub(crate) fn expect(&mut self, aborted: impl IntoIterator<Item = AbortedTransaction>) {
        self.coming.extend(aborted.into_iter().map(|transaction| Reverse(ByStart(transaction))));
    }

    /// A batch of records passes; says whether they were aborted.
    pub(crate) fn pass_records(&mut self, batch: &BatchHeader) -> bool {
        self.begin_up_to(batch.last_offset());
        if !batch.is_transactional() {
            return false;
        }
        if let Some(aborted) = self.aborted.get_mut(&batch.producer_id()) {
            aborted.has_batches = true;
            return true;
        }
        self.committed.insert(batch.producer_id());
        false
    }

    /// A control batch passes. `kind` is that of its record, or none where it has no record any more.
    pub(crate) fn pass_control(
        &mut self,
        batch: &BatchHeader,
        kind: Option<ControlRecordType>,
    ) -> MarkerRole {
        self.begin_up_to(batch.last_offset());
        let producer = batch.producer_id();
        match kind {
            None => MarkerRole::Unneeded,
            Some(ControlRecordType::ABORT) => match self.aborted.remove(&producer) {
                Some(Aborted { transaction, has_batches: true }) => MarkerRole::Needed(Some(transaction)),
                _ => MarkerRole::Unneeded,
            },
            Some(ControlRecordType::COMMIT) if !self.committed.remove(&producer) => MarkerRole::Unneeded,
            Some(_) => MarkerRole::Needed(None),
        }
    }

    fn begin_up_to(&mut self, offset: Offset) {
        while self.coming.peek().is_some_and(|Reverse(next)| next.0.first_offset <= offset) {
            let Some(Reverse(ByStart(transaction))) = self.coming.pop() else { break };
            let producer = self.aborted.entry(transaction.producer_id);
            producer.or_insert(Aborted { transaction, has_batches: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use ottla_model::ProducerEpoch;
    use ottla_model::batch::{BatchBuilder, NewRecord};
    use ottla_model::compression::Compression;

    use super::*;

    fn batch(producer: i64, offset: i64, transactional: bool) -> BatchHeader {
        let mut builder = BatchBuilder::new(Compression::NONE)
            .with_base_offset(Offset::new(offset))
            .with_producer(ProducerId::new(producer), ProducerEpoch::new(0), 0)
            .with_transactional(transactional);
        builder.append(&NewRecord::default()).unwrap();
        *builder.finish().unwrap().header()
    }

    fn aborted(producer: i64, first: i64, last: i64) -> AbortedTransaction {
        AbortedTransaction {
            producer_id: ProducerId::new(producer),
            first_offset: Offset::new(first),
            last_offset: Offset::new(last),
            last_stable: Offset::new(last + 1),
        }
    }

    const ABORT: Option<ControlRecordType> = Some(ControlRecordType::ABORT);
    const COMMIT: Option<ControlRecordType> = Some(ControlRecordType::COMMIT);

    #[test]
    fn records_between_the_start_of_an_aborted_transaction_and_its_marker_are_aborted() {
        let mut passing = PassingTransactions::default();
        passing.expect([aborted(1, 5, 9), aborted(2, 3, 7)]);
        assert!(!passing.pass_records(&batch(1, 0, true)), "an earlier transaction of the same producer");
        assert_eq!(passing.pass_control(&batch(1, 1, true), COMMIT), MarkerRole::Needed(None));
        assert!(passing.pass_records(&batch(2, 3, true)));
        assert!(!passing.pass_records(&batch(3, 4, true)));
        assert!(passing.pass_records(&batch(1, 5, true)));
        assert!(!passing.pass_records(&batch(2, 6, false)), "outside of any transaction");
        let needed = MarkerRole::Needed(Some(aborted(2, 3, 7)));
        assert_eq!(passing.pass_control(&batch(2, 7, true), ABORT), needed);
        assert!(!passing.pass_records(&batch(2, 8, true)), "the next transaction");
        // Told once more with the next segment, as one that began before it.
        passing.expect([aborted(1, 5, 9)]);
        let needed = MarkerRole::Needed(Some(aborted(1, 5, 9)));
        assert_eq!(passing.pass_control(&batch(1, 9, true), ABORT), needed);
    }

    #[test]
    fn a_marker_is_unneeded_once_nothing_of_its_transaction_passes() {
        let mut passing = PassingTransactions::default();
        passing.expect([aborted(1, 0, 4)]);
        assert_eq!(passing.pass_control(&batch(1, 4, true), ABORT), MarkerRole::Unneeded);
        assert_eq!(passing.pass_control(&batch(1, 5, true), ABORT), MarkerRole::Unneeded);
        assert_eq!(passing.pass_control(&batch(1, 6, true), COMMIT), MarkerRole::Unneeded);
        passing.pass_records(&batch(1, 7, true));
        assert_eq!(passing.pass_control(&batch(1, 8, true), COMMIT), MarkerRole::Needed(None));
        assert_eq!(passing.pass_control(&batch(1, 9, true), None), MarkerRole::Unneeded);
        let other = Some(ControlRecordType::LEADER_CHANGE);
        assert_eq!(passing.pass_control(&batch(1, 10, false), other), MarkerRole::Needed(None));
    }
}
