//! Random lives of a log beside a plain list of what was appended to it.

use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker};
use ottla_model::compression::Compression;
use ottla_model::{Offset, ProducerEpoch, ProducerId};

use super::{Dice, EPOCH, Make, NOW_MS, batches, committed_offsets, filled, request};
use crate::log::{Log, LogConfig, LogError, ReadEnd, ReadOutcome, ReadRequest};

/// Ends a log, in good order or not, and opens what it left. A log without files is handed back.
pub type Reopen<'a> = &'a dyn Fn(Box<dyn Log>, bool) -> Box<dyn Log>;

const STEPS: usize = 300;

/// The first is idempotent, the others write transactions.
const PRODUCERS: usize = 3;

#[derive(Debug, Clone)]
struct Written {
    base: i64,
    times: Vec<i64>,
    /// Producer and first sequence.
    producer: Option<(usize, i32)>,
    /// A marker: whether its transaction counts.
    marker: Option<bool>,
}

impl Written {
    fn end(&self) -> i64 {
        self.base + self.times.len() as i64
    }
}

struct Life<'a> {
    dice: Dice,
    log: Box<dyn Log>,
    reopen: Reopen<'a>,
    list: Vec<Written>,
    start: i64,
    end: i64,
    flushed: i64,
}

/// Lives from these seeds, each of which a failing one prints.
pub fn random_lives_agree_with_a_list(make: Make<'_>, reopen: Reopen<'_>, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let config = LogConfig { segment_bytes: 1500, index_interval_bytes: 200, ..LogConfig::default() };
            let (dice, log) = (Dice::new(seed), make(config));
            let mut life = Life { dice, log, reopen, list: Vec::new(), start: 0, end: 0, flushed: 0 };
            for _ in 0..STEPS {
                life.step();
            }
            life.look_at_all();
        }));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

