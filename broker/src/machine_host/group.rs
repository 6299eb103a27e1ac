//! The group coordinator: a machine for each partition of `__consumer_offsets` that this broker leads. It follows the
//! metadata, loads what it begins to lead, and passes events to the machine of their group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ottla_cluster::{ConfigResource, MetadataDelta, MetadataImage};
use ottla_coordinator::{
    Compute, Event, GroupConfig, GroupMachine, Now, Reply, Token, Topics, coordinator_partition, refusal,
};
use ottla_model::{Clock, ErrorCode, PartitionIndex, TopicName};
use ottla_network::BlockingPool;
use parking_lot::Mutex;

use super::deadlines::Alarm;
use super::load;
pub(crate) use super::shard::{Asked, Delivery, Uncommitted};
use super::shard::{Outbox, Shard};
use super::topics::ImageTopics;
use crate::config::BrokerConfig;
use crate::internal_topics::CONSUMER_OFFSETS;
use crate::partition_map::PartitionMap;

/// Where the machines get what is not theirs.
pub(crate) struct GroupHost {
    /// By the partition's number.
    shards: ArcSwap<Vec<Option<Arc<Shard>>>>,
    /// How many partitions the topic has, or will have once it is created.
    partitions: AtomicI32,
    /// Held while shards come and go.
    change: Mutex<()>,
    /// Set once the broker is registered.
    begun: AtomicBool,
    config: ArcSwap<GroupConfig>,
    topics: ArcSwap<Arc<dyn Topics>>,
    broker: Arc<BrokerConfig>,
    clock: Arc<dyn Clock>,
    /// The beginning of the steady clock.
    begin: Instant,
    tokens: AtomicU64,
    alarm: Alarm,
    loaders: BlockingPool,
    workers: BlockingPool,
}

impl GroupHost {
    pub(crate) fn new(broker: Arc<BrokerConfig>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let groups = &broker.groups;
        let image = Arc::new(MetadataImage::empty());
        Arc::new(Self {
            shards: ArcSwap::default(),
            partitions: AtomicI32::new(groups.topic.partitions),
            change: Mutex::default(),
            begun: AtomicBool::new(false),
            config: ArcSwap::from_pointee(groups.with_groups(&image)),
            topics: ArcSwap::from_pointee(Arc::new(ImageTopics(image)) as Arc<dyn Topics>),
            clock,
            begin: Instant::now(),
            tokens: AtomicU64::new(1),
            alarm: Alarm::new(),
            // Neither is bounded by places: there are as many jobs as partitions, and groups, at most.
            loaders: BlockingPool::new("ottla-groups-load", groups.loading_threads, 1),
            workers: BlockingPool::new("ottla-groups", groups.background_threads, 1),
            broker,
        })
    }

    /// Gives the group's machine an event that asks something.
    pub(crate) fn ask(self: &Arc<Self>, group: &str, event: Event) -> Asked {
        match self.partition_of(group) {
            Some(index) => self.ask_partition(index, event),
            None => Self::nowhere(&event),
        }
    }

    /// Gives a partition's machine an event that asks something.
    pub(crate) fn ask_partition(self: &Arc<Self>, index: PartitionIndex, event: Event) -> Asked {
        let shards = self.shards.load();
        let place = usize::try_from(index.get()).ok();
        let Some(shard) = place.and_then(|place| shards.get(place)).and_then(Option::as_ref) else {
            return Self::nowhere(&event);
        };
        let token = Token(self.tokens.fetch_add(1, Ordering::Relaxed));
        let mut outbox = Outbox::default();
        let asked = shard.ask(event, token, self.now(), &mut outbox);
        self.send(shard, outbox);
        asked
    }

    /// The partition that a group belongs to.
    pub(crate) fn partition_of(&self, group: &str) -> Option<PartitionIndex> {
        coordinator_partition(group, self.partitions.load(Ordering::Acquire))
    }

    /// The partitions whose groups are here.
    pub(crate) fn partitions(&self) -> Vec<PartitionIndex> {
        let shards = self.shards.load();
        let here = (0..).zip(shards.iter()).filter(|(_, shard)| shard.is_some());
        here.map(|(index, _)| PartitionIndex::new(index)).collect()
    }

    /// How long an answer waits at most for what it tells of to be committed.
    pub(crate) fn commit_timeout(&self) -> Duration {
        self.broker.groups.commit_timeout
    }

