//! Every kind of log keeps the contract.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use ottla_model::Offset;
use ottla_storage::conformance::{CHECKS, NOW_MS, random_lives_agree_with_a_list};
use ottla_storage::io::Directory;
use ottla_storage::io::posix::PosixDirectory;
use ottla_storage::io::sim::SimDisk;
use ottla_storage::{DiskLog, Log, LogConfig, LogOpening, MemoryLog};

fn check(make: impl Fn(LogConfig) -> Box<dyn Log>) {
    for (name, check) in CHECKS {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&make)));
        assert!(outcome.is_ok(), "{name}");
    }
}

fn open(directory: Arc<dyn Directory>, config: LogConfig) -> Box<dyn Log> {
    let opening = LogOpening {
        directory,
        config,
        is_clean: false,
        log_start: Offset::ZERO,
        recovery_point: Offset::ZERO,
        now_ms: NOW_MS,
    };
    Box::new(DiskLog::open(opening).unwrap().0)
}

fn on_disk(folder: &Path, config: LogConfig) -> Box<dyn Log> {
    let below = tempfile::tempdir_in(folder).unwrap().keep();
    open(Arc::new(PosixDirectory::new(&below)), config)
}

#[test]
fn a_log_on_disk_does() {
    let folder = tempfile::tempdir().unwrap();
    check(|config| on_disk(folder.path(), config));
}

#[test]
fn a_log_on_disk_with_tiny_segments_does() {
    let folder = tempfile::tempdir().unwrap();
    check(|config| {
        let segment_bytes = config.segment_bytes.min(1000);
        on_disk(folder.path(), LogConfig { segment_bytes, index_interval_bytes: 60, ..config })
    });
}

#[test]
fn a_log_on_the_simulated_disk_does() {
    check(|config| open(SimDisk::new().root().folder("t-0"), config));
}

#[test]
fn a_log_in_memory_does() {
    check(|config| Box::new(MemoryLog::new(config, NOW_MS)));
}

#[test]
fn random_lives_in_memory_agree_with_a_list_of_records() {
    let make = |config| -> Box<dyn Log> { Box::new(MemoryLog::new(config, NOW_MS)) };
    random_lives_agree_with_a_list(&make, &|log, _| log, 0..30);
}

#[test]
fn random_lives_on_disk_with_stops_and_kills_agree_with_a_list_of_records() {
    let current = RefCell::new((SimDisk::new(), LogConfig::default()));
    let make = |config: LogConfig| {
        *current.borrow_mut() = (SimDisk::new(), config.clone());
        open(current.borrow().0.root().folder("t-0"), config)
    };
    let reopen = |log: Box<dyn Log>, is_clean: bool| -> Box<dyn Log> {
        if is_clean {
            log.close(NOW_MS).unwrap();
        }
        let positions = log.positions();
        drop(log);
        let (disk, config) = &*current.borrow();
        let opening = LogOpening {
            directory: disk.root().folder("t-0"),
            config: config.clone(),
            is_clean,
            log_start: positions.log_start,
            recovery_point: positions.recovery_point,
            now_ms: NOW_MS,
        };
        Box::new(DiskLog::open(opening).unwrap().0)
    };
    random_lives_agree_with_a_list(&make, &reopen, 0..30);
}
