//! What one log should hold, kept as a list of batches beside it, and what of that a loss of power may not touch.

use std::collections::BTreeMap;
use std::fmt;

/// What a record carries.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct TwinRecord {
    pub(super) offset: i64,
    pub(super) timestamp_ms: i64,
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// What a batch is to the log: data of a producer, or the end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// Of an idempotent producer, with the sequence number of its first record.
    Sequenced(i32),
    /// The same within a transaction.
    Transactional(i32),
    /// A marker: whether the transaction's records count.
    Marker(bool),
}

/// A batch as it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TwinBatch {
    pub(super) producer: i64,
    pub(super) kind: Kind,
    pub(super) records: Vec<TwinRecord>,
}

/// An aborted transaction: producer, first offset, offset of its marker.
pub(super) type Aborted = (i64, i64, i64);

/// What a log knows of a producer: the last sequence number, and where its open transaction began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TwinProducer {
    pub(super) last_sequence: Option<i32>,
    pub(super) transaction_start: Option<i64>,
    /// Its last batch or marker, and its last batch.
    pub(super) last_offset: i64,
    pub(super) last_data: i64,
}

/// One log.
#[derive(Debug, Clone, Default)]
pub(super) struct Twin {
    /// All batches that were acknowledged, also those below the log start.
    pub(super) batches: Vec<TwinBatch>,
    /// Batches whose append did not succeed: their bytes may be found all the same.
    pub(super) unacknowledged: Vec<TwinBatch>,
    /// What a truncation that did not succeed should have taken away.
    pub(super) truncated: Vec<TwinBatch>,
    pub(super) start: i64,
    /// The log start as it was last checkpointed.
    pub(super) start_durable: i64,
    /// Everything below it was said to be durable.
    pub(super) flushed: i64,
    /// The recovery point as it was last checkpointed.
    pub(super) checkpoint: i64,
    /// The log ends here or beyond, where a start found it to end after a hole.
    pub(super) end_at_least: i64,
    /// A compaction may have taken records whose key has a newer one.
    pub(super) is_compacted: bool,
}

impl fmt::Debug for TwinRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('.').to_owned();
        write!(f, "{}={}", text(&self.key), text(&self.value))
    }
}

impl TwinBatch {
    pub(super) fn base(&self) -> i64 {
        self.records.first().map_or(0, |record| record.offset)
    }

    pub(super) fn last(&self) -> i64 {
        self.records.last().map_or(0, |record| record.offset)
    }

    pub(super) fn sequence(&self) -> Option<i32> {
        match self.kind {
            Kind::Sequenced(sequence) | Kind::Transactional(sequence) => Some(sequence),
            Kind::Plain | Kind::Marker(_) => None,
        }
    }
}

impl Twin {
    /// The first offset that was not written.
    pub(super) fn end(&self) -> i64 {
        self.batches.last().map_or(0, |batch| batch.last() + 1).max(self.end_at_least)
    }

    /// Where a producer's transaction began, if one is open.
    pub(super) fn open_since(&self, producer: i64) -> Option<i64> {
        producers(&self.batches).get(&producer)?.transaction_start
    }

    /// Places where offsets are known to be missing: what comes before and after.
    pub(super) fn holes(&self) -> Vec<(i64, i64)> {
        let bases = self.batches.iter().map(TwinBatch::base).chain([self.end()]);
        let ends = [0].into_iter().chain(self.batches.iter().map(|batch| batch.last() + 1));
        ends.zip(bases).filter(|(end, base)| end < base).collect()
    }

    /// The bytes at a place may be those of any of these.
    pub(super) fn candidates(&self, base: i64) -> impl Iterator<Item = &TwinBatch> {
        let all = self.batches.iter().chain(&self.unacknowledged).chain(&self.truncated);
        all.filter(move |batch| batch.base() <= base && base <= batch.last())
    }
}

/// What a log with these batches knows of its producers.
pub(super) fn producers(batches: &[TwinBatch]) -> BTreeMap<i64, TwinProducer> {
    let mut known: BTreeMap<i64, TwinProducer> = BTreeMap::new();
    for batch in batches.iter().filter(|batch| batch.kind != Kind::Plain) {
        let producer = known.entry(batch.producer).or_default();
        producer.last_offset = batch.last();
        if let Some(sequence) = batch.sequence() {
            let count = i32::try_from(batch.records.len()).unwrap();
            producer.last_sequence = Some(sequence + count - 1);
            producer.last_data = batch.last();
        }
        match batch.kind {
            Kind::Transactional(_) => {
                producer.transaction_start = producer.transaction_start.or(Some(batch.base()))
            }
            Kind::Marker(_) => producer.transaction_start = None,
            Kind::Plain | Kind::Sequenced(_) => {}
        }
    }
    known
}

/// The aborted transactions of these batches, in order of their markers.
pub(super) fn aborted(batches: &[TwinBatch]) -> Vec<Aborted> {
    let mut open: BTreeMap<i64, i64> = BTreeMap::new();
    let mut found = Vec::new();
    for batch in batches {
        match batch.kind {
            Kind::Transactional(_) => {
                open.entry(batch.producer).or_insert(batch.base());
            }
            Kind::Marker(committed) => {
                if let Some(first) = open.remove(&batch.producer).filter(|_| !committed) {
                    found.push((batch.producer, first, batch.base()));
                }
            }
            Kind::Plain | Kind::Sequenced(_) => {}
        }
    }
    found
}