impl Life<'_> {
    fn step(&mut self) {
        match self.dice.below(40) {
            0..=7 => self.append(None),
            8..=11 => self.append(Some(0)),
            12..=16 => {
                let producer = 1 + self.dice.below(PRODUCERS - 1);
                self.append(Some(producer));
            }
            17..=19 => self.end_transaction(),
            20..=21 => self.retry(),
            22 => drop(self.log.roll(NOW_MS).unwrap()),
            23..=24 => self.flush(),
            25 => self.truncate(),
            26 => self.raise_start(),
            27 if self.dice.below(6) == 0 => self.restart(),
            28 => self.end_and_open(),
            29..=31 => self.find_time(),
            32..=34 => self.look_at_all(),
            _ => self.read(),
        }
        let positions = self.log.positions();
        assert_eq!((positions.log_start.get(), positions.log_end.offset.get()), (self.start, self.end));
        assert!(positions.recovery_point.get() >= self.flushed);
    }

    fn number(&mut self, from: i64, to: i64) -> i64 {
        from + self.dice.below(usize::try_from(to - from).unwrap() + 1) as i64
    }

    fn batch(&self, written: &Written) -> CheckedBatch {
        let mut builder = BatchBuilder::new(Compression::NONE);
        if let Some((producer, sequence)) = written.producer {
            let id = ProducerId::new(producer as i64);
            builder =
                builder.with_producer(id, ProducerEpoch::new(0), sequence).with_transactional(producer > 0);
        }
        filled(builder, &written.times)
    }

    fn append(&mut self, producer: Option<usize>) {
        let times = (0..=self.dice.below(4)).map(|_| NOW_MS + self.dice.below(1000) as i64).collect();
        let producer = producer.map(|producer| (producer, self.next_sequence(producer)));
        let written = Written { base: self.end, times, producer, marker: None };
        let info = self.log.append_as_leader(self.batch(&written), EPOCH, NOW_MS).unwrap();
        assert_eq!((info.base_offset.get(), info.duplicate), (self.end, false));
        self.end = written.end();
        self.list.push(written);
    }

    fn next_sequence(&self, producer: usize) -> i32 {
        let told = self.log.producer(ProducerId::new(producer as i64)).and_then(|info| info.last_sequence);
        if let Some((batch, sequence)) = self.last_of(producer)
            && batch.base >= self.start
        {
            assert_eq!(
                told,
                Some(sequence + i32::try_from(batch.times.len()).unwrap() - 1),
                "producer {producer}"
            );
        }
        told.map_or(0, |last| last + 1)
    }

    fn last_of(&self, producer: usize) -> Option<(&Written, i32)> {
        let of =
            |batch: &'_ Written| batch.producer.filter(|(id, _)| *id == producer && batch.marker.is_none());
        self.list.iter().rev().find_map(|batch| Some((batch, of(batch)?.1)))
    }

    /// The last batch of a producer comes once more.
    fn retry(&mut self) {
        let Some((last, _)) = self.last_of(0).filter(|(last, _)| last.base >= self.start) else { return };
        let info = self.log.append_as_leader(self.batch(last), EPOCH, NOW_MS).unwrap();
        assert_eq!((info.base_offset.get(), info.duplicate), (last.base, true));
    }

    /// Where a producer's transaction began, if one is open.
    fn open_since(&self, producer: usize) -> Option<i64> {
        let of = self.list.iter().filter(|batch| batch.producer.is_some_and(|(id, _)| id == producer));
        of.fold(None, |open, batch| if batch.marker.is_some() { None } else { open.or(Some(batch.base)) })
    }

    fn end_transaction(&mut self) {
        let producer = 1 + self.dice.below(PRODUCERS - 1);
        if self.open_since(producer).is_none() {
            return;
        }
        let committed = self.dice.below(2) == 0;
        let marker = EndTxnMarker { committed, coordinator_epoch: 1 };
        let id = ProducerId::new(producer as i64);
        let batch = marker.to_batch(id, ProducerEpoch::new(0), NOW_MS + 500).unwrap();
        assert_eq!(self.log.append_as_leader(batch, EPOCH, NOW_MS).unwrap().base_offset.get(), self.end);
        let (times, producer) = (vec![NOW_MS + 500], Some((producer, -1)));
        self.list.push(Written { base: self.end, times, producer, marker: Some(committed) });
        self.end += 1;
    }

    fn flush(&mut self) {
        let wanted = self.number(self.start, self.end);
        self.flushed = self.log.flush_up_to(Offset::new(wanted), NOW_MS).unwrap().get();
        assert!(self.flushed >= wanted);
    }

    fn truncate(&mut self) {
        let kept = self.list.len().saturating_sub(self.dice.below(8));
        let to = self.list.get(kept).map_or(self.end, |batch| batch.base);
        if to < self.start {
            return;
        }
        self.log.truncate_to(Offset::new(to), NOW_MS).unwrap();
        self.list.truncate(kept);
        self.end = to;
        self.flushed = self.flushed.min(to);
    }

    fn raise_start(&mut self) {
        let to = self.number(self.start, self.end.min(self.start + 30));
        assert_eq!(self.log.raise_log_start(Offset::new(to)).unwrap().get(), to);
        self.start = to;
    }

    fn restart(&mut self) {
        let at = self.number(self.end, self.end + 1000);
        self.log.restart_at(Offset::new(at), NOW_MS).unwrap();
        self.list.clear();
        (self.start, self.end) = (at, at);
        self.flushed = self.flushed.min(at);
    }

    fn end_and_open(&mut self) {
        let is_orderly = self.dice.below(2) == 0;
        let log = std::mem::replace(&mut self.log, Box::new(crate::MemoryLog::new(LogConfig::default(), 0)));
        self.log = (self.reopen)(log, is_orderly);
    }

    fn find_time(&mut self) {
        let wanted = NOW_MS + self.dice.below(1000) as i64;
        let all = self.list.iter().flat_map(|batch| (batch.base..).zip(batch.times.iter().copied()));
        let expected = all.into_iter().find(|(offset, time)| *offset >= self.start && *time >= wanted);
        let found = self.log.offset_for_time(wanted).unwrap();
        assert_eq!(found.map(|found| (found.offset.get(), found.timestamp_ms)), expected, "time {wanted}");
    }

    /// A read with any limit and any bound, whose bytes are the first whole batches from an offset on.
    fn read(&mut self) {
        let from = self.number(self.start, self.end + 1);
        let bounds: Vec<i64> = self.list.iter().map(Written::end).filter(|end| *end >= self.start).collect();
        let bound = bounds.get(self.dice.below(bounds.len().max(1))).copied().unwrap_or(self.end);
        let max_bytes = self.dice.below(2500) as u64;
        let wanted = ReadRequest {
            max_bytes,
            end: ReadEnd::Before(Offset::new(bound)),
            at_least_one_batch: self.dice.below(2) == 0,
            ..request(Offset::new(from))
        };
        let outcome = self.log.read(&wanted);
        if from > self.end {
            assert!(matches!(outcome, Err(LogError::OffsetOutOfRange { .. })));
            return;
        }
        let length = match outcome.unwrap() {
            ReadOutcome::Found(slice) => slice.length,
            _ => 0,
        };
        let first = self.list.iter().find(|batch| from < batch.end()).filter(|_| from < bound);
        let first_bytes = first.map_or(0, |batch| match batch.marker {
            Some(_) => 78,
            None => self.batch(batch).size() as u64,
        });
        let must_give = first.is_some() && (wanted.at_least_one_batch || max_bytes >= first_bytes);
        assert_eq!(length > 0, must_give, "{wanted:?}");
        assert!(length <= max_bytes.max(first_bytes), "{wanted:?}");
    }

    fn look_at_all(&mut self) {
        let max_bytes = 1 + self.dice.below(3000) as u64;
        let found = batches(&*self.log, Offset::new(self.start), ReadEnd::LogEnd, max_bytes);
        let found: Vec<_> = found
            .iter()
            .map(|batch| {
                let records = batch.records(1 << 20).unwrap();
                let times: Vec<i64> = records.iter().map(|record| record.unwrap().timestamp_ms).collect();
                (batch.header().base_offset().get(), times)
            })
            .collect();
        let above = self.list.iter().filter(|batch| batch.end() > self.start);
        let expected: Vec<_> = above.map(|batch| (batch.base, batch.times.clone())).collect();
        assert_eq!(found, expected);
        self.look_at_committed(max_bytes);
    }

    fn look_at_committed(&self, max_bytes: u64) {
        let found = committed_offsets(&*self.log, Offset::new(self.end), max_bytes);
        let open = || (1..PRODUCERS).filter_map(|producer| self.open_since(producer));
        let strict = self.committed_below(open().min().unwrap_or(self.end));
        // Of a transaction that began below the log start a start may find nothing.
        let known = self.committed_below(open().filter(|at| *at >= self.start).min().unwrap_or(self.end));
        let may_be_forgotten = open().any(|at| at < self.start);
        assert!(
            found == strict || may_be_forgotten && found == known,
            "from {}: {found:?}, not {strict:?}",
            self.start
        );
    }

    fn committed_below(&self, stable: i64) -> Vec<i64> {
        let counts = |(number, batch): (usize, &Written)| match batch.producer {
            _ if batch.marker.is_some() || batch.base >= stable => false,
            Some((producer, _)) if producer > 0 => {
                let mut later = self.list.iter().skip(number);
                let ends = |batch: &Written| batch.producer.is_some_and(|(id, _)| id == producer);
                later.find_map(|batch| batch.marker.filter(|_| ends(batch))).unwrap_or(false)
            }
            _ => true,
        };
        let shown = self.list.iter().enumerate().filter(|entry| counts(*entry)).map(|(_, batch)| batch);
        shown.flat_map(|batch| batch.base..batch.end()).filter(|offset| *offset >= self.start).collect()
    }
}
