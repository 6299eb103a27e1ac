//! One thread a log directory that makes records durable: at once where a topic asks for it (all who wait share one
//! fsync), and every minute or 64 MiB for all others, so that a recovery is bounded. It also writes the directory's
//! checkpoint files. No fsync happens anywhere else while the broker serves.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_model::{Clock, Offset};
use ottla_storage::{LogDir, LogError, TopicPartition};
use parking_lot::{Condvar, Mutex};

use crate::metrics::Histogram;
use crate::partition::Partition;
use crate::partition::append::UNFLUSHED_BYTES_MAX;
use crate::partition::waiters::PartitionKey;
use crate::room::Room;
use crate::write_errors::WriteErrors;

/// The shortest and the longest time between two looks at `flush.ms`.
const FLUSH_LOOK_MIN: Duration = Duration::from_millis(10);
const FLUSH_LOOK_MAX: Duration = Duration::from_secs(1);
/// What a log that was busy since its last flush gets set aside on the disk for what comes next: as much as is written at
/// most before the next flush.
const RESERVE_BYTES: u64 = UNFLUSHED_BYTES_MAX;
/// The shortest time between two checkpoints of recovery points that much writing causes.
const CHECKPOINT_PAUSE: Duration = Duration::from_secs(1);

/// What one flusher is asked for. Filled by reactors, emptied by its thread; its lock is held for a moment only.
#[derive(Default)]
pub(crate) struct FlushQueue {
    pending: Mutex<Pending>,
    work: Condvar,
    /// Whatever cannot be written to the directory is told through this, by whoever meets it.
    pub(crate) errors: WriteErrors,
    /// Whether the directory has room for more records.
    pub(crate) room: Room,
    /// How long it took to make a log durable. The flusher's thread alone writes it.
    pub(crate) flushes: Histogram,
}

#[derive(Default)]
struct Pending {
    /// To be flushed now, each up to the furthest offset that was asked for.
    requested: HashMap<PartitionKey, (Arc<Partition>, Offset)>,
    /// Newly on the list of those with unflushed records.
    dirty: Vec<Arc<Partition>>,
    /// Some of `requested` were recovered: their recovery points are written down as soon as they have moved.
    recovered: bool,
    stopping: bool,
}

impl FlushQueue {
    /// Asks for everything below `end` to be made durable now.
    pub(crate) fn request(&self, partition: &Arc<Partition>, end: Offset) {
        let mut pending = self.pending.lock();
        let entry = pending.requested.entry(partition.key()).or_insert_with(|| (Arc::clone(partition), end));
        entry.1 = entry.1.max(end);
        drop(pending);
        self.work.notify_one();
    }

    /// The partition was recovered at this start. What recovery found sound is made durable and noted, so that the next
    /// start need not look at it again.
    pub(crate) fn note_recovered(&self, partition: &Arc<Partition>) {
        self.pending.lock().recovered = true;
        self.request(partition, partition.positions().log_end);
    }

    /// The partition has records that are not flushed. It asks once until it is told that it is clean.
    pub(crate) fn note_dirty(&self, partition: &Arc<Partition>) {
        self.pending.lock().dirty.push(Arc::clone(partition));
        self.work.notify_one();
    }

    /// The thread ends after what it is at; closing the logs makes durable whatever is left.
    pub(crate) fn stop(&self) {
        self.pending.lock().stopping = true;
        self.work.notify_one();
    }

    /// Waits for work or for `until`; returns what there is.
    fn take(&self, until: Option<Instant>) -> Pending {
        let mut pending = self.pending.lock();
        while pending.requested.is_empty() && pending.dirty.is_empty() && !pending.stopping {
            match until {
                Some(until) if self.work.wait_until(&mut pending, until).timed_out() => break,
                Some(_) => {}
                None => self.work.wait(&mut pending),
            }
        }
        let stopping = pending.stopping;
        let taken = std::mem::take(&mut *pending);
        pending.stopping = stopping;
        taken
    }
}

/// How often a flusher does what nobody waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlusherPace {
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub(crate) recovery_point_every: Duration,
    /// `replica.high.watermark.checkpoint.interval.ms`.
    pub(crate) high_watermark_every: Duration,
}

