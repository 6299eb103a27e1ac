//! What every [`Log`] keeps, as checks that an implementation's tests run over logs of their making. A check panics where
//! the contract is broken.

#![allow(clippy::missing_panics_doc, clippy::unwrap_used, reason = "a check that fails panics")]

use bytes::Bytes;
mod random;
mod transactions;

use std::collections::BTreeSet;

use ottla_model::batch::{BatchBuilder, CheckedBatch, NewRecord, RecordBatch};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use crate::log::{
    Log, LogConfig, LogError, ReadEnd, ReadMode, ReadOutcome, ReadRequest, ReadSlice, SliceSource,
};

pub use random::{Reopen, random_lives_agree_with_a_list};

/// Makes an empty log with these settings, at the time [`NOW_MS`].
pub type Make<'a> = &'a dyn Fn(LogConfig) -> Box<dyn Log>;

/// A check.
pub type Check = fn(Make<'_>);

/// The time of all checks.
pub const NOW_MS: i64 = 1_700_000_100_000;

const EPOCH: LeaderEpoch = LeaderEpoch::new(3);

/// All checks, each with a name for a failing test to print.
pub const CHECKS: &[(&str, Check)] = &[
    ("offsets follow each other", offsets_follow_each_other),
    ("a read stops at its bounds", a_read_stops_at_its_bounds),
    ("a retry is written once", a_retry_is_written_once),
    ("a time finds its first record", a_time_finds_its_first_record),
    ("a truncated log goes on", a_truncated_log_goes_on),
    ("a restarted log is empty", a_restarted_log_is_empty),
    ("epochs end where the next begin", epochs_end_where_the_next_begin),
    ("a flush moves the recovery point", a_flush_moves_the_recovery_point),
    ("a closed log takes no more", a_closed_log_takes_no_more),
    ("what does not fit is refused", what_does_not_fit_is_refused),
    (
        "an open transaction holds back",
        transactions::an_open_transaction_holds_back_readers_of_committed_records,
    ),
    ("aborted transactions are listed", transactions::aborted_transactions_are_listed_where_they_overlap),
    ("a marker is judged", transactions::a_marker_is_judged_by_its_epochs),
    ("a follower keeps places", transactions::a_follower_keeps_offsets_and_epochs_of_its_leader),
    ("a raised log start hides", transactions::a_raised_log_start_hides_what_lies_below),
    ("segments are listed", transactions::segments_are_listed_as_they_are),
    ("random transactions agree with a list", transactions::random_transactions_agree_with_a_list),
];

/// The bytes of a slice.
#[must_use]
pub fn slice_bytes(slice: &ReadSlice) -> Bytes {
    use std::os::unix::fs::FileExt as _;
    let length = usize::try_from(slice.length).unwrap();
    match &slice.source {
        SliceSource::Memory(bytes) => {
            let start = usize::try_from(slice.position).unwrap();
            bytes.slice(start..start + length)
        }
        SliceSource::File(file) => {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, slice.position).unwrap();
            Bytes::from(bytes)
        }
    }
}

/// Every batch from an offset up to a bound, as a client gathers them with fetches of at most so many bytes.
#[must_use]
pub fn batches(log: &dyn Log, from: Offset, end: ReadEnd, max_bytes: u64) -> Vec<RecordBatch> {
    let mut found = Vec::new();
    let mut next = from;
    loop {
        let outcome = log.read(&ReadRequest { max_bytes, end, ..request(next) }).unwrap();
        let ReadOutcome::Found(slice) = outcome else { return found };
        let mut bytes = slice_bytes(&slice);
        let before = next;
        while let Ok(Some(batch)) = RecordBatch::split_first(&mut bytes) {
            batch.verify_crc().unwrap();
            if batch.header().next_offset() > next {
                next = batch.header().next_offset();
                found.push(batch);
            }
        }
        assert!(next > before, "a read gives at least one batch with something new");
    }
}

