//! Finding an offset in a log of many segments: from the page cache, beside reading one batch header at a known place, and
//! with all of its files dropped from the page cache first.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ottla_model::batch::{BATCH_HEADER_BYTES, CheckedBatch};
use ottla_model::{LeaderEpoch, Offset};
use ottla_storage::io::Directory;
use ottla_storage::io::posix::PosixDirectory;
use ottla_storage::{DiskLog, Log, LogConfig, LogOpening, ReadEnd, ReadMode, ReadOutcome, ReadRequest};

use crate::{NOW_MS, batch, cost, report};

const SEGMENTS: usize = 20;
const SEGMENT_BYTES: u32 = 32 << 20;
const LOOKUPS: i64 = 20_000;
const COLD_LOOKUPS: i64 = 20;
const PAIRS: usize = 7;

pub(crate) fn run() {
    let folder = tempfile::tempdir().unwrap();
    let log = filled(folder.path());
    let end = log.positions().log_end.offset.get();
    // An odd stride visits offsets all over the log.
    let offset = |number: i64| Offset::new(number.wrapping_mul(7_919_999).rem_euclid(end));
    let file = File::open(files(folder.path(), "log").first().unwrap()).unwrap();
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        let ours = cost(|| (0..LOOKUPS).for_each(|number| find(&log, offset(number))));
        let floor = cost(|| {
            let mut header = [0; BATCH_HEADER_BYTES];
            for number in 0..LOOKUPS.unsigned_abs() {
                let position = number.wrapping_mul(7_919_999) % (u64::from(SEGMENT_BYTES) / 2);
                file.read_exact_at(&mut header, position).unwrap();
            }
        });
        pairs.push((ours, floor));
    }
    report(
        "look an offset up, hot",
        "µs of CPU",
        LOOKUPS as f64 / 1e6,
        &pairs,
        "none; the floor is one pread",
    );
    drop(log);

    // Written back first, since dirty pages are not dropped.
    for path in ["log", "index", "timeindex"].iter().flat_map(|kind| files(folder.path(), kind)) {
        let file = File::open(path).unwrap();
        file.sync_all().unwrap();
        nix::fcntl::posix_fadvise(&file, 0, 0, nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED).unwrap();
    }
    let log = open(folder.path(), true);
    let started = Instant::now();
    (0..COLD_LOOKUPS).for_each(|number| find(&log, offset(number)));
    let each = started.elapsed().as_secs_f64() * 1e3 / COLD_LOOKUPS as f64;
    println!("look an offset up, nothing cached: {each:.2} ms each, of wall time");
}

fn find(log: &DiskLog, from: Offset) {
    let request = ReadRequest {
        from,
        max_bytes: 1,
        end: ReadEnd::LogEnd,
        at_least_one_batch: true,
        mode: ReadMode::MayBlock,
    };
    assert!(matches!(log.read(&request).unwrap(), ReadOutcome::Found(_)));
}

fn filled(path: &Path) -> DiskLog {
    let log = open(path, true);
    let bytes = batch(4096, 256);
    while log.segments().unwrap().len() < SEGMENTS {
        for _ in 0..1000 {
            let checked = CheckedBatch::from_leader(&bytes).unwrap();
            log.append_as_leader(checked, LeaderEpoch::new(0), NOW_MS).unwrap();
        }
    }
    log.flush_up_to(log.positions().log_end.offset, NOW_MS).unwrap();
    log
}

fn open(path: &Path, is_clean: bool) -> DiskLog {
    let directory: Arc<dyn Directory> = Arc::new(PosixDirectory::new(path));
    directory.create().unwrap();
    let opening = LogOpening {
        directory,
        config: LogConfig { segment_bytes: SEGMENT_BYTES, ..LogConfig::default() },
        is_clean,
        log_start: Offset::ZERO,
        recovery_point: Offset::ZERO,
        now_ms: NOW_MS,
    };
    DiskLog::open(opening).unwrap().0
}

fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == kind));
    files.sort();
    files
}
