//! Offsets for times: the first record at or after a time, inside a batch of any codec, and never one that was taken away.

use ottla_model::Offset;
use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::{Codec, Compression};
use ottla_storage::{Log, LogConfig};

use crate::support::{EPOCH, NOW_MS, TestLog};

fn append(test: &TestLog, compression: Compression, times: impl IntoIterator<Item = i64>) {
    let mut builder = BatchBuilder::new(compression);
    for timestamp_ms in times {
        builder.append(&NewRecord { timestamp_ms, value: Some(b"value"), ..NewRecord::default() }).unwrap();
    }
    test.append(builder.finish().unwrap());
}

fn at(test: &TestLog, time_ms: i64) -> Option<(i64, i64)> {
    let found = test.log.offset_for_time(time_ms).unwrap();
    found.map(|found| (found.offset.get(), found.timestamp_ms))
}

#[test]
fn a_time_within_a_compressed_batch_finds_its_record_and_not_the_batch() {
    for compression in Codec::ALL.map(Compression::of) {
        let test = TestLog::new(LogConfig::default());
        append(&test, compression, 1..=50);
        for time_ms in 1..=50 {
            assert_eq!(at(&test, time_ms), Some((time_ms - 1, time_ms)));
        }
        assert_eq!((at(&test, 0), at(&test, 51)), (Some((0, 1)), None));
    }
}

#[test]
fn a_time_between_two_records_finds_the_later_one() {
    let test = TestLog::new(LogConfig::default());
    append(&test, Compression::of(Codec::Snappy), [2, 4, 6, 8]);
    let found: Vec<_> = (1..=9).map(|time_ms| at(&test, time_ms).map(|(offset, _)| offset)).collect();
    let expected = [Some(0), Some(0), Some(1), Some(1), Some(2), Some(2), Some(3), Some(3), None];
    assert_eq!(found, expected);
}

#[test]
fn records_stamped_by_the_broker_have_the_time_of_their_batch() {
    let test = TestLog::new(LogConfig::default());
    for time_ms in [NOW_MS, NOW_MS + 2000] {
        let mut builder = BatchBuilder::new(Compression::NONE);
        for timestamp_ms in [5, 7, 9] {
            let record = NewRecord { timestamp_ms, value: Some(b"value"), ..NewRecord::default() };
            builder.append(&record).unwrap();
        }
        let mut batch = builder.finish().unwrap();
        batch.stamp_log_append_time(time_ms);
        test.append(batch);
    }
    assert_eq!(at(&test, 0), Some((0, NOW_MS)));
    assert_eq!(at(&test, NOW_MS), Some((0, NOW_MS)));
    assert_eq!(at(&test, NOW_MS + 1), Some((3, NOW_MS + 2000)));
    assert_eq!(at(&test, NOW_MS + 2001), None);
}

#[test]
fn a_time_of_records_that_were_taken_away_finds_the_oldest_that_fits() {
    let test = TestLog::new(LogConfig { segment_ms: 1000, ..LogConfig::default() });
    for start in [0, 5000, 10_000] {
        append(&test, Compression::of(Codec::Zstd), start..start + 10);
    }
    assert_eq!(at(&test, 3), Some((3, 3)));
    test.log.raise_log_start(Offset::new(5)).unwrap();
    assert_eq!(at(&test, 3), Some((5, 5)), "within a batch of which a part is left");
    test.log.remove_segments(Offset::new(10)).unwrap().delete().unwrap();
    assert_eq!(at(&test, 3), Some((10, 5000)));
    assert_eq!(test.log.latest_epoch(), Some(EPOCH));
}

/// A time index entry: an eight-byte time, a four-byte offset relative to the segment.
const ENTRY_BYTES: usize = 12;

/// Two segments of a hundred batches, a record and a millisecond each, with an index entry at every third or so.
fn indexed() -> TestLog {
    let test = TestLog::new(LogConfig { index_interval_bytes: 200, ..LogConfig::default() });
    for time_ms in 0..100 {
        append(&test, Compression::NONE, [NOW_MS + time_ms]);
    }
    test.log.roll(NOW_MS).unwrap();
    for time_ms in 100..200 {
        append(&test, Compression::NONE, [NOW_MS + time_ms]);
    }
    test
}

#[test]
fn a_wrong_entry_inside_a_time_index_changes_no_answer() {
    for flipped in [1_u8, 2, 8, 64] {
        let test = indexed();
        test.log.flush_up_to(Offset::new(200), NOW_MS).unwrap();
        let path = test.file("00000000000000000000.timeindex");
        let stopped = {
            let TestLog { folder, log, config } = test;
            log.close(NOW_MS).unwrap();
            drop(log);
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / ENTRY_BYTES / 2 * ENTRY_BYTES;
            bytes[middle + ENTRY_BYTES - 1] ^= flipped;
            std::fs::write(&path, bytes).unwrap();
            let (log, _) = crate::support::open(folder.path(), &config, true, 200).unwrap();
            TestLog { folder, log, config }
        };
        for time_ms in 0..200 {
            assert_eq!(
                at(&stopped, NOW_MS + time_ms),
                Some((time_ms, NOW_MS + time_ms)),
                "flipped {flipped}"
            );
        }
    }
}

#[test]
fn the_time_index_of_another_segment_is_not_believed() {
    let TestLog { folder, log, config } = indexed();
    log.close(NOW_MS).unwrap();
    drop(log);
    let path = |base: &str| folder.path().join(format!("{base}.timeindex"));
    std::fs::copy(path("00000000000000000000"), path("00000000000000000100")).unwrap();
    let (log, _) = crate::support::open(folder.path(), &config, true, 200).unwrap();
    let test = TestLog { folder, log, config };
    for time_ms in 0..200 {
        assert_eq!(at(&test, NOW_MS + time_ms), Some((time_ms, NOW_MS + time_ms)));
    }
    let largest = test.log.offset_of_max_timestamp().unwrap().unwrap();
    assert_eq!((largest.offset.get(), largest.timestamp_ms), (199, NOW_MS + 199));
    append(&test, Compression::NONE, [NOW_MS + 200]);
    test.log.close(NOW_MS).unwrap();
}
