//! What every log keeps of transactions, of a leader's batches, of its start and of its segments.

use std::collections::BTreeMap;

use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use super::{EPOCH, Make, NOW_MS, append, batch, batches, committed_offsets, filled, offset, request, spans};
use crate::log::{AbortedTransaction, Log, LogConfig, LogError, MarkerRule, ReadEnd};

/// A batch of one producer's transaction.
fn of(producer: i64, epoch: i16, sequence: i32, records: usize) -> CheckedBatch {
    let builder = BatchBuilder::new(Compression::NONE)
        .with_producer(ProducerId::new(producer), ProducerEpoch::new(epoch), sequence)
        .with_transactional(true);
    filled(builder, &vec![NOW_MS; records])
}

fn marker(producer: i64, epoch: i16, committed: bool) -> CheckedBatch {
    let marker = EndTxnMarker { committed, coordinator_epoch: 1 };
    marker.to_batch(ProducerId::new(producer), ProducerEpoch::new(epoch), NOW_MS).unwrap()
}

fn undecided(log: &dyn Log, high_watermark: usize) -> Option<i64> {
    log.first_undecided(offset(high_watermark)).map(Offset::get)
}

fn aborted(log: &dyn Log, from: usize, end: usize) -> Vec<(i64, i64, i64, i64)> {
    let found = log.aborted_transactions(offset(from), offset(end)).unwrap();
    let numbers = |entry: AbortedTransaction| {
        let AbortedTransaction { producer_id, first_offset, last_offset, last_stable } = entry;
        (producer_id.get(), first_offset.get(), last_offset.get(), last_stable.get())
    };
    found.into_iter().map(numbers).collect()
}

pub(super) fn an_open_transaction_holds_back_readers_of_committed_records(make: Make<'_>) {
    let log = make(LogConfig::default());
    append(&*log, batch(&[1, 1]));
    assert_eq!(undecided(&*log, 2), None);
    append(&*log, of(1, 0, 0, 3));
    append(&*log, of(2, 0, 0, 1));
    append(&*log, of(1, 0, 3, 1));
    assert_eq!(undecided(&*log, 7), Some(2));
    append(&*log, marker(1, 0, true));
    assert_eq!(undecided(&*log, 7), Some(2), "its marker is not below the high watermark");
    assert_eq!(undecided(&*log, 8), Some(5));
    append(&*log, marker(2, 0, false));
    assert_eq!(undecided(&*log, 8), Some(5));
    assert_eq!(undecided(&*log, 9), None);
    assert_eq!(committed_offsets(&*log, offset(9), 1 << 20), [0, 1, 2, 3, 4, 6]);
    append(&*log, marker(2, 0, true));
    assert_eq!(undecided(&*log, 9), None, "a marker without records ends nothing");
    let open = log.producers().iter().filter(|info| info.transaction_start.is_some()).count();
    assert_eq!((log.producers().len(), open), (2, 0));
}

pub(super) fn aborted_transactions_are_listed_where_they_overlap(make: Make<'_>) {
    let log = make(LogConfig::default());
    append(&*log, of(1, 0, 0, 3));
    append(&*log, of(2, 0, 0, 2));
    log.roll(NOW_MS).unwrap();
    append(&*log, marker(2, 0, false));
    append(&*log, batch(&[1; 4]));
    log.roll(NOW_MS).unwrap();
    append(&*log, marker(1, 0, false));
    append(&*log, of(3, 0, 0, 1));
    append(&*log, marker(3, 0, true));
    let (second, first) = ((2, 3, 5, 0), (1, 0, 10, 11));
    assert_eq!(aborted(&*log, 0, 13), [second, first]);
    assert_eq!(aborted(&*log, 3, 4), [second, first]);
    assert_eq!(aborted(&*log, 0, 3), [first]);
    assert_eq!(aborted(&*log, 6, 13), [first]);
    assert_eq!(aborted(&*log, 10, 11), [first]);
    assert_eq!(aborted(&*log, 11, 13), []);
    for max_bytes in [1, 200, 1 << 20] {
        assert_eq!(committed_offsets(&*log, offset(13), max_bytes), [6, 7, 8, 9, 11]);
    }
    log.truncate_to(offset(10), NOW_MS).unwrap();
    assert_eq!(aborted(&*log, 0, 13), [second]);
    assert_eq!(
        undecided(&*log, 10),
        Some(0),
        "the marker was cut off, so that the transaction is open again"
    );
    append(&*log, marker(1, 1, true));
    assert_eq!(undecided(&*log, 11), None);
    assert_eq!(committed_offsets(&*log, offset(11), 1 << 20), [0, 1, 2, 6, 7, 8, 9]);
}

