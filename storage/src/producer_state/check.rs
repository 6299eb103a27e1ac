//! Whether a producer's batch may be appended: the rules of idempotence (KIP-98, KIP-360), and of markers (KIP-98,
//! KIP-890, KIP-1228). A producer that the log does not know may begin with any sequence, since retention may have taken
//! what it wrote before.

use ottla_model::ProducerEpoch;
use ottla_model::batch::BatchHeader;

use super::{BatchMark, Marker, Producer, ProducerStates};
use crate::log::{LogError, MarkerRule};

/// What to do with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Append it.
    New,
    /// It is in the log already, here.
    Duplicate(BatchMark),
}

impl ProducerStates {
    /// Judges a batch of records. One without sequence numbers is a coordinator's, on a producer's behalf: it is no
    /// duplicate of anything and has no order, but an epoch and a transaction.
    pub(crate) fn check(&self, header: &BatchHeader) -> Result<Verdict, LogError> {
        if !header.producer_id().is_some() || header.is_control() {
            return Ok(Verdict::New);
        }
        let Some(producer) = self.producers.get(&header.producer_id()) else { return Ok(Verdict::New) };
        let is_numbered = header.base_sequence() >= 0;
        if let Some(mark) = producer.find(header).filter(|_| is_numbered) {
            return Ok(Verdict::Duplicate(mark));
        }
        producer.check_epoch(header)?;
        if is_numbered {
            producer.check_order(header)?;
        }
        producer.check_transaction(header)?;
        Ok(Verdict::New)
    }

    /// Judges a transaction's marker.
    pub(crate) fn check_marker(
        &self,
        header: &BatchHeader,
        marker: Marker,
        rule: MarkerRule,
    ) -> Result<(), LogError> {
        let Some(producer) = self.producers.get(&header.producer_id()) else { return Ok(()) };
        match rule {
            MarkerRule::NotBelow => producer.check_epoch(header)?,
            MarkerRule::Above => producer.check_bumped(header)?,
        }
        let (epoch, current) = (marker.coordinator_epoch, producer.coordinator_epoch);
        if epoch < current {
            let producer_id = header.producer_id();
            return Err(LogError::CoordinatorFenced { producer_id, epoch, current });
        }
        Ok(())
    }
}

impl Producer {
    /// A kept batch of the same epoch with the same first and last sequence.
    fn find(&self, header: &BatchHeader) -> Option<BatchMark> {
        if header.producer_epoch() != self.epoch {
            return None;
        }
        let is_same = |mark: &&BatchMark| {
            mark.first_sequence() == header.base_sequence() && mark.last_sequence == header.last_sequence()
        };
        self.batches.iter().find(is_same).copied()
    }

    fn check_epoch(&self, header: &BatchHeader) -> Result<(), LogError> {
        if header.producer_epoch() < self.epoch { Err(self.fenced(header)) } else { Ok(()) }
    }

    /// Of a marker that raised the epoch. The same epoch again is a retry of a marker that is here already, or the last
    /// epoch there is.
    fn check_bumped(&self, header: &BatchHeader) -> Result<(), LogError> {
        let epoch = header.producer_epoch();
        let is_retry = self.transaction_start.is_none() || epoch == ProducerEpoch::new(i16::MAX);
        if epoch > self.epoch || epoch == self.epoch && is_retry {
            return Ok(());
        }
        Err(self.fenced(header))
    }

    fn fenced(&self, header: &BatchHeader) -> LogError {
        let (producer_id, producer_epoch) = (header.producer_id(), header.producer_epoch());
        LogError::ProducerEpochFenced { producer_id, producer_epoch, current: self.epoch }
    }

    fn check_transaction(&self, header: &BatchHeader) -> Result<(), LogError> {
        match self.transaction_start.filter(|_| !header.is_transactional()) {
            Some(start) => Err(LogError::TransactionOpen { producer_id: header.producer_id(), start }),
            None => Ok(()),
        }
    }

    fn check_order(&self, header: &BatchHeader) -> Result<(), LogError> {
        let (producer_id, producer_epoch) = (header.producer_id(), header.producer_epoch());
        if self.epoch == ProducerEpoch::NONE {
            return Ok(());
        }
        let last = self.batches.back().filter(|_| producer_epoch == self.epoch);
        let expected = match last.map(|mark| mark.last_sequence) {
            None | Some(i32::MAX) => 0,
            Some(last) => last + 1,
        };
        let sequence = header.base_sequence();
        if sequence == expected {
            Ok(())
        } else {
            Err(LogError::SequenceOutOfOrder { producer_id, producer_epoch, sequence, expected })
        }
    }
}

#[cfg(test)]
mod tests {
    use ottla_model::batch::{BatchBuilder, EndTxnMarker, NewRecord};
    use ottla_model::compression::Compression;
    use ottla_model::{LeaderEpoch, Offset, ProducerId};

