//! Small logs in temporary folders, batches, and reading a log to its end.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_model::batch::{BatchBuilder, CheckedBatch, NewRecord, RecordBatch};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use ottla_storage::conformance;
pub(crate) use ottla_storage::conformance::{NOW_MS, slice_bytes as bytes_of};
use ottla_storage::io::posix::PosixDirectory;
use ottla_storage::{DiskLog, Log, LogConfig, LogOpening, ReadEnd, ReadMode, ReadRequest, Recovery};

pub(crate) const EPOCH: LeaderEpoch = LeaderEpoch::new(3);

/// A log in a folder of its own.
pub(crate) struct TestLog {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) log: DiskLog,
    pub(crate) config: LogConfig,
}

impl TestLog {
    pub(crate) fn new(config: LogConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (log, _) = open(folder.path(), &config, false, 0).unwrap();
        Self { folder, log, config }
    }

    /// As after a kill: nothing is closed, and only the files are left. Says what the start did.
    pub(crate) fn killed(self, recovery_point: i64) -> (Self, Recovery) {
        let Self { folder, log, config } = self;
        drop(log);
        let (log, recovery) = open(folder.path(), &config, false, recovery_point).unwrap();
        (Self { folder, log, config }, recovery)
    }

    /// As after an orderly stop.
    pub(crate) fn stopped(self) -> Self {
        let Self { folder, log, config } = self;
        log.close(NOW_MS).unwrap();
        let end = log.positions().log_end.offset.get();
        drop(log);
        let (log, recovery) = open(folder.path(), &config, true, end).unwrap();
        assert_eq!(recovery, Recovery::default(), "a clean start scans nothing");
        Self { folder, log, config }
    }

    pub(crate) fn append(&self, batch: CheckedBatch) -> i64 {
        self.log.append_as_leader(batch, EPOCH, NOW_MS).unwrap().base_offset.get()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }

    pub(crate) fn end(&self) -> i64 {
        self.log.positions().log_end.offset.get()
    }
}

pub(crate) fn open(
    path: &Path,
    config: &LogConfig,
    is_clean: bool,
    recovery_point: i64,
) -> Result<(DiskLog, Recovery), ottla_storage::LogError> {
    DiskLog::open(LogOpening {
        directory: Arc::new(PosixDirectory::new(path)),
        config: config.clone(),
        is_clean,
        log_start: Offset::ZERO,
        recovery_point: Offset::new(recovery_point),
        now_ms: NOW_MS,
    })
}

pub(crate) fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A batch of so many records of one timestamp, each with a value of so many bytes.
pub(crate) fn batch(timestamp_ms: i64, records: usize, value_bytes: usize) -> CheckedBatch {
    build(BatchBuilder::new(Compression::NONE), timestamp_ms, records, value_bytes)
}

/// The same from an idempotent producer.
pub(crate) fn batch_of(producer: i64, epoch: i16, sequence: i32, records: usize) -> CheckedBatch {
    let builder = BatchBuilder::new(Compression::NONE);
    let builder = builder.with_producer(ProducerId::new(producer), ProducerEpoch::new(epoch), sequence);
    build(builder, NOW_MS, records, 10)
}

fn build(mut builder: BatchBuilder, timestamp_ms: i64, records: usize, value_bytes: usize) -> CheckedBatch {
    let value = vec![b'v'; value_bytes];
    for _ in 0..records {
        builder.append(&NewRecord { timestamp_ms, value: Some(&value), ..NewRecord::default() }).unwrap();
    }
    builder.finish().unwrap()
}

/// A batch with one record whose whole size is this.
pub(crate) fn batch_of_bytes(timestamp_ms: i64, bytes: usize) -> CheckedBatch {
    let found = (0..bytes).rev().map(|value_bytes| batch(timestamp_ms, 1, value_bytes));
    let mut fitting = found.skip_while(|batch| batch.size() > bytes);
    let batch = fitting.next().unwrap();
    assert_eq!(batch.size(), bytes);
    batch
}

pub(crate) fn request(from: i64) -> ReadRequest {
    ReadRequest {
        from: Offset::new(from),
        max_bytes: 1 << 20,
        end: ReadEnd::LogEnd,
        at_least_one_batch: true,
        mode: ReadMode::MayBlock,
    }
}

/// Every whole batch from an offset up to a bound, as a fetching client would gather them.
pub(crate) fn batches(log: &dyn Log, from: i64, end: ReadEnd, max_bytes: u64) -> Vec<RecordBatch> {
    conformance::batches(log, Offset::new(from), end, max_bytes)
}

/// Base and last offset of every batch.
pub(crate) fn spans(log: &dyn Log) -> Vec<(i64, i64)> {
    let start = log.positions().log_start.get();
    let batches = batches(log, start, ReadEnd::LogEnd, 1 << 20);
    batches.iter().map(|b| (b.header().base_offset().get(), b.header().last_offset().get())).collect()
}

pub(crate) fn content(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
