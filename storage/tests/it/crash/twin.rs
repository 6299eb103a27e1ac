//! What one log should hold, kept as a list of batches beside it, and what of that a loss of power may not touch.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a record carries.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct TwinRecord {
    pub(super) offset: i64,
    pub(super) timestamp_ms: i64,
    pub(super) key: Vec<u8>,
    /// None in a tombstone.
    pub(super) value: Option<Vec<u8>>,
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
    /// What a compaction leaves of a marker that nothing but its producer's last place needs.
    EmptyMarker,
}

/// A batch as it was appended, or what a compaction has left of it: then between its offsets there are fewer records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TwinBatch {
    pub(super) producer: i64,
    pub(super) kind: Kind,
    pub(super) base: i64,
    pub(super) last: i64,
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
    /// All batches that were acknowledged, also those below the log start, and whole ones where a compaction took records.
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
    /// It was truncated: what a compaction kept of a producer may be gone, and a snapshot then knows more of it.
    pub(super) was_truncated: bool,
    /// A compaction may have taken records whose key has a newer one.
    pub(super) is_compacted: bool,
    /// A compaction has looked at no record at or above it.
    pub(super) cleaned_end: i64,
    /// A round of compaction came to its end here.
    pub(super) compacted_to: i64,
    /// When each tombstone that a compaction has seen may go.
    pub(super) horizons_ms: BTreeMap<i64, i64>,
    /// The latest time of a compaction.
    pub(super) cleaned_ms: i64,
}

impl fmt::Debug for TwinRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('.').to_owned();
        write!(f, "{}={:?}", text(&self.key), self.value.as_deref().map(text))
    }
}

impl TwinBatch {
    pub(super) fn sequence(&self) -> Option<i32> {
        match self.kind {
            Kind::Sequenced(sequence) | Kind::Transactional(sequence) => Some(sequence),
            Kind::Plain | Kind::Marker(_) | Kind::EmptyMarker => None,
        }
    }

    /// Whether this is a batch, or what a compaction may have left of it.
    pub(super) fn is_left_of(&self, whole: &Self) -> bool {
        let span = |batch: &Self| (batch.producer, batch.base, batch.last);
        let is_kind = self.kind == whole.kind
            || self.kind == Kind::EmptyMarker && matches!(whole.kind, Kind::Marker(_));
        let mut rest = whole.records.iter();
        span(self) == span(whole)
            && is_kind
            && self.records.iter().all(|record| rest.any(|written| written == record))
    }
}

impl Twin {
    /// The first offset that was not written.
    pub(super) fn end(&self) -> i64 {
        self.batches.last().map_or(0, |batch| batch.last + 1).max(self.end_at_least)
    }

    /// Where a producer's transaction began, if one is open.
    pub(super) fn open_since(&self, producer: i64) -> Option<i64> {
        producers(&self.batches).get(&producer)?.transaction_start
    }

    /// Whether this was a producer's last sequence number after one of the batches.
    pub(super) fn had_producer(&self, id: i64, last_sequence: Option<i32>) -> bool {
        let after = |kept: usize| producers(&self.batches[..kept]).get(&id).map(|known| known.last_sequence);
        (1..=self.batches.len()).any(|kept| after(kept) == Some(last_sequence))
    }

    /// Places where offsets are known to be missing: what comes before and after.
    pub(super) fn holes(&self) -> Vec<(i64, i64)> {
        let bases = self.batches.iter().map(|batch| batch.base).chain([self.end()]);
        let ends = [0].into_iter().chain(self.batches.iter().map(|batch| batch.last + 1));
        ends.zip(bases).filter(|(end, base)| end < base).collect()
    }

    /// The bytes at a place may be those of any of these.
    pub(super) fn candidates(&self, base: i64) -> impl Iterator<Item = &TwinBatch> {
        let all = self.batches.iter().chain(&self.unacknowledged).chain(&self.truncated);
        all.filter(move |batch| batch.base <= base && base <= batch.last)
    }

    /// A compaction up to an offset is tried: what it may take from then on.
    pub(super) fn note_cleaning(&mut self, end: i64, now_ms: i64, delete_retention_ms: i64) {
        self.cleaned_end = self.cleaned_end.max(end);
        self.cleaned_ms = self.cleaned_ms.max(now_ms);
        let records = self.batches.iter().flat_map(|batch| &batch.records);
        for record in records.filter(|record| record.offset < end && record.value.is_none()) {
            self.horizons_ms.entry(record.offset).or_insert(now_ms + delete_retention_ms);
        }
    }

