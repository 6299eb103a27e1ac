//! The host of one kind of coordinator: a shard for each partition of its topic that this broker leads. It follows the
//! metadata, loads what it begins to lead, passes events to the machine of their name, and sees to what is due. What
//! differs from kind to kind is the [`Coordinator`]'s.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ottla_cluster::{MetadataDelta, MetadataImage};
use ottla_coordinator::{Machine, Now, Token, coordinator_partition};
use ottla_model::compression::Compression;
use ottla_model::{Clock, ErrorCode, LeaderEpoch, PartitionIndex, TopicName};
use ottla_network::BlockingPool;
use parking_lot::Mutex;

use super::deadlines::{Alarm, NEVER};
use super::load;
use super::shard::{Asked, Outbox, Shard, Work, refused};
use crate::partition_map::PartitionMap;

/// What is special to one kind of coordinator.
pub(crate) trait Coordinator: Sized + Send + Sync + 'static {
    /// Its machines.
    type Machine: Machine;

    /// The topic in which they keep their state.
    const TOPIC: &'static str;
    /// What they coordinate, for threads and the log.
    const WHAT: &'static str;

    /// An empty machine, for a partition that is led here since this epoch.
    fn machine(&self, epoch: LeaderEpoch) -> Self::Machine;

    /// Does what a machine has for others. No lock is held.
    fn work(host: &Arc<Host<Self>>, shard: &Arc<Shard<Self::Machine>>, work: Work<Self::Machine>);

    /// What was put off by [`Host::tend_at`] is done now.
    fn tend(_host: &Arc<Host<Self>>) {}
}

/// What the configuration says of a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostSettings {
    /// How many partitions the topic has where it is not created yet.
    pub(crate) partitions: i32,
    /// What batches are compressed with.
    pub(crate) compression: Compression,
    /// How much of a log is read at once.
    pub(crate) load_bytes: u32,
    /// The most threads that load.
    pub(crate) loading_threads: usize,
    /// How long an answer waits at most for what it tells of to be committed.
    pub(crate) commit_timeout: Duration,
}

type Shards<K> = Vec<Option<Arc<Shard<<K as Coordinator>::Machine>>>>;

/// Where machines of one kind live.
pub(crate) struct Host<K: Coordinator> {
    pub(super) kind: K,
    settings: HostSettings,
    /// By the partition's number.
    shards: ArcSwap<Shards<K>>,
    /// How many partitions the topic has, or will have once it is created.
    partitions: AtomicI32,
    /// Held while shards come and go.
    change: Mutex<()>,
    /// Set once the broker is registered.
    begun: AtomicBool,
    clock: Arc<dyn Clock>,
    /// The beginning of the steady clock.
    begin: Instant,
    tokens: AtomicU64,
    alarm: Alarm,
    /// When what was put off beside the machines' own deadlines is due.
    tend_ms: AtomicI64,
    loaders: BlockingPool,
}

