//! What a start costs after an orderly stop: it does not grow with the bytes on the disk.

use ottla_model::Offset;
use ottla_storage::io::sim::SimDisk;
use ottla_storage::{DiskLog, Log, LogConfig, LogOpening};

use crate::support::{EPOCH, NOW_MS, batch};

const SEGMENTS: usize = 4;

fn open(disk: &SimDisk, is_clean: bool, recovery_point: Offset) -> DiskLog {
    let opening = LogOpening {
        directory: disk.root().folder("t-0"),
        config: LogConfig::default(),
        is_clean,
        log_start: Offset::ZERO,
        recovery_point,
        now_ms: NOW_MS,
    };
    DiskLog::open(opening).unwrap().0
}

/// Calls of a clean start, and the bytes of records that they may read, for segments of so many batches.
fn cost(batches: usize, timestamp_ms: i64) -> (usize, usize) {
    let disk = SimDisk::new();
    let log = open(&disk, false, Offset::ZERO);
    for segment in 0..SEGMENTS {
        for _ in 0..batches {
            log.append_as_leader(batch(timestamp_ms, 1, 500), EPOCH, NOW_MS).unwrap();
        }
        if segment + 1 < SEGMENTS {
            log.roll(NOW_MS).unwrap();
        }
    }
    log.close(NOW_MS).unwrap();
    let end = log.positions().log_end.offset;
    drop(log);
    disk.record();
    let log = open(&disk, true, end);
    assert_eq!(log.positions().log_end.offset, end);
    let trace = disk.trace();
    let read = trace.iter().filter(|call| call.verb == "read" && call.on.ends_with(".log"));
    (trace.len(), read.map(|call| call.bytes).sum())
}

#[test]
fn a_clean_start_reads_no_more_of_a_long_log_than_of_a_short_one() {
    for timestamp_ms in [NOW_MS, -1] {
        let (_, short) = cost(20, timestamp_ms);
        let (calls, long) = cost(400, timestamp_ms);
        let window = 4096;
        assert!(
            long <= short + 4 * window,
            "{long} bytes are read where {short} are of a twentieth of the log"
        );
        assert!(long <= (SEGMENTS + 6) * window, "{long} bytes");
        assert!(calls < 100, "{calls} calls");
    }
}