    /// The records below an offset that no compaction may have taken: those of data that counts and whose key has no
    /// newer one, tombstones for their time, and all that none has come to.
    pub(super) fn lasting(&self, below: i64) -> Vec<&TwinRecord> {
        let aborted = aborted_bases(&self.batches);
        let may_go = |batch: &TwinBatch| {
            let is_marker = matches!(batch.kind, Kind::Marker(_));
            batch.last < self.cleaned_end && (is_marker || aborted.contains(&batch.base))
        };
        let mut newest: BTreeMap<&[u8], i64> = BTreeMap::new();
        for batch in self.batches.iter().filter(|batch| !may_go(batch)) {
            for record in batch.records.iter().filter(|record| record.offset < self.cleaned_end) {
                newest.insert(&record.key, record.offset);
            }
        }
        let stays = |record: &&TwinRecord| {
            let is_newest = newest.get(record.key.as_slice()).is_none_or(|newest| *newest <= record.offset);
            let is_due = self.horizons_ms.get(&record.offset).is_some_and(|due| *due <= self.cleaned_ms);
            record.offset < below && is_newest && !is_due
        };
        let batches = self.batches.iter().filter(|batch| !may_go(batch));
        batches.flat_map(|batch| &batch.records).filter(stays).collect()
    }

    /// Of the records that a compaction came to, those that a newer one has replaced.
    pub(super) fn superseded(&self) -> BTreeSet<i64> {
        let aborted = aborted_bases(&self.batches);
        let mut newest: BTreeMap<&[u8], i64> = BTreeMap::new();
        let mut superseded = BTreeSet::new();
        for batch in self.batches.iter().filter(|batch| !matches!(batch.kind, Kind::Marker(_))) {
            for record in batch.records.iter().filter(|record| record.offset < self.compacted_to) {
                if !aborted.contains(&batch.base) {
                    superseded.extend(newest.insert(&record.key, record.offset));
                }
            }
        }
        superseded
    }

    /// What is known after these batches were found: those that were flushed, whole, and of the others what is there.
    pub(super) fn after(&self, found: &[TwinBatch]) -> Vec<TwinBatch> {
        let mut known: BTreeMap<i64, TwinBatch> = BTreeMap::new();
        let flushed = self.batches.iter().filter(|batch| batch.last < self.flushed);
        known.extend(flushed.map(|batch| (batch.base, batch.clone())));
        for left in found {
            let written = self.candidates(left.base).find(|whole| left.is_left_of(whole));
            known.entry(left.base).or_insert_with(|| written.unwrap_or(left).clone());
        }
        known.into_values().collect()
    }
}

/// What a log with these batches knows of its producers.
pub(super) fn producers(batches: &[TwinBatch]) -> BTreeMap<i64, TwinProducer> {
    let mut known: BTreeMap<i64, TwinProducer> = BTreeMap::new();
    for batch in batches.iter().filter(|batch| batch.kind != Kind::Plain) {
        let producer = known.entry(batch.producer).or_default();
        producer.last_offset = batch.last;
        if let Some(sequence) = batch.sequence() {
            let count = i32::try_from(batch.last - batch.base + 1).unwrap();
            producer.last_sequence = Some(sequence + count - 1);
            producer.last_data = batch.last;
        }
        match batch.kind {
            Kind::Transactional(_) => {
                producer.transaction_start = producer.transaction_start.or(Some(batch.base))
            }
            Kind::Marker(_) | Kind::EmptyMarker => producer.transaction_start = None,
            Kind::Plain | Kind::Sequenced(_) => {}
        }
    }
    known
}

/// The bases of the batches whose transaction was aborted.
pub(super) fn aborted_bases(batches: &[TwinBatch]) -> BTreeSet<i64> {
    let mut hidden = BTreeSet::new();
    let mut open: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for batch in batches {
        match batch.kind {
            Kind::Transactional(_) => open.entry(batch.producer).or_default().push(batch.base),
            Kind::Marker(committed) => {
                let bases = open.remove(&batch.producer).unwrap_or_default();
                hidden.extend(bases.into_iter().filter(|_| !committed));
            }
            Kind::EmptyMarker => drop(open.remove(&batch.producer)),
            Kind::Plain | Kind::Sequenced(_) => {}
        }
    }
    hidden
}

/// The aborted transactions of these batches, in order of their markers.
pub(super) fn aborted(batches: &[TwinBatch]) -> Vec<Aborted> {
    let mut open: BTreeMap<i64, i64> = BTreeMap::new();
    let mut found = Vec::new();
    for batch in batches {
        match batch.kind {
            Kind::Transactional(_) => {
                open.entry(batch.producer).or_insert(batch.base);
            }
            Kind::Marker(committed) => {
                if let Some(first) = open.remove(&batch.producer).filter(|_| !committed) {
                    found.push((batch.producer, first, batch.base));
                }
            }
            Kind::EmptyMarker => drop(open.remove(&batch.producer)),
            Kind::Plain | Kind::Sequenced(_) => {}
        }
    }
    found
}
