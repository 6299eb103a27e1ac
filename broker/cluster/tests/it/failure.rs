//! A disk that fails under the metadata log: whoever waits is told, nothing more is written, and a restart finds what
//! was answered.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ottla_cluster::{
    ControllerRequest, EmbeddedConfig, EmbeddedController, EmbeddedError, FeedError, LinkError,
    METADATA_FOLDER,
};
use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, Offset, ProducerId};
use ottla_protocol::messages::create_topics::CreateTopicsRequest;
use ottla_storage::io::posix::PosixDirectory;
use ottla_storage::io::{Create, Directory, DirectoryEntry, LogFile, Stamp};
use ottla_storage::{
    AbortedTransaction, AppendInfo, CommittedRead, DiskLog, EpochEnd, FollowerAppend, Log, LogConfig, LogDir,
    LogError, LogPositions, MarkerRule, ProducerInfo, ReadOutcome, ReadRequest, SegmentInfo,
    TimestampedOffset,
};

use crate::node::{Node, block_on, config, snapshots};
use crate::support::{registration, topic};

const SOUND: u8 = 0;
const APPENDS_FAIL: u8 = 1;
const FLUSHES_FAIL: u8 = 2;
const SNAPSHOTS_FAIL: u8 = 3;
/// Small, so that some topics make a snapshot due.
const SNAPSHOT_AFTER_BYTES: u64 = 4000;

/// A log whose disk fails on command.
#[derive(Debug)]
struct Failing {
    inner: DiskLog,
    fault: Arc<AtomicU8>,
}

impl Failing {
    fn check(&self, fault: u8) -> Result<(), LogError> {
        if self.fault.load(Ordering::SeqCst) != fault {
            return Ok(());
        }
        let source = io::Error::from_raw_os_error(28);
        Err(LogError::Io { action: "write", path: "the log".into(), source })
    }
}

impl Log for Failing {
    fn append_as_leader(
        &self,
        batch: CheckedBatch,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        self.check(APPENDS_FAIL)?;
        self.inner.append_as_leader(batch, epoch, now_ms)
    }

    fn append_marker(
        &self,
        marker: CheckedBatch,
        rule: MarkerRule,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<AppendInfo, LogError> {
        self.check(APPENDS_FAIL)?;
        self.inner.append_marker(marker, rule, epoch, now_ms)
    }

    fn append_as_follower(
        &self,
        batches: Vec<CheckedBatch>,
        now_ms: i64,
    ) -> Result<FollowerAppend, LogError> {
        self.check(APPENDS_FAIL)?;
        self.inner.append_as_follower(batches, now_ms)
    }

    fn first_undecided(&self, high_watermark: Offset) -> Option<Offset> {
        self.inner.first_undecided(high_watermark)
    }

    fn aborted_transactions(&self, from: Offset, end: Offset) -> Result<Vec<AbortedTransaction>, LogError> {
        self.inner.aborted_transactions(from, end)
    }

    fn read_committed(&self, request: &ReadRequest) -> Result<CommittedRead, LogError> {
        self.inner.read_committed(request)
    }

    fn end_of_read(&self, from: Offset, bytes: u64) -> Result<Offset, LogError> {
        self.inner.end_of_read(from, bytes)
    }

    fn producers(&self) -> Vec<ProducerInfo> {
        self.inner.producers()
    }

    fn producer(&self, producer_id: ProducerId) -> Option<ProducerInfo> {
        self.inner.producer(producer_id)
    }

    fn raise_log_start(&self, offset: Offset) -> Result<Offset, LogError> {
        self.inner.raise_log_start(offset)
    }

    fn segments(&self) -> Result<Vec<SegmentInfo>, LogError> {
        self.inner.segments()
    }

    fn roll(&self, now_ms: i64) -> Result<Option<Offset>, LogError> {
        self.inner.roll(now_ms)
    }

    fn flush_up_to(&self, offset: Offset, now_ms: i64) -> Result<Offset, LogError> {
        self.check(FLUSHES_FAIL)?;
        self.inner.flush_up_to(offset, now_ms)
    }

    fn read(&self, request: &ReadRequest) -> Result<ReadOutcome, LogError> {
        self.inner.read(request)
    }

    fn offset_for_time(&self, timestamp_ms: i64) -> Result<Option<TimestampedOffset>, LogError> {
        self.inner.offset_for_time(timestamp_ms)
    }

    fn offset_of_max_timestamp(&self) -> Result<Option<TimestampedOffset>, LogError> {
        self.inner.offset_of_max_timestamp()
    }

    fn positions(&self) -> LogPositions {
        self.inner.positions()
    }

    fn begin_epoch(&self, epoch: LeaderEpoch) {
        self.inner.begin_epoch(epoch);
    }

    fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.inner.latest_epoch()
    }

    fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.inner.epoch_for_offset(offset)
    }

    fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> Option<EpochEnd> {
        self.inner.end_offset_for_epoch(epoch)
    }

    fn flush_due(&self, now_ms: i64) -> bool {
        self.inner.flush_due(now_ms)
    }

    fn truncate_to(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        self.inner.truncate_to(offset, now_ms)
    }

    fn restart_at(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        self.inner.restart_at(offset, now_ms)
    }

    fn configure(&self, config: LogConfig) {
        self.inner.configure(config);
    }

    fn expire_producers(&self, now_ms: i64) -> usize {
        self.inner.expire_producers(now_ms)
    }

    fn close(&self, now_ms: i64) -> Result<(), LogError> {
        self.inner.close(now_ms)
    }
}