    use super::super::{EndedTransaction, Marker};
    use super::*;

    const PRODUCER: ProducerId = ProducerId::new(7);

    /// What the log answers to a batch: accepted at an offset, known at an offset, or an error's number.
    #[derive(Debug, PartialEq, Eq)]
    enum Answer {
        New(i64),
        Known(i64),
        OutOfOrder(i32),
        Fenced(i16),
    }

    #[derive(Default)]
    struct Log(ProducerStates);

    impl Log {
        fn send(&mut self, epoch: i16, sequence: i32, records: i32) -> Answer {
            let mut builder = BatchBuilder::new(Compression::NONE).with_producer(
                PRODUCER,
                ProducerEpoch::new(epoch),
                sequence,
            );
            for _ in 0..records {
                builder.append(&NewRecord { timestamp_ms: 5, ..NewRecord::default() }).unwrap();
            }
            let mut batch = builder.finish().unwrap();
            batch.assign(self.0.end(), LeaderEpoch::new(0));
            match self.0.check(batch.header()) {
                Ok(Verdict::New) => {
                    self.0.note(batch.header(), None);
                    Answer::New(batch.base_offset().get())
                }
                Ok(Verdict::Duplicate(mark)) => Answer::Known(mark.first_offset().get()),
                Err(LogError::SequenceOutOfOrder { expected, .. }) => Answer::OutOfOrder(expected),
                Err(LogError::ProducerEpochFenced { current, .. }) => Answer::Fenced(current.get()),
                Err(error) => panic!("{error}"),
            }
        }

        fn mark(&mut self, epoch: i16) {
            self.try_mark(epoch, 3, MarkerRule::NotBelow).unwrap();
        }

        fn try_mark(
            &mut self,
            epoch: i16,
            coordinator_epoch: i32,
            rule: MarkerRule,
        ) -> Result<Option<EndedTransaction>, LogError> {
            let marker = EndTxnMarker { committed: true, coordinator_epoch };
            let mut batch = marker.to_batch(PRODUCER, ProducerEpoch::new(epoch), 9).unwrap();
            batch.assign(self.0.end(), LeaderEpoch::new(0));
            let marker = Marker::of(&batch.records(100).unwrap());
            self.0.check_marker(batch.header(), marker.unwrap(), rule)?;
            Ok(self.0.note(batch.header(), marker))
        }

        /// A batch of one record within or outside of a transaction, numbered or not.
        fn send_in(&mut self, transactional: bool, epoch: i16, sequence: i32) -> Result<Verdict, LogError> {
            let builder = BatchBuilder::new(Compression::NONE);
            let builder = builder.with_producer(PRODUCER, ProducerEpoch::new(epoch), sequence);
            let mut builder = builder.with_transactional(transactional);
            builder.append(&NewRecord { timestamp_ms: 5, ..NewRecord::default() }).unwrap();
            let mut batch = builder.finish().unwrap();
            batch.assign(self.0.end(), LeaderEpoch::new(0));
            let verdict = self.0.check(batch.header())?;
            self.0.note(batch.header(), None);
            Ok(verdict)
        }
    }

    #[test]
    fn an_unknown_producer_may_begin_anywhere_and_then_goes_on_without_gaps() {
        let mut log = Log::default();
        assert_eq!(log.send(0, 17, 3), Answer::New(0));
        assert_eq!(log.send(0, 20, 1), Answer::New(3));
        assert_eq!(log.send(0, 22, 1), Answer::OutOfOrder(21));
        assert_eq!(log.send(0, 21, 2), Answer::New(4));
    }

    #[test]
    fn each_of_the_last_five_batches_is_recognised_and_the_sixth_is_not() {
        let mut log = Log::default();
        for batch in 0..6 {
            assert_eq!(log.send(0, batch * 2, 2), Answer::New(i64::from(batch) * 2));
        }
        for batch in 1..6 {
            assert_eq!(log.send(0, batch * 2, 2), Answer::Known(i64::from(batch) * 2));
        }
        assert_eq!(log.send(0, 0, 2), Answer::OutOfOrder(12));
        assert_eq!(
            log.send(0, 10, 1),
            Answer::OutOfOrder(12),
            "the same first sequence, but another last one"
        );
    }

    #[test]
    fn a_sequence_goes_on_with_0_after_the_largest_number() {
        let mut log = Log::default();
        assert_eq!(log.send(0, i32::MAX - 1, 2), Answer::New(0));
        assert_eq!(log.send(0, 0, 1), Answer::New(2));
        assert_eq!(log.send(0, i32::MAX - 1, 2), Answer::Known(0));

        let mut log = Log::default();
        assert_eq!(log.send(0, i32::MAX - 1, 4), Answer::New(0));
        assert_eq!(log.send(0, i32::MAX - 1, 4), Answer::Known(0));
        assert_eq!(log.send(0, 2, 1), Answer::New(4));
    }