/// The offsets of all records that a reader of committed ones is shown, as a client gathers them: up to the last stable
/// offset, without markers and what the answered list says was aborted.
#[must_use]
pub fn committed_offsets(log: &dyn Log, high_watermark: Offset, max_bytes: u64) -> Vec<i64> {
    let stable = log.first_undecided(high_watermark).unwrap_or(high_watermark).min(high_watermark);
    let start = log.positions().log_start;
    let (mut found, mut next) = (Vec::new(), start);
    while next < stable {
        let read = ReadRequest { max_bytes, end: ReadEnd::Before(stable), ..request(next) };
        let committed = log.read_committed(&read).unwrap();
        let ReadOutcome::Found(slice) = committed.outcome else { break };
        let end = log.end_of_read(next, slice.length).unwrap().min(stable);
        let mut aborted = committed.aborted;
        let (asked, told) = (log.aborted_transactions(next, end).unwrap(), aborted.clone());
        aborted.sort_unstable_by_key(|entry| entry.first_offset);
        let mut aborted = aborted.into_iter().peekable();
        let mut hidden = BTreeSet::new();
        let mut bytes = slice_bytes(&slice);
        while let Ok(Some(batch)) = RecordBatch::split_first(&mut bytes) {
            let header = batch.header();
            assert!(header.next_offset() <= end, "a read reaches no further than was said");
            while let Some(entry) = aborted.next_if(|entry| entry.first_offset <= header.last_offset()) {
                hidden.insert(entry.producer_id);
            }
            let is_hidden = header.is_transactional() && hidden.contains(&header.producer_id());
            if header.is_control() {
                hidden.remove(&header.producer_id());
            } else if !is_hidden {
                let records = batch.records(1 << 20).unwrap();
                let offsets = records.iter().map(|record| record.unwrap().offset);
                found.extend(offsets.filter(|offset| *offset >= next.max(start)).map(Offset::get));
            }
            next = header.next_offset().max(next);
        }
        // Where a compaction left a gap, the bound that was asked for may lie far behind what was read.
        let mut concerned = asked.iter().filter(|entry| entry.first_offset < next);
        assert!(
            concerned.all(|entry| told.contains(entry)),
            "the list that comes with the bytes is no shorter"
        );
    }
    found
}

/// Numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

fn request(from: Offset) -> ReadRequest {
    ReadRequest {
        from,
        max_bytes: 1 << 20,
        end: ReadEnd::LogEnd,
        at_least_one_batch: true,
        mode: ReadMode::MayBlock,
    }
}

fn offset(number: usize) -> Offset {
    Offset::new(i64::try_from(number).unwrap())
}

fn filled(mut builder: BatchBuilder, timestamps: &[i64]) -> CheckedBatch {
    for timestamp_ms in timestamps {
        let record =
            NewRecord { timestamp_ms: *timestamp_ms, value: Some(&[b'v'; 40]), ..NewRecord::default() };
        builder.append(&record).unwrap();
    }
    builder.finish().unwrap()
}

fn batch(timestamps: &[i64]) -> CheckedBatch {
    filled(BatchBuilder::new(Compression::NONE), timestamps)
}

fn batch_of(epoch: i16, sequence: i32, records: usize) -> CheckedBatch {
    let builder = BatchBuilder::new(Compression::NONE).with_producer(
        ProducerId::new(9),
        ProducerEpoch::new(epoch),
        sequence,
    );
    filled(builder, &vec![NOW_MS; records])
}

fn append(log: &dyn Log, batch: CheckedBatch) -> Offset {
    log.append_as_leader(batch, EPOCH, NOW_MS).unwrap().base_offset
}

fn spans(log: &dyn Log) -> Vec<(i64, i64)> {
    batches(log, log.positions().log_start, ReadEnd::LogEnd, 500)
        .iter()
        .map(|batch| (batch.header().base_offset().get(), batch.header().last_offset().get()))
        .collect()
}

fn offsets_follow_each_other(make: Make<'_>) {
    let log = make(LogConfig::default());
    assert_eq!(log.positions().log_end.offset, Offset::ZERO);
    let first = log.append_as_leader(batch(&[5, 6, 7]), EPOCH, NOW_MS).unwrap();
    assert_eq!((first.base_offset, first.last_offset), (offset(0), offset(2)));
    assert_eq!((first.log_append_time_ms, first.duplicate), (None, false));
    let mut stamped = batch(&[5]);
    stamped.stamp_log_append_time(99);
    let second = log.append_as_leader(stamped, EPOCH, NOW_MS).unwrap();
    assert_eq!((second.base_offset, second.log_append_time_ms), (offset(3), Some(99)));
    assert_eq!(log.positions().log_end, second.log_end);
    assert!(second.log_end.position > first.log_end.position);
    assert_eq!(spans(&*log), [(0, 2), (3, 3)]);
    for batch in batches(&*log, Offset::ZERO, ReadEnd::LogEnd, 1) {
        assert_eq!(batch.header().leader_epoch(), EPOCH);
    }
}

