//! What must hold of a log that was found again: records, indexes, producers, transactions.

use std::collections::{BTreeMap, BTreeSet};

use ottla_model::batch::{EndTxnMarker, RecordBatch};
use ottla_model::{Offset, ProducerId};
use ottla_storage::conformance::committed_offsets;
use ottla_storage::io::Create;
use ottla_storage::io::Directory;
use ottla_storage::{DiskLog, Log, ProducerInfo, ReadEnd, ReadOutcome, ReadRequest};

use super::twin::{self, Kind, Twin, TwinBatch, TwinRecord};
use super::world::EPOCH_OF_PRODUCERS;
use crate::support::{NOW_MS, batches, bytes_of, request};

/// The batches of a log as it is found, of which the first may begin before the log start.
pub(super) fn found_batches(log: &DiskLog) -> Vec<TwinBatch> {
    let start = log.positions().log_start.get();
    batches(log, start, ReadEnd::LogEnd, 300).iter().map(as_twin).collect()
}

fn as_twin(batch: &RecordBatch) -> TwinBatch {
    let header = batch.header();
    let decoded = batch.records(1 << 20).unwrap();
    let mut marker = None;
    let mut records = Vec::new();
    for record in decoded.iter().map(Result::unwrap) {
        let (mut key, mut value) = (record.key.unwrap().to_vec(), record.value.map(<[u8]>::to_vec));
        if header.is_control() {
            marker = Some(EndTxnMarker::parse(&key, &value.unwrap()).unwrap().committed);
            (key, value) = (Vec::new(), Some(Vec::new()));
        }
        records.push(TwinRecord {
            offset: record.offset.get(),
            timestamp_ms: record.timestamp_ms,
            key,
            value,
        });
    }
    let kind = match marker {
        Some(committed) => Kind::Marker(committed),
        None if header.is_control() => Kind::EmptyMarker,
        None if !header.producer_id().is_some() => Kind::Plain,
        None if header.is_transactional() => Kind::Transactional(header.base_sequence()),
        None => Kind::Sequenced(header.base_sequence()),
    };
    let producer = if kind == Kind::Plain { 5 } else { header.producer_id().get() };
    let (base, last) = (header.base_offset().get(), header.last_offset().get());
    TwinBatch { producer, kind, base, last, records }
}

/// What is found after a loss of power is what was appended, and all that was said to be durable. Returns its batches.
pub(super) fn check_survived(name: &str, log: &DiskLog, twin: &Twin) -> Vec<TwinBatch> {
    let positions = log.positions();
    let (start, end) = (positions.log_start.get(), positions.log_end.offset.get());
    assert!(start >= twin.start_durable, "{name}: log start {start} of {}", twin.start_durable);
    assert!(start <= twin.start, "{name}: log start {start} where nobody asked for more than {}", twin.start);
    assert!(end >= twin.flushed, "{name}: {end} of {} flushed offsets are left", twin.flushed);
    let found = found_batches(log);
    for batch in &found {
        let is_cleaned = batch.base < twin.cleaned_end;
        let is_of = |whole: &TwinBatch| batch == whole || is_cleaned && batch.is_left_of(whole);
        let written = twin.candidates(batch.base).any(is_of);
        assert!(written, "{name}: nobody wrote {batch:?} {positions:?} {twin:?}");
        if batch.last < twin.flushed {
            let acknowledged = twin.batches.iter().any(is_of);
            assert!(acknowledged, "{name}: below {} lies {batch:?}", twin.flushed);
        }
    }
    // Before there is any recovery point, a hole may as well be a file that was lost, and what follows it is kept; and a
    // compacted log has holes.
    let may_have_holes = twin.checkpoint == 0 || twin.is_compacted;
    let whole_below = match twin.cleaned_end {
        0 if may_have_holes => twin.flushed,
        0 => i64::MAX,
        // What is missing is looked at record by record.
        _ => 0,
    };
    check_order(name, &found, (start, end), whole_below, &twin.holes());
    check_compacted(name, &found, twin);
    found
}