    fn nowhere(event: &Event) -> Asked {
        let reply: Option<Reply> = refusal(event, ErrorCode::NOT_COORDINATOR);
        let reply = reply.expect("an event that asks something has an answer");
        Asked::Answered(Delivery { reply, after: None })
    }

    /// Takes over what an image changes: partitions that are led here or no longer, topics, settings. To be called once
    /// the image is published.
    pub(crate) fn follow(
        self: &Arc<Self>,
        held: &PartitionMap,
        image: &Arc<MetadataImage>,
        delta: &MetadataDelta,
    ) {
        if delta
            .configs
            .iter()
            .any(|resource| matches!(resource.kind, ConfigResource::GROUP | ConfigResource::BROKER))
        {
            self.set_config(self.broker.groups.with_groups(image));
        }
        let created =
            image.topic(CONSUMER_OFFSETS).and_then(|topic| i32::try_from(topic.partitions.len()).ok());
        let partitions = created.unwrap_or(self.broker.groups.topic.partitions);
        self.partitions.store(partitions, Ordering::Release);
        self.tell_topics(image, delta);
        let led = delta.added.iter().chain(&delta.changed).map(|changed| &changed.topic.name);
        let gone = delta.removed.iter().map(|removed| &removed.topic);
        let concerned = led.chain(gone).any(|topic| topic.as_str() == CONSUMER_OFFSETS);
        if concerned && self.begun.load(Ordering::Acquire) {
            self.lead(held);
        }
    }

    fn set_config(self: &Arc<Self>, config: GroupConfig) {
        if **self.config.load() == config {
            return;
        }
        let config = Arc::new(config);
        self.config.store(Arc::clone(&config));
        self.tell_all(|| Event::ConfigChanged { config: Arc::clone(&config) });
    }

    fn tell_topics(self: &Arc<Self>, image: &Arc<MetadataImage>, delta: &MetadataDelta) {
        let topics: Arc<dyn Topics> = Arc::new(ImageTopics(Arc::clone(image)));
        self.topics.store(Arc::new(Arc::clone(&topics)));
        let mut removed: Vec<TopicName> = delta.removed.iter().map(|removed| removed.topic.clone()).collect();
        let changed = delta.added.iter().chain(&delta.changed).map(|changed| changed.topic.name.clone());
        let mut changed: Vec<TopicName> = changed.chain(removed.iter().cloned()).collect();
        for names in [&mut removed, &mut changed] {
            names.sort_unstable();
            names.dedup();
        }
        if changed.is_empty() {
            return;
        }
        let (removed, changed): (Arc<[_]>, Arc<[_]>) = (removed.into(), changed.into());
        self.tell_all(|| Event::TopicsChanged { topics: Arc::clone(&topics), changed: Arc::clone(&changed) });
        if !removed.is_empty() {
            self.tell_all(|| Event::TopicsDeleted { topics: Arc::clone(&removed) });
        }
    }

    fn tell_all(self: &Arc<Self>, event: impl Fn() -> Event) {
        for shard in self.shards.load().iter().flatten() {
            let mut outbox = Outbox::default();
            shard.tell(event(), self.now(), &mut outbox);
            self.send(shard, outbox);
        }
    }

    /// Begins to coordinate: from now on the shards are those of the partitions that are led here.
    pub(crate) fn begin(self: &Arc<Self>, partitions: &PartitionMap) {
        self.begun.store(true, Ordering::Release);
        self.lead(partitions);
    }