/// A flusher's own state.
pub(crate) struct Flusher {
    queue: Arc<FlushQueue>,
    directory: Arc<LogDir>,
    clock: Arc<dyn Clock>,
    pace: FlusherPace,
    /// All partitions of the directory, for the checkpoint that lists them all.
    partitions: Box<dyn Fn() -> Vec<Arc<Partition>> + Send>,
    dirty: HashMap<PartitionKey, Arc<Partition>>,
    /// As they were last written.
    high_watermarks: Vec<(TopicPartition, Offset)>,
    /// When something is due; none while nothing has changed since it was last done.
    recovery_points_due: Option<Instant>,
    checkpoint_due: Option<Instant>,
    high_watermarks_due: Option<Instant>,
    flush_look_due: Option<Instant>,
    failure_told: bool,
}

impl Flusher {
    pub(crate) fn new(
        queue: Arc<FlushQueue>,
        directory: Arc<LogDir>,
        clock: Arc<dyn Clock>,
        pace: FlusherPace,
        partitions: Box<dyn Fn() -> Vec<Arc<Partition>> + Send>,
    ) -> Self {
        Self {
            queue,
            directory,
            clock,
            pace,
            partitions,
            dirty: HashMap::new(),
            high_watermarks: Vec::new(),
            recovery_points_due: None,
            checkpoint_due: None,
            high_watermarks_due: None,
            flush_look_due: None,
            failure_told: false,
        }
    }

    /// Works until the queue is stopped.
    pub(crate) fn run(mut self) {
        loop {
            let due = [
                self.recovery_points_due,
                self.checkpoint_due,
                self.high_watermarks_due,
                self.flush_look_due,
            ];
            let pending = self.queue.take(due.into_iter().flatten().min());
            if pending.stopping {
                return;
            }
            self.work_off(pending, Instant::now());
        }
    }

    fn work_off(&mut self, pending: Pending, now: Instant) {
        for partition in pending.dirty {
            self.dirty.insert(partition.key(), partition);
        }
        for (partition, end) in pending.requested.into_values() {
            self.flush(&partition, end);
        }
        if pending.recovered {
            self.checkpoint_due = Some(now);
        }
        self.look_at_time(now);
    }

    fn look_at_time(&mut self, now: Instant) {
        if self.directory.failure().is_some() {
            self.give_up();
            return;
        }
        if self.flush_look_due.is_some_and(|due| due <= now) {
            self.flush_aged();
        }
        if self.recovery_points_due.is_some_and(|due| due <= now) {
            self.move_recovery_points();
        }
        if self.checkpoint_due.is_some_and(|due| due <= now) {
            self.checkpoint();
        }
        if self.high_watermarks_due.is_some_and(|due| due <= now) {
            self.checkpoint_high_watermarks();
        }
        self.schedule(now);
    }

    fn schedule(&mut self, now: Instant) {
        if self.dirty.is_empty() {
            self.flush_look_due = None;
            return;
        }
        self.recovery_points_due.get_or_insert(now + self.pace.recovery_point_every);
        self.high_watermarks_due.get_or_insert(now + self.pace.high_watermark_every);
        let shortest = self.dirty.values().filter_map(|partition| partition.settings().flush_interval).min();
        if let Some(interval) = shortest {
            self.flush_look_due.get_or_insert(now + interval.clamp(FLUSH_LOOK_MIN, FLUSH_LOOK_MAX));
        }
    }

    /// Flushes one partition and tells who waits. A failure ends writing to the whole directory.
    fn flush(&mut self, partition: &Arc<Partition>, end: Offset) {
        let begun = Instant::now();
        let flushed = partition.log().flush_up_to(end, self.clock.now_ms());
        self.queue.flushes.observe_alone(begun.elapsed());
        match flushed {
            Ok(recovery_point) => {
                if partition.flushed(recovery_point) {
                    self.checkpoint_due.get_or_insert(Instant::now() + CHECKPOINT_PAUSE);
                    if let Err(error) = partition.log().reserve_ahead(RESERVE_BYTES) {
                        // An append finds its room itself, or tells why it cannot.
                        tracing::debug!(partition = %partition.name(), %error, "no room is set aside");
                    }
                }
            }
            // Its topic was deleted meanwhile.
            Err(LogError::Closed) => {}
            Err(error) => {
                self.queue.errors.of_partition(&self.directory.path(), partition.name(), &error);
                partition.waiters().moved(partition.key());
            }
        }
    }