/// A compaction took nothing but what it may take, and gave nothing another form.
pub(super) fn check_compacted(name: &str, found: &[TwinBatch], twin: &Twin) {
    if twin.cleaned_end == 0 {
        return;
    }
    let left: BTreeSet<i64> =
        found.iter().flat_map(|batch| &batch.records).map(|record| record.offset).collect();
    for record in twin.lasting(twin.flushed) {
        let is_there = left.contains(&record.offset);
        assert!(is_there, "{name}: {record:?} at {} is gone, found {found:?}", record.offset);
    }
    for offset in twin.superseded() {
        assert!(!left.contains(&offset), "{name}: {offset} has come back, found {found:?}");
    }
    // Above what a compaction has come to every batch is there, markers too.
    let bases: BTreeSet<i64> = found.iter().map(|batch| batch.base).collect();
    let above =
        twin.batches.iter().filter(|batch| twin.cleaned_end <= batch.base && batch.last < twin.flushed);
    for batch in above {
        assert!(bases.contains(&batch.base), "{name}: {batch:?} is gone");
    }
}

/// A reader of committed records is given them all, and no others.
fn check_committed(name: &str, log: &DiskLog, all: &[TwinBatch], start: i64, end: i64) {
    let stable = log.first_undecided(Offset::new(end)).map_or(end, Offset::get);
    let aborted = twin::aborted_bases(all);
    let counts = |batch: &&TwinBatch| {
        !matches!(batch.kind, Kind::Marker(_) | Kind::EmptyMarker)
            && !aborted.contains(&batch.base)
            && batch.last < stable
    };
    let records = all.iter().filter(counts).flat_map(|batch| &batch.records);
    let expected: Vec<i64> = records.map(|record| record.offset).filter(|offset| *offset >= start).collect();
    let found = committed_offsets(log, Offset::new(end), 400);
    assert_eq!(found, expected, "{name}: committed records from {start} to {stable}");
}

/// Offsets follow each other, but for known holes, and others above an offset.
fn check_order(
    name: &str,
    found: &[TwinBatch],
    (start, end): (i64, i64),
    whole_below: i64,
    holes: &[(i64, i64)],
) {
    let mut next = start;
    let is_hole = |base, next| holes.iter().any(|(from, to)| *from <= next && *to == base);
    let follows = |base: i64, next: i64| base <= next || next >= whole_below || is_hole(base, next);
    for (number, batch) in found.iter().enumerate() {
        assert!(number == 0 || batch.base >= next, "{name}: {} is there twice", batch.base);
        assert!(
            follows(batch.base, next),
            "{name}: {} does not follow {next}, whole below {whole_below}, {holes:?}",
            batch.base
        );
        next = batch.last + 1;
    }
    assert!(follows(end, next), "{name}: the last batch ends at {next}, the log at {end}");
    check_sequences(name, found);
}

/// No batch of an idempotent producer is there twice.
fn check_sequences(name: &str, found: &[TwinBatch]) {
    let mut last: BTreeMap<i64, i32> = BTreeMap::new();
    for batch in found {
        let Some(sequence) = batch.sequence() else { continue };
        let before = last.insert(batch.producer, sequence);
        assert!(
            before.is_none_or(|before| before < sequence),
            "{name}: sequence {sequence} twice: {batch:?}"
        );
    }
}