    /// Makes the shards those of the partitions that are led here.
    fn lead(self: &Arc<Self>, partitions: &PartitionMap) {
        let _change = self.change.lock();
        let topic = partitions.topic(&TopicName::new(CONSUMER_OFFSETS));
        let before = self.shards.load_full();
        let mut shards = Vec::new();
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
                    self.broker.groups.compression,
                )),
            };
            if let Some(slot) = shards.get_mut(place) {
                *slot = Some(shard);
            }
        }
        let is_in = |shards: &[Option<Arc<Shard>>], shard: &Arc<Shard>| {
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
    fn replace(self: &Arc<Self>, broken: &Arc<Shard>) {
        // Whoever changes the shards now may be the caller; the next request tries again.
        let Some(_change) = self.change.try_lock() else { return };
        let mut shards = Vec::clone(&self.shards.load());
        let place = shards.iter().position(|shard| shard.as_ref().is_some_and(|it| Arc::ptr_eq(it, broken)));
        let Some(slot) = place.and_then(|place| shards.get_mut(place)) else { return };
        let compression = self.broker.groups.compression;
        let new = Arc::new(Shard::loading(Arc::clone(&broken.partition), broken.epoch, compression));
        *slot = Some(Arc::clone(&new));
        self.shards.store(Arc::new(shards));
        self.load_elsewhere(new);
    }

    /// A log without records takes no reading; all others are read elsewhere.
    fn begin_loading(self: &Arc<Self>, shard: Arc<Shard>) {
        let positions = shard.partition.log().positions();
        if positions.log_start == positions.log_end.offset {
            return self.load(&shard);
        }
        self.load_elsewhere(shard);
    }

    fn load_elsewhere(self: &Arc<Self>, shard: Arc<Shard>) {
        let (host, of_job) = (Arc::clone(self), Arc::clone(&shard));
        if self.loaders.spawn(move || host.load(&of_job)).is_err() {
            // The broker stops, or has no thread: there is no coordinator here.
            self.unload(&shard);
        }
    }

    fn load(self: &Arc<Self>, shard: &Arc<Shard>) {
        if catch_unwind(AssertUnwindSafe(|| self.load_machine(shard))).is_err() {
            tracing::error!(partition = %shard.partition.name(), "loading groups panicked: they have no coordinator");
            self.unload(shard);
        }
    }

    fn load_machine(self: &Arc<Self>, shard: &Arc<Shard>) {
        let name = shard.partition.name();
        let topics = Arc::clone(&**self.topics.load());
        let mut machine = GroupMachine::new(self.config.load_full(), topics);
        let begin = Instant::now();
        let loaded = match load::load(
            &shard.partition,
            &mut machine,
            u64::from(self.broker.groups.load_bytes),
        ) {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::error!(partition = %name, %error, "groups could not be loaded: they have no coordinator");
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
                "groups loaded"
            );
        }
        let mut outbox = Outbox::default();
        shard.serve(machine, self.now(), &mut outbox);
        self.send(shard, outbox);
    }

    fn unload(self: &Arc<Self>, shard: &Arc<Shard>) {
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

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.alarm.stop();
        self.loaders.shut_down();
        self.workers.shut_down();
    }

    /// The thread of the deadlines.
    pub(crate) fn run(self: &Arc<Self>) {
        let earliest = || self.shards.load().iter().flatten().map(|shard| shard.deadline_ms()).min();
        while self.alarm.sleep(&|| self.steady_ms(), &|| earliest().unwrap_or(super::deadlines::NEVER)) {
            for shard in self.shards.load().iter().flatten() {
                if shard.deadline_ms() <= self.steady_ms() {
                    let mut outbox = Outbox::default();
                    shard.tick(|| self.now(), &mut outbox);
                    self.send(shard, outbox);
                }
            }
        }
    }

    /// Sends answers to those who wait, hands work to the pool, and sees to the next deadline. No lock is held.
    fn send(self: &Arc<Self>, shard: &Arc<Shard>, outbox: Outbox) {
        self.alarm.set(shard.deadline_ms());
        if shard.is_broken() {
            self.replace(shard);
        }
        let (deliveries, compute) = outbox.into_parts();
        for (sender, delivery) in deliveries {
            // Whoever waited may have gone with its connection.
            drop(sender.send(delivery));
        }
        for work in compute {
            self.compute(shard, work);
        }
    }

    fn compute(self: &Arc<Self>, shard: &Arc<Shard>, work: Compute) {
        let (host, shard) = (Arc::clone(self), Arc::clone(shard));
        let job = move || {
            let computed = work.run();
            let mut outbox = Outbox::default();
            shard.tell(Event::Computed(computed), host.now(), &mut outbox);
            host.send(&shard, outbox);
        };
        if let Err(error) = self.workers.spawn(job) {
            tracing::warn!(%error, "an assignment was not made");
        }
    }

    fn now(&self) -> Now {
        Now { wall_ms: self.clock.now_ms(), steady_ms: self.steady_ms() }
    }

    fn steady_ms(&self) -> i64 {
        i64::try_from(self.begin.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