pub(super) fn a_marker_is_judged_by_its_epochs(make: Make<'_>) {
    let log = make(LogConfig::default());
    append(&*log, of(1, 4, 0, 1));
    let mark = |epoch, rule| log.append_marker(marker(1, epoch, false), rule, EPOCH, NOW_MS);
    assert!(matches!(mark(3, MarkerRule::NotBelow), Err(LogError::ProducerEpochFenced { .. })));
    assert!(matches!(mark(4, MarkerRule::Above), Err(LogError::ProducerEpochFenced { .. })));
    assert_eq!(log.positions().log_end.offset, offset(1));
    mark(5, MarkerRule::Above).unwrap();
    mark(5, MarkerRule::Above).unwrap();
    assert_eq!(aborted(&*log, 0, 9), [(1, 0, 1, 2)]);
    let info = log.producer(ProducerId::new(1)).unwrap();
    assert_eq!((info.producer_epoch.get(), info.last_sequence, info.coordinator_epoch), (5, None, Some(1)));
    let refused = log.append_as_leader(of(1, 4, 1, 1), EPOCH, NOW_MS);
    assert!(matches!(refused, Err(LogError::ProducerEpochFenced { .. })));
    append(&*log, of(1, 5, 0, 1));
    let outside =
        BatchBuilder::new(Compression::NONE).with_producer(ProducerId::new(1), ProducerEpoch::new(5), 1);
    let refused = log.append_as_leader(filled(outside, &[NOW_MS]), EPOCH, NOW_MS);
    assert!(matches!(refused, Err(LogError::TransactionOpen { start, .. }) if start == offset(3)));
    let old = EndTxnMarker { committed: true, coordinator_epoch: 0 };
    let old = old.to_batch(ProducerId::new(1), ProducerEpoch::new(5), NOW_MS).unwrap();
    let refused = log.append_as_leader(old, EPOCH, NOW_MS);
    assert!(matches!(refused, Err(LogError::CoordinatorFenced { epoch: 0, current: 1, .. })));
}

fn placed(mut batch: CheckedBatch, base: usize, epoch: i32) -> CheckedBatch {
    batch.assign(offset(base), LeaderEpoch::new(epoch));
    batch
}

pub(super) fn a_follower_keeps_offsets_and_epochs_of_its_leader(make: Make<'_>) {
    let log = make(LogConfig { flush_messages: 8, ..LogConfig::default() });
    let nothing = log.append_as_follower(Vec::new(), NOW_MS).unwrap();
    assert_eq!((nothing.log_end, nothing.flush_due), (log.positions().log_end, false));
    let first = vec![placed(batch(&[1; 3]), 0, 2), placed(of(1, 0, 40, 2), 7, 5)];
    let done = log.append_as_follower(first, NOW_MS).unwrap();
    assert_eq!((done.log_end, done.flush_due), (log.positions().log_end, true));
    assert_eq!(done.log_end.offset, offset(9));
    assert_eq!(spans(&*log), [(0, 2), (7, 8)]);
    let epochs: Vec<i32> = batches(&*log, Offset::ZERO, ReadEnd::LogEnd, 1 << 20)
        .iter()
        .map(|batch| batch.header().leader_epoch().get())
        .collect();
    assert_eq!(epochs, [2, 5]);
    assert_eq!(log.end_offset_for_epoch(LeaderEpoch::new(2)).unwrap().end_offset, offset(7));
    let overlapping = vec![placed(batch(&[1; 3]), 9, 5), placed(batch(&[1; 3]), 11, 5)];
    let refused = log.append_as_follower(overlapping, NOW_MS).unwrap_err();
    assert!(matches!(refused, LogError::OffsetNotNext { expected, .. } if expected == offset(12)));
    assert_eq!(log.positions().log_end.offset, offset(9), "nothing of it was written");
    let back = log.append_as_follower(vec![placed(batch(&[1]), 8, 5)], NOW_MS).unwrap_err();
    assert!(matches!(back, LogError::OffsetNotNext { .. }));
    assert_eq!(undecided(&*log, 9), Some(7));
    let end = vec![placed(marker(1, 0, false), 9, 5), placed(of(1, 0, 42, 1), 10, 6)];
    log.append_as_follower(end, NOW_MS).unwrap();
    assert_eq!(aborted(&*log, 0, 11), [(1, 7, 9, 10)]);
    assert_eq!(undecided(&*log, 11), Some(10));
    let retry = log.append_as_leader(of(1, 0, 42, 1), LeaderEpoch::new(7), NOW_MS).unwrap();
    assert!(retry.duplicate, "a leader knows the retries of what it took as a follower");
}

