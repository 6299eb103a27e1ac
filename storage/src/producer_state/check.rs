//! Whether a producer's batch may be appended: the rules of idempotence (KIP-98, KIP-360). A producer that the log does
//! not know may begin with any sequence, since retention may have taken what it wrote before.

use ottla_model::ProducerEpoch;
use ottla_model::batch::BatchHeader;

use super::{BatchMark, Producer, ProducerStates};
use crate::log::LogError;

/// What to do with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Append it.
    New,
    /// It is in the log already, here.
    Duplicate(BatchMark),
}

impl ProducerStates {
    /// Judges a batch that a client sent.
    pub(crate) fn check(&self, header: &BatchHeader) -> Result<Verdict, LogError> {
        if !header.producer_id().is_some() || header.is_control() {
            return Ok(Verdict::New);
        }
        match self.producers.get(&header.producer_id()) {
            None => Ok(Verdict::New),
            Some(producer) => match producer.find(header) {
                Some(mark) => Ok(Verdict::Duplicate(mark)),
                None => producer.check_order(header).map(|()| Verdict::New),
            },
        }
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

    fn check_order(&self, header: &BatchHeader) -> Result<(), LogError> {
        let (producer_id, producer_epoch) = (header.producer_id(), header.producer_epoch());
        if producer_epoch < self.epoch {
            return Err(LogError::ProducerEpochFenced { producer_id, producer_epoch, current: self.epoch });
        }
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

    use super::super::Marker;
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
            let marker = EndTxnMarker { committed: true, coordinator_epoch: 3 };
            let mut batch = marker.to_batch(PRODUCER, ProducerEpoch::new(epoch), 9).unwrap();
            batch.assign(self.0.end(), LeaderEpoch::new(0));
            self.0.note(batch.header(), Marker::of(&batch.records(100).unwrap()));
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
}