    fn flush_aged(&mut self) {
        self.flush_look_due = None;
        let now_ms = self.clock.now_ms();
        let aged: Vec<_> =
            self.dirty.values().filter(|partition| partition.log().flush_due(now_ms)).cloned().collect();
        for partition in aged {
            self.flush(&partition, partition.positions().log_end);
        }
    }

    fn move_recovery_points(&mut self) {
        self.recovery_points_due = None;
        for partition in std::mem::take(&mut self.dirty).into_values() {
            // Clean before the flush: what is appended from now on puts the partition on the list again.
            partition.set_clean();
            self.flush(&partition, partition.positions().log_end);
        }
        self.checkpoint();
    }

    fn checkpoint(&mut self) {
        self.checkpoint_due = None;
        if let Err(error) = self.directory.checkpoint() {
            self.queue.errors.of_directory(&self.directory.path(), "recovery points", &error);
        }
    }

    fn checkpoint_high_watermarks(&mut self) {
        self.high_watermarks_due = None;
        let marks: Vec<(TopicPartition, Offset)> = (self.partitions)()
            .iter()
            .map(|partition| (partition.name().clone(), partition.positions().high_watermark))
            .collect();
        if marks == self.high_watermarks {
            return;
        }
        match self.directory.checkpoint_high_watermarks(&marks) {
            Ok(()) => self.high_watermarks = marks,
            Err(error) => {
                self.queue.errors.of_directory(&self.directory.path(), "high watermarks", &error);
            }
        }
    }

    /// The directory is offline: whoever waits for a write learns of it, and nothing is due any more.
    fn give_up(&mut self) {
        self.dirty.clear();
        self.recovery_points_due = None;
        self.checkpoint_due = None;
        self.high_watermarks_due = None;
        self.flush_look_due = None;
        if std::mem::replace(&mut self.failure_told, true) {
            return;
        }
        for partition in (self.partitions)() {
            partition.waiters().moved(partition.key());
        }
    }
}

#[cfg(test)]
mod tests {
    use ottla_model::batch::{BatchBuilder, BatchRules, NewRecord};
    use ottla_model::compression::Compression;
    use ottla_model::{ErrorCode, LeaderEpoch, ManualClock, NodeId, Uuid};
    use ottla_storage::{LogConfig, ReadMode};
    use tempfile::TempDir;

    use super::*;
    use crate::error_map;
    use crate::partition::append::Acks;
    use crate::partition::read::{FetchFrom, Isolation, ReadResult};
    use crate::partition::settings::PartitionSettings;
    use crate::partition::waiters::ReadyLists;
    use crate::partition::{Leadership, PartitionError, PartitionParts};

    const SECOND: Duration = Duration::from_secs(1);
    const MINUTE: Duration = Duration::from_secs(60);

    /// One partition in a directory of its own, with a flusher that a test drives by hand.
    struct World {
        partition: Arc<Partition>,
        flusher: Flusher,
        clock: Arc<ManualClock>,
        begin: Instant,
        folder: TempDir,
    }