pub(super) fn a_raised_log_start_hides_what_lies_below(make: Make<'_>) {
    let log = make(LogConfig::default());
    for number in 0..10 {
        let info = log.append_as_leader(batch(&[1; 3]), LeaderEpoch::new(number / 4), NOW_MS);
        info.unwrap();
    }
    append(&*log, of(1, 0, 0, 2));
    assert_eq!(log.raise_log_start(offset(13)).unwrap(), offset(13));
    assert_eq!(log.raise_log_start(offset(5)).unwrap(), offset(13), "it never goes back");
    let above = log.raise_log_start(offset(33)).unwrap_err();
    assert!(matches!(above, LogError::OffsetOutOfRange { .. }));
    assert!(matches!(log.read(&request(offset(12))), Err(LogError::OffsetOutOfRange { .. })));
    let first = batches(&*log, offset(13), ReadEnd::LogEnd, 1 << 20);
    assert_eq!(first.first().unwrap().header().base_offset(), offset(12));
    assert_eq!(log.epoch_for_offset(offset(12)), None);
    assert_eq!(log.epoch_for_offset(offset(13)), Some(LeaderEpoch::new(1)));
    let found = log.offset_for_time(0).unwrap().unwrap();
    assert_eq!(found.offset, offset(13));
    assert_eq!(undecided(&*log, 32), Some(30));
    assert_eq!(log.raise_log_start(offset(32)).unwrap(), offset(32));
    assert_eq!(undecided(&*log, 32), Some(32), "it is never below the log start");
    assert_eq!(log.offset_for_time(0).unwrap(), None);
    assert_eq!(append(&*log, of(1, 0, 2, 1)), offset(32));
}

pub(super) fn segments_are_listed_as_they_are(make: Make<'_>) {
    let log = make(LogConfig::default());
    assert_eq!(log.roll(NOW_MS).unwrap(), None, "the active segment is empty");
    append(&*log, batch(&[5, 90, 7]));
    append(&*log, batch(&[-1]));
    let active = log.segments().unwrap();
    assert_eq!(active.len(), 1);
    assert_eq!(log.roll(NOW_MS).unwrap(), Some(offset(4)));
    assert_eq!(log.roll(NOW_MS).unwrap(), None);
    append(&*log, batch(&[-1, -1]));
    let segments = log.segments().unwrap();
    let told = segments.iter().map(|it| (it.base.get(), it.end.get(), it.largest_timestamp_ms, it.is_active));
    assert_eq!(told.collect::<Vec<_>>(), [(0, 4, Some(90), false), (4, 6, None, true)]);
    assert_eq!(segments.first().unwrap().bytes, active.first().unwrap().bytes);
    assert_eq!(segments.last().unwrap().bytes, log.positions().log_end.position);
    assert_eq!(log.positions().log_end.segment_base, offset(4));
    assert_eq!(spans(&*log), [(0, 2), (3, 3), (4, 5)]);
    log.truncate_to(offset(4), NOW_MS).unwrap();
    assert_eq!(log.segments().unwrap().len(), 2, "the segment that begins at the new end stays");
    log.truncate_to(offset(3), NOW_MS).unwrap();
    assert_eq!(log.segments().unwrap().len(), 1);
}

/// One producer's side of the twin.
#[derive(Debug, Default, Clone)]
struct TwinProducer {
    epoch: i16,
    sequence: i32,
    open: Vec<usize>,
}

/// Steps from a fixed seed, against a list that says of each offset whether it is committed.
pub(super) fn random_transactions_agree_with_a_list(make: Make<'_>) {
    for seed in 0..4_u64 {
        let mut dice = super::Dice::new(seed);
        let log = make(LogConfig { segment_bytes: 2000, index_interval_bytes: 150, ..LogConfig::default() });
        let mut shown: Vec<bool> = Vec::new();
        let mut producers: BTreeMap<i64, TwinProducer> = BTreeMap::new();
        for _ in 0..300 {
            let id = i64::try_from(dice.below(4)).unwrap();
            let producer = producers.entry(id).or_default();
            match dice.below(10) {
                0 => {
                    append(&*log, batch(&vec![NOW_MS; 1 + dice.below(2)]));
                    shown.resize(usize::try_from(log.positions().log_end.offset.get()).unwrap(), true);
                }
                1 => {
                    log.roll(NOW_MS).unwrap();
                }
                2 | 3 => {
                    let committed = dice.below(2) == 0;
                    producer.epoch += 1;
                    producer.sequence = 0;
                    let marker = marker(id, producer.epoch, committed);
                    log.append_marker(marker, MarkerRule::Above, EPOCH, NOW_MS).unwrap();
                    shown.push(false);
                    for offset in producer.open.drain(..) {
                        shown[offset] = committed;
                    }
                }
                _ => {
                    let records = 1 + dice.below(3);
                    append(&*log, of(id, producer.epoch, producer.sequence, records));
                    producer.sequence += i32::try_from(records).unwrap();
                    producer.open.extend(shown.len()..shown.len() + records);
                    shown.resize(shown.len() + records, false);
                }
            }
            if dice.below(6) == 0 {
                let end = shown.len();
                let first_open = producers.values().filter_map(|producer| producer.open.first()).min();
                assert_eq!(undecided(&*log, end), first_open.map(|first| *first as i64), "seed {seed}");
                let stable = first_open.copied().unwrap_or(end);
                let committed = (0..stable).filter(|offset| shown[*offset]).map(|offset| offset as i64);
                let found = committed_offsets(&*log, offset(end), 1 + dice.below(3000) as u64);
                assert_eq!(found, committed.collect::<Vec<_>>(), "seed {seed}");
            }
        }
    }
}