fn a_read_stops_at_its_bounds(make: Make<'_>) {
    let log = make(LogConfig::default());
    let size = u64::try_from(batch(&[1; 5]).size()).unwrap();
    for _ in 0..20 {
        append(&*log, batch(&[1; 5]));
    }
    let read = |request: &ReadRequest| match log.read(request).unwrap() {
        ReadOutcome::Found(slice) => slice.length,
        ReadOutcome::Empty => 0,
        ReadOutcome::WouldBlock => panic!("this read may wait"),
    };
    for from in 0..100 {
        let found = batches(&*log, offset(from), ReadEnd::LogEnd, 1);
        assert_eq!(found.first().unwrap().header().base_offset(), offset(from / 5 * 5));
        assert_eq!(found.last().unwrap().header().next_offset(), offset(100));
    }
    for end in (0..=100).step_by(5) {
        let found = batches(&*log, Offset::ZERO, ReadEnd::Before(offset(end)), 1 << 20);
        assert_eq!(found.len(), end / 5);
    }
    let from_7 = request(offset(7));
    assert_eq!(read(&ReadRequest { max_bytes: 1, ..from_7 }), size, "one batch at least");
    assert_eq!(read(&ReadRequest { max_bytes: 1, at_least_one_batch: false, ..from_7 }), 0);
    assert_eq!(read(&ReadRequest { max_bytes: size, at_least_one_batch: false, ..from_7 }), size);
    assert_eq!(read(&ReadRequest { max_bytes: size + 7, ..from_7 }), size + 7, "cut at the exact byte");
    assert_eq!(read(&ReadRequest { end: ReadEnd::Before(offset(5)), ..from_7 }), 0);
    assert_eq!(read(&request(offset(100))), 0);
    for wanted in [-1, 101] {
        let error = log.read(&request(Offset::new(wanted))).unwrap_err();
        assert!(matches!(error, LogError::OffsetOutOfRange { end, .. } if end == offset(100)));
    }
}

fn a_retry_is_written_once(make: Make<'_>) {
    let log = make(LogConfig::default());
    for number in 0..6 {
        assert_eq!(append(&*log, batch_of(0, number * 2, 2)).get(), i64::from(number) * 2);
    }
    let end = log.positions().log_end;
    let retry = log.append_as_leader(batch_of(0, 4, 2), EPOCH, NOW_MS + 50).unwrap();
    assert_eq!((retry.base_offset, retry.last_offset, retry.duplicate), (offset(4), offset(5), true));
    assert_eq!((retry.log_append_time_ms, retry.log_end), (Some(NOW_MS), end));
    let refused = log.append_as_leader(batch_of(0, 0, 2), EPOCH, NOW_MS).unwrap_err();
    assert!(matches!(refused, LogError::SequenceOutOfOrder { sequence: 0, expected: 12, .. }));
    assert_eq!(append(&*log, batch_of(1, 0, 1)), offset(12));
    let refused = log.append_as_leader(batch_of(0, 12, 2), EPOCH, NOW_MS).unwrap_err();
    assert!(matches!(refused, LogError::ProducerEpochFenced { .. }));
    let day_ms = LogConfig::default().producer_id_expiration_ms;
    assert_eq!(log.expire_producers(NOW_MS + day_ms - 1), 0);
    assert_eq!(log.expire_producers(NOW_MS + day_ms), 1);
    assert_eq!(append(&*log, batch_of(0, 77, 1)), offset(13), "who is forgotten may begin anywhere");
}

fn a_time_finds_its_first_record(make: Make<'_>) {
    let log = make(LogConfig { index_interval_bytes: 100, ..LogConfig::default() });
    assert_eq!(log.offset_of_max_timestamp().unwrap(), None);
    assert_eq!(log.offset_for_time(0).unwrap(), None);
    let times = [50, 10, 70, 70, 20, 90, 5, 80, 100, 100, 30, 60];
    for pair in times.chunks(2) {
        append(&*log, batch(pair));
    }
    for wanted in 0..110 {
        let expected = times.iter().position(|time| *time >= wanted).map(offset);
        let found = log.offset_for_time(wanted).unwrap();
        assert_eq!(found.map(|found| found.offset), expected, "time {wanted}");
        assert!(found.is_none_or(|found| found.leader_epoch == EPOCH));
    }
    let largest = log.offset_of_max_timestamp().unwrap().unwrap();
    assert_eq!((largest.offset, largest.timestamp_ms), (offset(8), 100));
}

fn a_truncated_log_goes_on(make: Make<'_>) {
    for cut in [0, 1, 5, 7, 12, 29, 30, 31] {
        let log = make(LogConfig::default());
        for number in 0..30 {
            append(&*log, batch_of(0, number, 1));
        }
        log.flush_up_to(offset(20), NOW_MS).unwrap();
        log.begin_epoch(LeaderEpoch::new(4));
        log.truncate_to(offset(cut), NOW_MS).unwrap();
        let end = i32::try_from(cut.min(30)).unwrap();
        let positions = log.positions();
        assert_eq!(positions.log_end.offset.get(), i64::from(end));
        assert!(positions.recovery_point <= positions.log_end.offset);
        assert_eq!(spans(&*log).len(), cut.min(30));
        assert_eq!(append(&*log, batch_of(0, end, 1)).get(), i64::from(end), "producers are as of then");
        assert_eq!(append(&*log, batch_of(0, end + 1, 1)).get(), i64::from(end) + 1);
        let epoch_end = log.end_offset_for_epoch(EPOCH).unwrap();
        assert_eq!(epoch_end.end_offset.get(), i64::from(end) + 2);
    }
}

