//! What a log remembers of its idempotent and transactional producers (KIP-98): the last five batches of each, its
//! epoch, its open transaction. `check` judges a batch before it is appended; `snapshot` is the file format; `undecided`
//! is what readers see of the open transactions. Where aborted ones are listed is not decided here.

mod check;
mod snapshot;
mod undecided;

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;
use ottla_model::batch::{BatchHeader, EndTxnMarker, RecordBatch, Records};
use ottla_model::{Offset, ProducerEpoch, ProducerId};

pub(crate) use check::Verdict;
pub(crate) use undecided::Undecided;

use crate::log::{AbortedTransaction, ProducerInfo};

/// A retry is recognised among so many batches, which is also what a producer may have in flight.
const BATCHES_KEPT: usize = 5;

/// A control batch's records are small; nobody compresses them, but a file may claim so.
pub(crate) const MARKER_BYTES_MAX: usize = 64 * 1024;

/// All producers of one log.
///
/// Invariant: it describes exactly the batches below `end`; `open` lists the producers with a transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProducerStates {
    producers: HashMap<ProducerId, Producer>,
    /// By where they began.
    open: BTreeMap<Offset, ProducerId>,
    end: Offset,
}

/// A transaction whose marker was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedTransaction {
    pub(crate) producer_id: ProducerId,
    pub(crate) first_offset: Offset,
    /// The marker.
    pub(crate) last_offset: Offset,
    pub(crate) is_aborted: bool,
    /// The start of the earliest transaction that is still open, or else the offset after the marker.
    pub(crate) last_stable: Offset,
}

impl EndedTransaction {
    /// The entry of the transaction index, which a committed one has not.
    pub(crate) fn aborted(&self) -> Option<AbortedTransaction> {
        let Self { producer_id, first_offset, last_offset, last_stable, .. } = *self;
        self.is_aborted.then_some(AbortedTransaction { producer_id, first_offset, last_offset, last_stable })
    }
}

/// The batch that a producer's state hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastBatch {
    /// The last offset of its newest batch; none while only a marker tells of its epoch.
    pub(crate) data_offset: Option<Offset>,
    /// Its epoch.
    pub(crate) producer_epoch: ProducerEpoch,
}

/// One producer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Producer {
    epoch: ProducerEpoch,
    /// Oldest first; all of the same epoch.
    batches: VecDeque<BatchMark>,
    last_timestamp_ms: i64,
    /// The epoch of the coordinator that wrote the last marker, −1 without one.
    coordinator_epoch: i32,
    /// Where the open transaction began.
    transaction_start: Option<Offset>,
}

/// A batch that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchMark {
    last_sequence: i32,
    pub(crate) last_offset: Offset,
    /// Last offset less first offset.
    offset_delta: i32,
    /// The batch's largest timestamp.
    pub(crate) timestamp_ms: i64,
}

impl BatchMark {
    pub(crate) fn first_offset(&self) -> Offset {
        Offset::new(self.last_offset.get() - i64::from(self.offset_delta))
    }

    /// The sequence number of the first record. Before 0 comes 2³¹−1.
    fn first_sequence(&self) -> i32 {
        if self.last_sequence >= self.offset_delta {
            self.last_sequence - self.offset_delta
        } else {
            i32::MAX - (self.offset_delta - self.last_sequence) + 1
        }
    }
}

impl Producer {
    fn new(epoch: ProducerEpoch) -> Self {
        Self {
            epoch,
            batches: VecDeque::new(),
            last_timestamp_ms: -1,
            coordinator_epoch: -1,
            transaction_start: None,
        }
    }

    fn set_epoch(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.batches.clear();
        }
    }

    fn info(&self, producer_id: ProducerId) -> ProducerInfo {
        ProducerInfo {
            producer_id,
            producer_epoch: self.epoch,
            last_sequence: self.batches.back().map(|mark| mark.last_sequence).filter(|last| *last >= 0),
            last_timestamp_ms: self.last_timestamp_ms,
            coordinator_epoch: Some(self.coordinator_epoch).filter(|epoch| *epoch >= 0),
            transaction_start: self.transaction_start,
        }
    }

    fn is_expired(&self, now_ms: i64, expiration_ms: i64) -> bool {
        self.transaction_start.is_none() && now_ms.saturating_sub(self.last_timestamp_ms) >= expiration_ms
    }
}

impl ProducerStates {
    /// No producers; the log's batches are known up to here.
    pub(crate) fn new(end: Offset) -> Self {
        Self { producers: HashMap::new(), open: BTreeMap::new(), end }
    }

    /// The offset up to which batches are counted.
    pub(crate) fn end(&self) -> Offset {
        self.end
    }

    pub(crate) fn set_end(&mut self, end: Offset) {
        self.end = end;
    }

    /// Whether no producer is known.
    pub(crate) fn len(&self) -> usize {
        self.producers.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.producers.is_empty()
    }