/// A log and what it says of itself agree: offsets and times are found, producers and transactions are those of its
/// batches, of which those below the log start are known only to the twin.
pub(super) fn check_agrees(name: &str, log: &DiskLog, all: &[TwinBatch], twin: &Twin) {
    let positions = log.positions();
    let (start, end) = (positions.log_start.get(), positions.log_end.offset.get());
    for batch in all.iter().filter(|batch| batch.last >= start) {
        for record in batch.records.iter().filter(|record| record.offset >= start) {
            let wanted = ReadRequest { max_bytes: 1, ..request(record.offset) };
            let ReadOutcome::Found(slice) = log.read(&wanted).unwrap() else {
                panic!("{name}: nothing at {}", record.offset);
            };
            let first = RecordBatch::split_first(&mut bytes_of(&slice)).unwrap().unwrap();
            assert_eq!(
                first.header().base_offset().get(),
                batch.base,
                "{name}: looked for {}",
                record.offset
            );
        }
    }
    check_times(name, log, all, twin, start);
    check_producers(name, log, all, twin, start);
    check_transactions(name, log, all, twin, (start, end));
    check_committed(name, log, all, start, end);
}

fn check_times(name: &str, log: &DiskLog, all: &[TwinBatch], twin: &Twin, start: i64) {
    let readable = || all.iter().flat_map(|batch| &batch.records).filter(|record| record.offset >= start);
    let largest = readable().map(|record| record.timestamp_ms).max();
    // The log start may lie inside the segment whose largest time is below it, and a batch that a compaction left without
    // records keeps its time.
    let found = log.offset_of_max_timestamp().unwrap();
    if start == 0 && twin.cleaned_end == 0 {
        assert_eq!(found.map(|found| found.timestamp_ms), largest, "{name}: the largest time");
    }
    for time_ms in (NOW_MS..NOW_MS + 1000).step_by(97) {
        let expected = readable().find(|record| record.timestamp_ms >= time_ms).map(|record| record.offset);
        let found = log.offset_for_time(time_ms).unwrap().map(|found| found.offset.get());
        assert_eq!(found, expected, "{name}: time {time_ms}");
    }
}

/// What a log knows of its producers is what its batches say. Where a compaction took batches for the sake of one that was
/// truncated since, a snapshot of before says more than what is left, as with Kafka: but nothing that was never so.
fn check_producers(name: &str, log: &DiskLog, all: &[TwinBatch], twin: &Twin, start: i64) {
    let expected = twin::producers(all);
    let found = log.producers();
    let was_once = |info: &ProducerInfo| {
        twin.cleaned_end > 0
            && twin.was_truncated
            && twin.had_producer(info.producer_id.get(), info.last_sequence)
    };
    for (id, expected) in &expected {
        let info = found.iter().find(|info| info.producer_id == ProducerId::new(*id));
        let Some(info) = info else {
            assert!(expected.last_offset < start, "{name}: producer {id} is forgotten");
            continue;
        };
        assert_eq!(info.producer_epoch.get(), EPOCH_OF_PRODUCERS);
        // Where only its marker is left, a start may know no more.
        let is_forgotten = info.last_sequence.is_none() && expected.last_data < start;
        assert!(
            is_forgotten
                || info.last_sequence == expected.last_sequence
                || info.last_sequence > expected.last_sequence && was_once(info),
            "{name}: producer {id}, {info:?} where {expected:?} is right above {start}"
        );
        let began = info.transaction_start.map(Offset::get);
        let is_right = began == expected.transaction_start || expected.transaction_start < Some(start);
        assert!(is_right, "{name}: producer {id}, {info:?} where {expected:?} is right above {start}");
    }
    let is_known = |info: &ProducerInfo| expected.contains_key(&info.producer_id.get()) || was_once(info);
    assert!(found.iter().all(is_known), "{name}: {found:?} where {expected:?} is known");
}

