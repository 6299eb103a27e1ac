//! Appending batches, checksum included, beside a checksum and a `pwritev`.

use std::fs::File;
use std::io::IoSlice;
use std::sync::Arc;

use ottla_model::LeaderEpoch;
use ottla_model::batch::{BATCH_HEADER_BYTES, BatchRules, check_batch};
use ottla_storage::io::Directory;
use ottla_storage::io::posix::PosixDirectory;
use ottla_storage::{DiskLog, Log, LogConfig, LogOpening};

use crate::{NOW_MS, batch, cost, report};

const PAIRS: usize = 7;
const BYTES: usize = 256 << 20;
/// The checksum covers a batch from here on.
const CHECKED_FROM: usize = 21;

pub(crate) fn run() {
    for size in [64 << 10, 256 << 10] {
        let bytes = batch(size, 1024);
        let count = BYTES / bytes.len();
        let folder = tempfile::tempdir().unwrap();
        let mut pairs = Vec::new();
        for number in 0..PAIRS {
            let log = open(&folder.path().join(format!("log-{number}")));
            let ours = cost(|| {
                for _ in 0..count {
                    let checked = check_batch(bytes.clone(), &BatchRules::default(), NOW_MS).unwrap();
                    log.append_as_leader(checked, LeaderEpoch::new(0), NOW_MS).unwrap();
                }
            });
            drop(log);
            std::fs::remove_dir_all(folder.path().join(format!("log-{number}"))).unwrap();
            let path = folder.path().join("floor");
            let file = File::options().create(true).truncate(true).write(true).open(&path).unwrap();
            let floor = cost(|| {
                let mut position = 0;
                for _ in 0..count {
                    assert_ne!(ottla_model::crc32c::checksum(&bytes[CHECKED_FROM..]), 0);
                    let (header, body) = bytes.split_at(BATCH_HEADER_BYTES);
                    let pieces = [IoSlice::new(header), IoSlice::new(body)];
                    position += nix::sys::uio::pwritev(&file, &pieces, position).unwrap() as i64;
                }
            });
            drop(file);
            std::fs::remove_file(path).unwrap();
            pairs.push((ours, floor));
        }
        let name = format!("append batches of {} KiB, checked", size >> 10);
        report(&name, "s/GB of CPU", (count * bytes.len()) as f64 / 1e9, &pairs, "at most 1.25");
    }
}

fn open(path: &std::path::Path) -> DiskLog {
    let directory: Arc<dyn Directory> = Arc::new(PosixDirectory::new(path));
    directory.create().unwrap();
    let opening = LogOpening {
        directory,
        config: LogConfig::default(),
        is_clean: true,
        log_start: ottla_model::Offset::ZERO,
        recovery_point: ottla_model::Offset::ZERO,
        now_ms: NOW_MS,
    };
    DiskLog::open(opening).unwrap().0
}