    /// Where the earliest open transaction began.
    pub(crate) fn first_open(&self) -> Option<Offset> {
        self.open.first_key_value().map(|(start, _)| *start)
    }

    /// Counts a batch of the log; `marker` is what a control batch says. Tells of a transaction that it ends, unless that
    /// had no records here.
    pub(crate) fn note(&mut self, header: &BatchHeader, marker: Option<Marker>) -> Option<EndedTransaction> {
        self.end = header.next_offset();
        if !header.producer_id().is_some() {
            return None;
        }
        match marker {
            Some(marker) => self.note_marker(header, marker),
            None => {
                if !header.is_control() {
                    self.note_data(header);
                }
                None
            }
        }
    }

    /// What is known of one producer.
    pub(crate) fn info(&self, producer_id: ProducerId) -> Option<ProducerInfo> {
        self.producers.get(&producer_id).map(|producer| producer.info(producer_id))
    }

    /// What is known of all producers, in order of their ids.
    pub(crate) fn infos(&self) -> Vec<ProducerInfo> {
        let mut infos: Vec<_> = self.producers.iter().map(|(id, producer)| producer.info(*id)).collect();
        infos.sort_unstable_by_key(|info| info.producer_id);
        infos
    }

    /// Of each producer, what a log must still hold for its state to be found again.
    pub(crate) fn last_batches(&self) -> HashMap<ProducerId, LastBatch> {
        let last = |producer: &Producer| LastBatch {
            data_offset: producer.batches.back().map(|mark| mark.last_offset),
            producer_epoch: producer.epoch,
        };
        self.producers.iter().map(|(id, producer)| (*id, last(producer))).collect()
    }

    /// Forgets producers that were silent for so long; says how many.
    pub(crate) fn expire(&mut self, now_ms: i64, expiration_ms: i64) -> usize {
        let before = self.producers.len();
        self.producers.retain(|_, producer| !producer.is_expired(now_ms, expiration_ms));
        before - self.producers.len()
    }

    fn note_data(&mut self, header: &BatchHeader) {
        let producer = self.entry(header);
        if producer.batches.len() == BATCHES_KEPT {
            producer.batches.pop_front();
        }
        producer.batches.push_back(BatchMark {
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta(),
            timestamp_ms: header.max_timestamp_ms(),
        });
        producer.last_timestamp_ms = header.max_timestamp_ms();
        if header.is_transactional() && producer.transaction_start.is_none() {
            producer.transaction_start = Some(header.base_offset());
            self.open.insert(header.base_offset(), header.producer_id());
        }
    }

    /// The transaction that a marker ends, unless it had no records here.
    pub(crate) fn ending(&self, header: &BatchHeader, marker: Marker) -> Option<EndedTransaction> {
        let producer_id = header.producer_id();
        let first_offset = self.producers.get(&producer_id)?.transaction_start?;
        let last_offset = header.base_offset();
        let other = self.open.keys().find(|start| **start != first_offset);
        let last_stable = other.copied().unwrap_or(last_offset.next());
        let is_aborted = !marker.committed;
        Some(EndedTransaction { producer_id, first_offset, last_offset, is_aborted, last_stable })
    }

    fn note_marker(&mut self, header: &BatchHeader, marker: Marker) -> Option<EndedTransaction> {
        let ended = self.ending(header, marker);
        if let Some(ended) = &ended {
            self.open.remove(&ended.first_offset);
        }
        let producer = self.entry(header);
        producer.coordinator_epoch = marker.coordinator_epoch;
        producer.transaction_start = None;
        producer.last_timestamp_ms = marker.timestamp_ms;
        ended
    }

    fn entry(&mut self, header: &BatchHeader) -> &mut Producer {
        let producer = self
            .producers
            .entry(header.producer_id())
            .or_insert_with(|| Producer::new(header.producer_epoch()));
        producer.set_epoch(header.producer_epoch());
        producer
    }
}

/// The end of a transaction, as its marker has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker {
    committed: bool,
    coordinator_epoch: i32,
    timestamp_ms: i64,
}

impl Marker {
    /// The marker among the records of a control batch; none where the batch says something else.
    pub(crate) fn of(records: &Records) -> Option<Self> {
        let record = records.iter().next()?.ok()?;
        let marker = EndTxnMarker::parse(record.key?, record.value?).ok()?;
        let EndTxnMarker { committed, coordinator_epoch } = marker;
        Some(Self { committed, coordinator_epoch, timestamp_ms: record.timestamp_ms })
    }

    /// The same, of a whole batch's bytes.
    pub(crate) fn in_batch(batch: &[u8]) -> Option<Self> {
        let batch = RecordBatch::split_first(&mut Bytes::copy_from_slice(batch)).ok()??;
        Self::of(&batch.records(MARKER_BYTES_MAX).ok()?)
    }
}
