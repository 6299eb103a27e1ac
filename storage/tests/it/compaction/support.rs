//! Logs with keys and transactions, a twin that knows what must be left, and running a compaction to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker, NewRecord};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use ottla_storage::compaction::{CleanError, CleanReport, Cleaner, CleanerLimits, Cleaning, Step};
use ottla_storage::{DiskLog, Log, ReadEnd};

use crate::support::{NOW_MS, batches};

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// A record as a test writes it: key and value.
pub(super) type Pair<'a> = (Option<&'a str>, Option<&'a str>);

/// Who sends a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct From {
    /// Producer, its epoch, the first sequence.
    pub(super) producer: Option<(i64, i16, i32)>,
    pub(super) transactional: bool,
    pub(super) codec: Codec,
    pub(super) timestamp_ms: i64,
}

pub(super) fn keyed(pairs: &[Pair<'_>], from: From) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Compression::of(from.codec)).with_transactional(from.transactional);
    if let Some((id, epoch, sequence)) = from.producer {
        builder = builder.with_producer(ProducerId::new(id), ProducerEpoch::new(epoch), sequence);
    }
    for (key, value) in pairs {
        let record = NewRecord {
            timestamp_ms: if from.timestamp_ms == 0 { NOW_MS } else { from.timestamp_ms },
            key: key.map(str::as_bytes),
            value: value.map(str::as_bytes),
            headers: &[],
        };
        builder.append(&record).unwrap();
    }
    builder.finish().unwrap()
}

pub(super) fn marker(producer: i64, epoch: i16, committed: bool) -> CheckedBatch {
    let marker = EndTxnMarker { committed, coordinator_epoch: 1 };
    marker.to_batch(ProducerId::new(producer), ProducerEpoch::new(epoch), NOW_MS).unwrap()
}

pub(super) fn append(log: &DiskLog, batch: CheckedBatch) -> i64 {
    log.append_as_leader(batch, LeaderEpoch::new(3), NOW_MS).unwrap().base_offset.get()
}

/// A record that is there: offset, key, value.
pub(super) type Found = (i64, Option<String>, Option<String>);

fn text(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

/// All records but those of control batches and, on demand, of aborted transactions.
pub(super) fn records(log: &DiskLog, committed: bool) -> Vec<Found> {
    let start = log.positions().log_start;
    let aborted = log.aborted_transactions(start, Offset::MAX).unwrap();
    let mut found = Vec::new();
    let mut next = start;
    for batch in batches(log, start.get(), ReadEnd::LogEnd, 600) {
        let header = batch.header();
        assert!(header.base_offset() >= next || found.is_empty(), "no offset comes twice");
        next = header.next_offset();
        batch.verify_crc().unwrap();
        let is_aborted = header.is_transactional()
            && aborted.iter().any(|transaction| {
                transaction.producer_id == header.producer_id()
                    && transaction.first_offset <= header.base_offset()
                    && transaction.last_offset >= header.last_offset()
            });
        if header.is_control() || (committed && is_aborted) {
            continue;
        }
        for record in &batch.records(1 << 24).unwrap() {
            let record = record.unwrap();
            found.push((record.offset.get(), text(record.key), text(record.value)));
        }
    }
    found
}

/// The newest value of each key among committed records; keys whose newest is a tombstone are left out.
pub(super) fn newest(log: &DiskLog) -> BTreeMap<String, (i64, String)> {
    let mut newest = BTreeMap::new();
    for (offset, key, value) in records(log, true) {
        let Some(key) = key else { continue };
        match value {
            Some(value) => newest.insert(key, (offset, value)),
            None => newest.remove(&key),
        };
    }
    newest
}

/// Small limits, so that every compaction has many steps.
pub(super) const LIMITS: CleanerLimits =
    CleanerLimits { dedupe_buffer_bytes: 24 * 1000, load_factor: 0.9, io_buffer_bytes: 300 };

pub(super) fn begin(
    log: &Arc<DiskLog>,
    checkpoint: i64,
    now_ms: i64,
    limits: CleanerLimits,
) -> Result<Cleaning, CleanError> {
    let end = log.positions().log_end.offset;
    let plan = log.plan_cleaning(end, Some(Offset::new(checkpoint)), now_ms)?;
    Cleaner::new(limits)?.begin(log, &plan, now_ms, 4711)
}

pub(super) fn finish(mut cleaning: Cleaning) -> Result<CleanReport, CleanError> {
    loop {
        if let Step::Done(report) = cleaning.step()? {
            return Ok(*report);
        }
    }
}

pub(super) fn clean(log: &Arc<DiskLog>, checkpoint: i64, now_ms: i64) -> Result<CleanReport, CleanError> {
    finish(begin(log, checkpoint, now_ms, LIMITS)?)
}

/// Everything but the active segment, compacted, as many rounds as it takes.
pub(super) fn clean_wholly(log: &Arc<DiskLog>, now_ms: i64, limits: CleanerLimits) -> (CleanReport, usize) {
    log.flush_up_to(Offset::MAX, now_ms).unwrap();
    let mut rounds = 0;
    let mut reached = 0;
    loop {
        rounds += 1;
        let report = finish(begin(log, reached, now_ms, limits).unwrap()).unwrap();
        assert!(report.cleaned_up_to.get() > reached || !report.is_partial, "every round comes further");
        reached = report.cleaned_up_to.get();
        if !report.is_partial {
            return (report, rounds);
        }
    }
}