    impl World {
        fn new(config: LogConfig) -> Self {
            let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
            let directory = Arc::new(LogDir::open(folder.path()).expect("an empty folder opens"));
            directory.load(1, 0, &|_| LogConfig::default()).expect("an empty folder loads");
            let name = TopicPartition { topic: "t".into(), partition: 0.into() };
            let log =
                directory.create_log(&name, Uuid::ONE, config.clone(), 0).expect("there is room for a log");
            let queue = Arc::new(FlushQueue::default());
            let flush_interval = u64::try_from(config.flush_ms).ok().map(Duration::from_millis);
            let settings = PartitionSettings {
                flush_interval: flush_interval.filter(|interval| *interval < MINUTE),
                log: config,
                rules: BatchRules::default(),
                min_insync_replicas: 1,
            };
            let parts = PartitionParts {
                name,
                topic_id: Uuid::ONE,
                log,
                directory: Arc::clone(&directory),
                flush: Arc::clone(&queue),
                settings: Arc::new(settings),
                high_watermark: Offset::ZERO,
                ready: ReadyLists::new(1),
            };
            let leadership = Leadership {
                leader: NodeId::new(1),
                epoch: LeaderEpoch::new(0),
                replicas: 1,
                in_sync: 1,
                here: true,
            };
            let partition = Partition::new(parts, leadership);
            let clock = Arc::new(ManualClock::new(0));
            let pace = FlusherPace { recovery_point_every: MINUTE, high_watermark_every: 5 * SECOND };
            let all = Arc::clone(&partition);
            let partitions = Box::new(move || vec![Arc::clone(&all)]);
            let as_clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
            let flusher = Flusher::new(queue, directory, as_clock, pace, partitions);
            Self { partition, flusher, clock, begin: Instant::now(), folder }
        }

        fn append(&self) -> Offset {
            self.try_append().expect("the log takes a batch")
        }

        fn try_append(&self) -> Result<Offset, PartitionError> {
            self.append_value(b"x")
        }

        fn append_value(&self, value: &[u8]) -> Result<Offset, PartitionError> {
            let mut builder = BatchBuilder::new(Compression::NONE);
            let record = NewRecord { timestamp_ms: 0, key: None, value: Some(value), headers: &[] };
            builder.append(&record).expect("one record fits");
            let batch = builder.finish().expect("one record fits");
            let info = self.partition.append(batch, Acks::InSync, self.clock.now_ms())?;
            Ok(info.last_offset)
        }

        fn can_read(&self, offset: Offset) -> bool {
            let from = FetchFrom {
                offset,
                current_epoch: LeaderEpoch::UNKNOWN,
                last_epoch: LeaderEpoch::UNKNOWN,
                max_bytes: 1 << 20,
            };
            let read =
                self.partition.read(&from, Isolation::ReadUncommitted, 1 << 20, true, ReadMode::MayBlock);
            matches!(read, Ok(ReadResult::Fetched(fetched)) if fetched.records.is_some())
        }

        /// What the flusher's thread does when it wakes at this time.
        fn wake_at(&mut self, since_begin: Duration) {
            self.clock
                .advance_ms(i64::try_from(since_begin.as_millis()).expect("short") - self.clock.now_ms());
            let now = self.begin + since_begin;
            let pending = self.flusher.queue.take(Some(self.begin));
            self.flusher.work_off(pending, now);
        }

        fn recovery_point(&self) -> i64 {
            self.partition.log().positions().recovery_point.get()
        }

        fn file(&self, name: &str) -> Option<String> {
            std::fs::read_to_string(self.folder.path().join(name)).ok()
        }
    }

    #[test]
    fn a_topic_that_flushes_each_message_shows_and_acknowledges_it_after_the_flush_only() {
        let mut world = World::new(LogConfig { flush_messages: 1, ..LogConfig::default() });
        let (first, second) = (world.append(), world.append());
        assert_eq!(world.partition.positions().log_end, second.next());
        assert_eq!(world.partition.positions().high_watermark, Offset::ZERO);
        assert!(!world.partition.is_acknowledged(first));
        world.wake_at(Duration::ZERO);
        assert_eq!(world.partition.positions().high_watermark, second.next(), "one flush for both");
        assert!(world.partition.is_acknowledged(first) && world.partition.is_acknowledged(second));
        assert_eq!(world.recovery_point(), 2);
    }

    #[test]
    fn without_such_a_topic_nobody_waits_and_a_minute_later_all_is_durable() {
        let mut world = World::new(LogConfig::default());
        let last = world.append();
        assert!(world.partition.is_acknowledged(last));
        world.wake_at(Duration::ZERO);
        assert_eq!(world.recovery_point(), 0);
        world.wake_at(MINUTE);
        assert_eq!(world.recovery_point(), 1);
        let written = world.file("recovery-point-offset-checkpoint");
        assert_eq!(written.as_deref(), Some("0\n1\nt 0 1\n"));
        // Clean: what comes next puts the partition on the list again.
        world.append();
        world.wake_at(MINUTE + SECOND);
        world.wake_at(2 * MINUTE + SECOND);
        assert_eq!(world.recovery_point(), 2);
    }