fn check_transactions(name: &str, log: &DiskLog, all: &[TwinBatch], twin: &Twin, (start, end): (i64, i64)) {
    let expected: Vec<_> = twin::aborted(all).into_iter().filter(|(_, _, last)| *last >= start).collect();
    let found = log.aborted_transactions(Offset::new(start), Offset::new(end)).unwrap();
    let found: Vec<_> =
        found.iter().map(|a| (a.producer_id.get(), a.first_offset.get(), a.last_offset.get())).collect();
    // Of what lies below the log start a start may know nothing.
    for (producer, first, last) in &expected {
        let has_data = all.iter().any(|batch| {
            batch.producer == *producer && batch.sequence().is_some() && (start..*last).contains(&batch.last)
        });
        let is_found = found.iter().any(|found| {
            (found.0, found.2) == (*producer, *last)
                && (found.1 == *first
                    || *first < start && found.1 >= *first
                    // A compaction may take its first records.
                    || found.1 < twin.cleaned_end && found.1 <= *first)
        });
        assert!(
            is_found || *first < start && !has_data,
            "{name}: {found:?} from {start} to {end}, not {expected:?}"
        );
    }
    let written = twin::aborted(&twin.batches);
    for (producer, _, last) in &found {
        let mut right =
            expected.iter().chain(written.iter().filter(|(_, first, _)| *first < twin.cleaned_end));
        let is_right = right.any(|right| (right.0, right.2) == (*producer, *last));
        assert!(is_right, "{name}: {found:?} aborted from {start} to {end}, not {expected:?}");
    }
    // A transaction that began below the log start is open from there on, unless a start found nothing of it.
    let known = twin::producers(all);
    let began = || known.values().filter_map(|producer| producer.transaction_start);
    let above = began().filter(|began| *began >= start).min();
    let undecided = log.first_undecided(Offset::new(end)).map(Offset::get);
    let is_below = began().any(|began| began < start);
    let is_right = undecided == above
        || is_below && undecided.is_some_and(|undecided| above.is_none_or(|above| undecided <= above));
    assert!(is_right, "{name}: {undecided:?} undecided from {start} to {end}, where {known:?} are known");
}

/// After an orderly stop every entry of every index names a batch of its segment.
pub(super) fn check_index_files(name: &str, folder: &dyn Directory, all: &[TwinBatch]) {
    let names: Vec<String> = folder.list().unwrap().into_iter().map(|entry| entry.name).collect();
    let read = |name: &str| {
        let file = folder.open(name, Create::No).unwrap();
        let mut bytes = vec![0; usize::try_from(file.bytes().unwrap()).unwrap()];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
        bytes
    };
    for log_name in names.iter().filter(|name| name.ends_with(".log")) {
        let stem = log_name.strip_suffix(".log").unwrap();
        let base: i64 = stem.parse().unwrap();
        let layout = layout(&read(log_name));
        for entry in read(&format!("{stem}.index")).chunks_exact(8) {
            let (last, position) = (base + number(&entry[..4]), number(&entry[4..]));
            assert!(layout.contains(&(position, last)), "{name}: {stem}.index names {last} at {position}");
        }
        let mut before = -1;
        for entry in read(&format!("{stem}.timeindex")).chunks_exact(12) {
            let (time_ms, last) = (number(&entry[..8]), base + number(&entry[8..]));
            assert!(time_ms > before, "{name}: {stem}.timeindex goes back to {time_ms}");
            before = time_ms;
            // A batch that was compacted away may have brought it.
            if let Some(batch) = all.iter().find(|batch| batch.last == last) {
                let largest = batch.records.iter().map(|record| record.timestamp_ms).max();
                assert!(
                    largest.is_none_or(|largest| largest == time_ms),
                    "{name}: {stem}.timeindex at {last}"
                );
            }
        }
    }
}

fn number(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// Where each batch of a file begins, and its last offset.
fn layout(bytes: &[u8]) -> Vec<(i64, i64)> {
    let mut rest = bytes::Bytes::copy_from_slice(bytes);
    let mut found = Vec::new();
    let whole = rest.len();
    loop {
        let position = i64::try_from(whole - rest.len()).unwrap();
        match RecordBatch::split_first(&mut rest) {
            Ok(Some(batch)) => found.push((position, batch.header().last_offset().get())),
            _ => return found,
        }
    }
}