    #[test]
    fn a_new_epoch_begins_at_0_and_an_old_one_is_fenced() {
        let mut log = Log::default();
        assert_eq!(log.send(3, 0, 2), Answer::New(0));
        assert_eq!(log.send(4, 2, 1), Answer::OutOfOrder(0));
        assert_eq!(log.send(4, 0, 1), Answer::New(2));
        assert_eq!(log.send(3, 2, 1), Answer::Fenced(4));
        assert_eq!(log.send(3, 0, 2), Answer::Fenced(4), "a duplicate of an old epoch is no duplicate");
    }

    #[test]
    fn after_a_marker_of_a_new_epoch_the_first_sequence_is_0() {
        let mut log = Log::default();
        assert_eq!(log.send(0, 0, 2), Answer::New(0));
        log.mark(1);
        assert_eq!(log.send(1, 2, 1), Answer::OutOfOrder(0));
        assert_eq!(log.send(1, 0, 1), Answer::New(3));
        assert_eq!(log.send(0, 2, 1), Answer::Fenced(1));
    }

    #[test]
    fn a_silent_producer_is_forgotten_and_may_begin_anywhere_again() {
        let mut log = Log::default();
        assert_eq!(log.send(0, 0, 1), Answer::New(0));
        assert_eq!(log.0.expire(104, 100), 0);
        assert_eq!(log.0.expire(105, 100), 1);
        assert_eq!(log.0.end(), Offset::new(1));
        assert_eq!(log.send(0, 50, 1), Answer::New(1));
    }
    #[test]
    fn a_marker_of_an_older_coordinator_or_producer_epoch_is_refused() {
        let mut log = Log::default();
        log.send_in(true, 5, 0).unwrap();
        let ended = log.try_mark(5, 7, MarkerRule::NotBelow).unwrap().unwrap();
        assert_eq!((ended.first_offset, ended.last_offset), (Offset::new(0), Offset::new(1)));
        let refused = log.try_mark(5, 6, MarkerRule::NotBelow);
        assert!(matches!(refused, Err(LogError::CoordinatorFenced { epoch: 6, current: 7, .. })));
        let refused = log.try_mark(4, 8, MarkerRule::NotBelow);
        assert!(matches!(refused, Err(LogError::ProducerEpochFenced { .. })));
        assert_eq!(log.try_mark(5, 7, MarkerRule::NotBelow).unwrap(), None, "there was nothing left to end");
        assert!(log.send_in(true, 4, 0).is_err());
    }

    #[test]
    fn a_marker_that_raises_the_epoch_must_do_so_unless_it_is_a_retry_or_can_rise_no_further() {
        let mut log = Log::default();
        log.send_in(true, 5, 0).unwrap();
        let refused = log.try_mark(5, 1, MarkerRule::Above);
        assert!(matches!(refused, Err(LogError::ProducerEpochFenced { .. })));
        assert!(log.try_mark(6, 1, MarkerRule::Above).unwrap().is_some());
        assert_eq!(log.try_mark(6, 1, MarkerRule::Above).unwrap(), None, "a retry");
        assert!(log.try_mark(5, 1, MarkerRule::Above).is_err());
        log.send_in(true, i16::MAX, 0).unwrap();
        assert!(log.try_mark(i16::MAX, 1, MarkerRule::Above).unwrap().is_some());
    }

    #[test]
    fn while_a_transaction_is_open_all_batches_of_its_producer_belong_to_it() {
        let mut log = Log::default();
        log.send_in(false, 0, 0).unwrap();
        log.send_in(true, 0, 1).unwrap();
        let refused = log.send_in(false, 0, 2).unwrap_err();
        assert!(matches!(refused, LogError::TransactionOpen { start, .. } if start == Offset::new(1)));
        let refused = log.send_in(false, 1, 0).unwrap_err();
        assert!(matches!(refused, LogError::TransactionOpen { .. }), "nor in a new epoch");
        log.mark(0);
        log.send_in(false, 0, 2).unwrap();
        assert_eq!(log.0.first_open(), None);
    }

    #[test]
    fn a_coordinators_batch_has_no_sequence_and_is_no_duplicate() {
        let mut log = Log::default();
        for _ in 0..3 {
            assert_eq!(log.send_in(true, 2, -1).unwrap(), Verdict::New);
        }
        assert_eq!(log.0.first_open(), Some(Offset::new(0)));
        assert!(matches!(log.send_in(true, 1, -1), Err(LogError::ProducerEpochFenced { .. })));
    }

    #[test]
    fn a_producer_with_an_open_transaction_is_never_forgotten() {
        let mut log = Log::default();
        log.send_in(true, 0, 0).unwrap();
        assert_eq!(log.0.expire(i64::MAX, 0), 0);
        assert_eq!(log.0.first_open(), Some(Offset::ZERO));
        log.mark(0);
        assert_eq!(log.0.expire(i64::MAX, 0), 1);
    }
}