/// A folder that takes no snapshots while its disk is full.
#[derive(Debug)]
struct Full {
    inner: PosixDirectory,
    fault: Arc<AtomicU8>,
}

impl Directory for Full {
    fn open(&self, name: &str, create: Create) -> io::Result<Arc<dyn LogFile>> {
        if name.ends_with(".part") && self.fault.load(Ordering::SeqCst) == SNAPSHOTS_FAIL {
            return Err(io::Error::from_raw_os_error(28));
        }
        self.inner.open(name, create)
    }

    fn path(&self) -> PathBuf {
        self.inner.path()
    }

    fn folder(&self, name: &str) -> Arc<dyn Directory> {
        self.inner.folder(name)
    }

    fn create(&self) -> io::Result<()> {
        self.inner.create()
    }

    fn list(&self) -> io::Result<Vec<DirectoryEntry>> {
        self.inner.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.inner.remove_folder(name)
    }

    fn stamp(&self, name: &str) -> io::Result<Option<Stamp>> {
        self.inner.stamp(name)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}

fn start(log_dir: &Path, fault: &Arc<AtomicU8>) -> Result<Node, EmbeddedError> {
    let directory = LogDir::open(log_dir).unwrap();
    let (inner, _) = directory.open_internal(METADATA_FOLDER, LogConfig::default(), 0).unwrap();
    let log = Failing { inner, fault: Arc::clone(fault) };
    let folder = PosixDirectory::new(&log_dir.join(METADATA_FOLDER));
    let folder = Full { inner: folder, fault: Arc::clone(fault) };
    let config = EmbeddedConfig { snapshot_after_bytes: SNAPSHOT_AFTER_BYTES, ..config() };
    EmbeddedController::start_on(config, Box::new(log), Arc::new(folder)).map(Node::of)
}

#[test]
fn after_a_failed_write_or_fsync_every_request_is_refused_with_its_reason() {
    for fault in [APPENDS_FAIL, FLUSHES_FAIL] {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(AtomicU8::new(SOUND));
        let mut node = start(dir.path(), &disk).unwrap();
        node.register(registration(-1));
        node.create(vec![topic("answered", 1, 1)]);
        let call = |name: &str| {
            let topics = vec![topic(name, 1, 1)];
            node.link
                .call(ControllerRequest::CreateTopics(CreateTopicsRequest { topics, ..Default::default() }))
        };
        disk.store(fault, Ordering::SeqCst);
        let answers = [call("lost"), call("late")].map(block_on);
        disk.store(SOUND, Ordering::SeqCst);
        let after = block_on(call("later still"));
        for answer in answers.into_iter().chain([after]) {
            let Err(LinkError::Failed { reason }) = answer else { panic!("fault {fault}: {answer:?}") };
            assert!(reason.contains("cannot write the log"), "{reason}");
        }
        assert!(matches!(node.feed.try_next(), Err(FeedError::Failed { .. })), "nothing was published");
        assert_eq!(node.topics(), ["answered"]);
        let ended = node.controller.shutdown();
        assert!(matches!(ended, Err(EmbeddedError::Log(_))), "{ended:?}");

        let again = Node::start(dir.path()).unwrap();
        assert!(again.topics().contains(&"answered".to_owned()));
        assert!(!again.topics().contains(&"later still".to_owned()));
    }
}

#[test]
fn a_start_that_cannot_write_fails_and_the_next_one_goes_on() {
    for fault in [APPENDS_FAIL, FLUSHES_FAIL] {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(AtomicU8::new(fault));
        let error = start(dir.path(), &disk).err().unwrap();
        assert!(matches!(error, EmbeddedError::Log(_)), "{error}");
        disk.store(SOUND, Ordering::SeqCst);
        let mut node = start(dir.path(), &disk).unwrap();
        node.register(registration(-1));
        assert_eq!(node.image.feature_level("metadata.version"), 33);
        let defaults = node.image.configs(&ottla_cluster::ConfigResource::default_broker()).unwrap();
        assert_eq!(defaults.get("min.insync.replicas").unwrap(), "1");
    }
}

#[test]
fn a_snapshot_that_cannot_be_written_is_tried_again_when_the_log_has_grown_as_much() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(AtomicU8::new(SOUND));
    let mut node = start(dir.path(), &disk).unwrap();
    node.register(registration(-1));
    disk.store(SNAPSHOTS_FAIL, Ordering::SeqCst);
    (0..60).for_each(|n| drop(node.create(vec![topic(&format!("a{n}"), 2, 1)])));
    assert_eq!(snapshots(dir.path()).len(), 1, "only the first start's");
    disk.store(SOUND, Ordering::SeqCst);
    (0..60).for_each(|n| drop(node.create(vec![topic(&format!("b{n}"), 2, 1)])));
    assert!(snapshots(dir.path()).len() > 1);
    assert_eq!(node.topics().len(), 120);
}