    #[test]
    fn a_log_that_is_busy_gets_room_set_aside_by_its_flush_and_a_quiet_one_gets_none() {
        use std::os::unix::fs::MetadataExt as _;
        let mut world = World::new(LogConfig::default());
        let path = world.folder.path().join("t-0/00000000000000000000.log");
        let room = || {
            let about = std::fs::metadata(&path).expect("the log is there");
            (about.blocks() * 512).saturating_sub(about.len())
        };
        world.append();
        world.wake_at(Duration::ZERO);
        world.wake_at(MINUTE);
        assert!(room() < 1 << 20, "{} bytes of room for a quiet log", room());
        let value = vec![7; 1 << 20];
        for _ in 0..=UNFLUSHED_BYTES_MAX >> 20 {
            world.append_value(&value).expect("the log takes a batch");
        }
        assert!(room() < RESERVE_BYTES / 2, "an append sets nothing aside");
        world.wake_at(MINUTE + SECOND);
        assert!(room() >= RESERVE_BYTES / 2, "{} bytes of room for a busy log", room());
        let bytes = std::fs::metadata(&path).expect("the log is there").len();
        assert_eq!(world.partition.log().segments().expect("they are listed")[0].bytes, bytes);
    }

    #[test]
    fn what_was_recovered_is_noted_at_once() {
        let mut world = World::new(LogConfig::default());
        world.append();
        world.flusher.queue.note_recovered(&world.partition);
        world.wake_at(Duration::ZERO);
        let written = world.file("recovery-point-offset-checkpoint");
        assert_eq!(written.as_deref(), Some("0\n1\nt 0 1\n"));
    }

    #[test]
    fn records_older_than_the_topic_allows_are_flushed() {
        let mut world = World::new(LogConfig { flush_ms: 200, ..LogConfig::default() });
        world.append();
        world.wake_at(Duration::ZERO);
        assert_eq!(world.recovery_point(), 0);
        world.wake_at(Duration::from_millis(400));
        assert_eq!(world.recovery_point(), 1);
    }

    #[test]
    fn high_watermarks_are_written_every_few_seconds_and_only_when_they_moved() {
        let mut world = World::new(LogConfig::default());
        world.append();
        world.wake_at(Duration::ZERO);
        assert_eq!(world.file("replication-offset-checkpoint"), None);
        world.wake_at(5 * SECOND);
        assert_eq!(world.file("replication-offset-checkpoint").as_deref(), Some("0\n1\nt 0 1\n"));
        std::fs::remove_file(world.folder.path().join("replication-offset-checkpoint")).expect("it is there");
        world.wake_at(11 * SECOND);
        assert_eq!(world.file("replication-offset-checkpoint"), None, "nothing has moved");
        world.append();
        world.wake_at(17 * SECOND);
        assert_eq!(world.file("replication-offset-checkpoint").as_deref(), Some("0\n1\nt 0 2\n"));
    }

    #[test]
    fn a_directory_that_failed_takes_no_more_batches_and_gives_none() {
        let mut world = World::new(LogConfig { flush_messages: 2, ..LogConfig::default() });
        let first = world.append();
        world.wake_at(Duration::ZERO);
        std::fs::remove_dir_all(world.folder.path()).expect("the folder is ours");
        // The next checkpoint finds no folder to be written in.
        world.wake_at(MINUTE);
        let refused = world.try_append().expect_err("the directory has failed");
        assert_eq!(error_map::of_partition(&refused), ErrorCode::KAFKA_STORAGE_ERROR);
        assert!(world.partition.is_acknowledged(first) && !world.can_read(first));
    }

    #[test]
    fn a_stopped_flusher_ends() {
        let world = World::new(LogConfig::default());
        world.flusher.queue.stop();
        world.flusher.run();
    }
}