fn a_restarted_log_is_empty(make: Make<'_>) {
    let log = make(LogConfig::default());
    for number in 0..20 {
        append(&*log, batch_of(0, number, 1));
    }
    log.restart_at(offset(1000), NOW_MS).unwrap();
    let positions = log.positions();
    assert_eq!((positions.log_start, positions.log_end.offset), (offset(1000), offset(1000)));
    assert_eq!(log.latest_epoch(), None);
    assert_eq!(append(&*log, batch_of(0, 77, 2)), offset(1000));
    assert_eq!(spans(&*log), [(1000, 1001)]);
    assert!(log.read(&request(offset(999))).is_err());
}

fn epochs_end_where_the_next_begin(make: Make<'_>) {
    let log = make(LogConfig::default());
    assert_eq!(log.end_offset_for_epoch(LeaderEpoch::new(0)), None);
    for epoch in [0, 0, 2, 2, 5] {
        log.append_as_leader(batch(&[1, 1]), LeaderEpoch::new(epoch), NOW_MS).unwrap();
    }
    log.begin_epoch(LeaderEpoch::new(7));
    let end = |epoch| {
        let end = log.end_offset_for_epoch(LeaderEpoch::new(epoch));
        end.map(|end| (end.epoch.get(), end.end_offset.get()))
    };
    assert_eq!(end(0), Some((0, 4)));
    assert_eq!(end(1), Some((0, 4)));
    assert_eq!(end(2), Some((2, 8)));
    assert_eq!(end(6), Some((5, 10)));
    assert_eq!(end(7), Some((7, 10)));
    assert_eq!(end(8), None);
    assert_eq!(log.latest_epoch(), Some(LeaderEpoch::new(7)));
    assert_eq!(log.epoch_for_offset(offset(7)), Some(LeaderEpoch::new(2)));
}

fn a_flush_moves_the_recovery_point(make: Make<'_>) {
    let log = make(LogConfig { flush_messages: 3, flush_ms: 1000, ..LogConfig::default() });
    let append = || log.append_as_leader(batch(&[1]), EPOCH, NOW_MS).unwrap();
    assert!(!log.flush_due(NOW_MS + 5000), "there is nothing to flush");
    assert_eq!([append().flush_due, append().flush_due, append().flush_due], [false, false, true]);
    assert!(!log.flush_due(NOW_MS + 999));
    assert!(log.flush_due(NOW_MS + 1000));
    assert_eq!(log.flush_up_to(offset(2), NOW_MS + 1000).unwrap(), offset(2));
    assert!(!log.flush_due(NOW_MS + 1999));
    assert_eq!(log.flush_up_to(Offset::MAX, NOW_MS).unwrap(), offset(3));
    assert_eq!(log.flush_up_to(offset(1), NOW_MS).unwrap(), offset(3));
    assert_eq!(log.positions().recovery_point, offset(3));
}

fn a_closed_log_takes_no_more(make: Make<'_>) {
    let log = make(LogConfig::default());
    append(&*log, batch(&[1, 2]));
    log.close(NOW_MS).unwrap();
    log.close(NOW_MS).unwrap();
    assert!(matches!(log.append_as_leader(batch(&[1]), EPOCH, NOW_MS), Err(LogError::Closed)));
    assert!(matches!(log.truncate_to(Offset::ZERO, NOW_MS), Err(LogError::Closed)));
    assert_eq!(spans(&*log), [(0, 1)]);
    assert_eq!(log.positions().recovery_point, offset(2));
}

fn what_does_not_fit_is_refused(make: Make<'_>) {
    let log = make(LogConfig { segment_bytes: 200, ..LogConfig::default() });
    let error = log.append_as_leader(batch(&[1; 5]), EPOCH, NOW_MS).unwrap_err();
    assert!(matches!(error, LogError::BatchTooLarge { limit: 200, .. }));
    log.restart_at(Offset::new(i64::MAX - 2), NOW_MS).unwrap();
    let error = log.append_as_leader(batch(&[1; 3]), EPOCH, NOW_MS);
    assert!(error.is_err(), "the largest offset is never given");
    log.configure(LogConfig::default());
    let error = log.append_as_leader(batch(&[1; 3]), EPOCH, NOW_MS).unwrap_err();
    assert!(matches!(error, LogError::OffsetsExhausted { count: 3, .. }));
    assert_eq!(append(&*log, batch(&[1])).get(), i64::MAX - 2);
}