impl<K: Coordinator> Host<K> {
    pub(super) fn of_kind(kind: K, settings: HostSettings, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            kind,
            settings,
            shards: ArcSwap::default(),
            partitions: AtomicI32::new(settings.partitions),
            change: Mutex::default(),
            begun: AtomicBool::new(false),
            clock,
            begin: Instant::now(),
            tokens: AtomicU64::new(1),
            alarm: Alarm::new(),
            tend_ms: AtomicI64::new(NEVER),
            // Not bounded by places: there are as many jobs as partitions at most.
            loaders: BlockingPool::new(&format!("ottla-{}-load", K::WHAT), settings.loading_threads, 1),
        })
    }

    /// Gives the machine of this name an event that asks something.
    pub(crate) fn ask(
        self: &Arc<Self>,
        name: &str,
        event: <K::Machine as Machine>::Event,
    ) -> Asked<<K::Machine as Machine>::Reply> {
        match self.partition_of(name) {
            Some(index) => self.ask_partition(index, event),
            None => refused::<K::Machine>(&event, ErrorCode::NOT_COORDINATOR),
        }
    }

    /// Gives a partition's machine an event that asks something.
    pub(crate) fn ask_partition(
        self: &Arc<Self>,
        index: PartitionIndex,
        event: <K::Machine as Machine>::Event,
    ) -> Asked<<K::Machine as Machine>::Reply> {
        let shards = self.shards.load();
        let place = usize::try_from(index.get()).ok();
        let Some(shard) = place.and_then(|place| shards.get(place)).and_then(Option::as_ref) else {
            return refused::<K::Machine>(&event, ErrorCode::NOT_COORDINATOR);
        };
        let token = Token(self.tokens.fetch_add(1, Ordering::Relaxed));
        let mut outbox = Outbox::default();
        let asked = shard.ask(event, token, self.now(), &mut outbox);
        self.send(shard, outbox);
        asked
    }

    /// The partition that a name belongs to.
    pub(crate) fn partition_of(&self, name: &str) -> Option<PartitionIndex> {
        coordinator_partition(name, self.partitions.load(Ordering::Acquire))
    }

    /// The partitions whose machines are here.
    pub(crate) fn partitions(&self) -> Vec<PartitionIndex> {
        let shards = self.shards.load();
        let here = (0..).zip(shards.iter()).filter(|(_, shard)| shard.is_some());
        here.map(|(index, _)| PartitionIndex::new(index)).collect()
    }

    /// Looks at the machine of a partition; none where it is not here or does not serve yet.
    pub(super) fn look<T>(&self, index: PartitionIndex, look: impl FnOnce(&K::Machine) -> T) -> Option<T> {
        let shards = self.shards.load();
        let place = usize::try_from(index.get()).ok()?;
        shards.get(place).and_then(Option::as_ref)?.look(look)
    }

    /// How long an answer waits at most for what it tells of to be committed.
    pub(crate) const fn commit_timeout(&self) -> Duration {
        self.settings.commit_timeout
    }

    /// Takes over what an image changes of the topic: partitions that are led here or no longer. To be called once the image
    /// is published.
    pub(super) fn follow_topic(
        self: &Arc<Self>,
        held: &PartitionMap,
        image: &MetadataImage,
        delta: &MetadataDelta,
    ) {
        let created = image.topic(K::TOPIC).and_then(|topic| i32::try_from(topic.partitions.len()).ok());
        self.partitions.store(created.unwrap_or(self.settings.partitions), Ordering::Release);
        let led = delta.added.iter().chain(&delta.changed).map(|changed| &changed.topic.name);
        let gone = delta.removed.iter().map(|removed| &removed.topic);
        let concerned = led.chain(gone).any(|topic| topic.as_str() == K::TOPIC);
        if concerned && self.begun.load(Ordering::Acquire) {
            self.lead(held);
        }
    }

    /// Tells every machine something that has no answer.
    pub(super) fn tell_all(self: &Arc<Self>, event: impl Fn() -> <K::Machine as Machine>::Event) {
        for shard in self.shards.load().iter().flatten() {
            self.tell(shard, event());
        }
    }

    /// Tells one machine something that has no answer.
    pub(super) fn tell(
        self: &Arc<Self>,
        shard: &Arc<Shard<K::Machine>>,
        event: <K::Machine as Machine>::Event,
    ) {
        let mut outbox = Outbox::default();
        shard.tell(event, self.now(), &mut outbox);
        self.send(shard, outbox);
    }

    /// Begins to coordinate: from now on the shards are those of the partitions that are led here.
    pub(crate) fn begin(self: &Arc<Self>, partitions: &PartitionMap) {
        self.begun.store(true, Ordering::Release);
        self.lead(partitions);
    }

    /// Makes the shards those of the partitions that are led here.
    fn lead(self: &Arc<Self>, partitions: &PartitionMap) {
        let _change = self.change.lock();
        let topic = partitions.topic(&TopicName::new(K::TOPIC));
        let before = self.shards.load_full();
        let mut shards: Shards<K> = Vec::new();
        for partition in topic.iter().flat_map(|topic| topic.partitions()) {
            let Ok(place) = usize::try_from(partition.index().get()) else { continue };
            let leadership = partition.leadership();
            if shards.len() <= place {
                shards.resize(place + 1, None);
            }
            if !leadership.here {
                continue;
            }
            let known = before
                .get(place)
                .and_then(Option::as_ref)
                .filter(|shard| Arc::ptr_eq(&shard.partition, partition) && shard.epoch == leadership.epoch);
            let shard = match known {
                Some(known) => Arc::clone(known),
                None => Arc::new(Shard::loading(
                    Arc::clone(partition),
                    leadership.epoch,
                    self.settings.compression,
                )),
            };
            if let Some(slot) = shards.get_mut(place) {
                *slot = Some(shard);
            }
        }
        let is_in = |shards: &[Option<Arc<Shard<K::Machine>>>], shard: &Arc<Shard<K::Machine>>| {
            shards.iter().flatten().any(|other| Arc::ptr_eq(other, shard))
        };
        let lost: Vec<_> = before.iter().flatten().filter(|shard| !is_in(&shards, shard)).cloned().collect();
        let new: Vec<_> = shards.iter().flatten().filter(|shard| !is_in(&before, shard)).cloned().collect();
        self.shards.store(Arc::new(shards));
        for shard in lost {
            self.unload(&shard);
        }
        for shard in new {
            self.begin_loading(shard);
        }
    }

    /// Puts a new shard in the place of one whose machine panicked.
    fn replace(self: &Arc<Self>, broken: &Arc<Shard<K::Machine>>) {
        // Whoever changes the shards now may be the caller; the next request tries again.
        let Some(_change) = self.change.try_lock() else { return };
        let mut shards = Vec::clone(&self.shards.load());
        let place = shards.iter().position(|shard| shard.as_ref().is_some_and(|it| Arc::ptr_eq(it, broken)));
        let Some(slot) = place.and_then(|place| shards.get_mut(place)) else { return };
        let compression = self.settings.compression;
        let new = Arc::new(Shard::loading(Arc::clone(&broken.partition), broken.epoch, compression));
        *slot = Some(Arc::clone(&new));
        self.shards.store(Arc::new(shards));
        self.load_elsewhere(new);
    }

    /// An open log without records takes no reading; all others are opened and read elsewhere.
    fn begin_loading(self: &Arc<Self>, shard: Arc<Shard<K::Machine>>) {
        let positions = shard.partition.log().positions();
        if positions.log_start == positions.log_end.offset && shard.partition.is_ready() {
            return self.load(&shard);
        }
        self.load_elsewhere(shard);
    }

    fn load_elsewhere(self: &Arc<Self>, shard: Arc<Shard<K::Machine>>) {
        let (host, of_job) = (Arc::clone(self), Arc::clone(&shard));
        if self.loaders.spawn(move || host.load(&of_job)).is_err() {
            // The broker stops, or has no thread: there is no coordinator here.
            self.unload(&shard);
        }
    }

    fn load(self: &Arc<Self>, shard: &Arc<Shard<K::Machine>>) {
        if catch_unwind(AssertUnwindSafe(|| self.load_machine(shard))).is_err() {
            tracing::error!(partition = %shard.partition.name(), "loading {} panicked: they have no coordinator", K::WHAT);
            self.unload(shard);
        }
    }

    fn load_machine(self: &Arc<Self>, shard: &Arc<Shard<K::Machine>>) {
        let name = shard.partition.name();
        let mut machine = self.kind.machine(shard.epoch);
        let begin = Instant::now();
        let loaded = match load::load(&shard.partition, &mut machine, u64::from(self.settings.load_bytes)) {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::error!(
                    partition = %name,
                    %error,
                    "{} could not be loaded: they have no coordinator",
                    K::WHAT
                );
                return self.unload(shard);
            }
        };
        if loaded.records > 0 {
            tracing::info!(
                partition = %name,
                records = loaded.records,
                ignored = loaded.ignored,
                bytes = loaded.bytes,
                ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
                "{} loaded",
                K::WHAT
            );
        }
        let mut outbox = Outbox::default();
        shard.serve(machine, self.now(), &mut outbox);
        self.send(shard, outbox);
    }

    fn unload(self: &Arc<Self>, shard: &Arc<Shard<K::Machine>>) {
        let mut outbox = Outbox::default();
        shard.unload(&mut outbox);
        self.send(shard, outbox);
    }

    /// Answers all who wait, since the broker is about to stop; whoever asks later is sent elsewhere.
    pub(crate) fn leave(self: &Arc<Self>) {
        for shard in self.shards.load().iter().flatten() {
            self.unload(shard);
        }
    }

    /// Ends the threads that are the same in each kind.
    pub(super) fn stop_threads(&self) {
        self.alarm.stop();
        self.loaders.shut_down();
    }

    /// The thread of the deadlines.
    pub(crate) fn run(self: &Arc<Self>) {
        let of_shards = || self.shards.load().iter().flatten().map(|shard| shard.deadline_ms()).min();
        let earliest = || of_shards().unwrap_or(NEVER).min(self.tend_ms.load(Ordering::SeqCst));
        while self.alarm.sleep(&|| self.steady_ms(), &earliest) {
            for shard in self.shards.load().iter().flatten() {
                if shard.deadline_ms() <= self.steady_ms() {
                    let mut outbox = Outbox::default();
                    shard.tick(|| self.now(), &mut outbox);
                    self.send(shard, outbox);
                }
            }
            if self.tend_ms.load(Ordering::SeqCst) <= self.steady_ms() {
                self.tend_ms.store(NEVER, Ordering::SeqCst);
                K::tend(self);
            }
        }
    }

    /// Has [`Coordinator::tend`] called after so many milliseconds, or before.
    pub(super) fn tend_at(&self, after_ms: i64) {
        let at_ms = self.now().after_ms(after_ms);
        self.tend_ms.fetch_min(at_ms, Ordering::SeqCst);
        self.alarm.set(at_ms);
    }

    /// Sends answers to those who wait, hands out work, and sees to the next deadline. No lock is held.
    fn send(self: &Arc<Self>, shard: &Arc<Shard<K::Machine>>, outbox: Outbox<K::Machine>) {
        self.alarm.set(shard.deadline_ms());
        if shard.is_broken() {
            self.replace(shard);
        }
        let (deliveries, work) = outbox.into_parts();
        for (sender, delivery) in deliveries {
            // Whoever waited may have gone with its connection.
            drop(sender.send(delivery));
        }
        for work in work {
            K::work(self, shard, work);
        }
    }

    pub(super) fn now(&self) -> Now {
        Now { wall_ms: self.clock.now_ms(), steady_ms: self.steady_ms() }
    }

    pub(super) fn steady_ms(&self) -> i64 {
        i64::try_from(self.begin.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
