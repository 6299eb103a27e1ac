//! The group coordinator: a machine for each partition of `__consumer_offsets` that this broker leads. Beside what every
//! host does, it tells its machines of topics and settings, and has assignments made on threads of their own.

use std::sync::Arc;

use arc_swap::ArcSwap;
use ottla_cluster::{ConfigResource, MetadataDelta, MetadataImage};
use ottla_coordinator::{Event, GroupConfig, GroupMachine, Topics};
use ottla_model::{Clock, LeaderEpoch, TopicName};
use ottla_network::BlockingPool;

use super::host::{Coordinator, Host, HostSettings};
use super::lag::KnownTimes;
use super::shard::{Shard, Work};
use super::topics::ImageTopics;
use crate::config::LiveConfig;
use crate::internal_topics::CONSUMER_OFFSETS;
use crate::partition_map::PartitionMap;

/// Where group machines live.
pub(crate) type GroupHost = Host<Groups>;

/// What is special to groups.
pub(crate) struct Groups {
    config: ArcSwap<GroupConfig>,
    topics: ArcSwap<Arc<dyn Topics>>,
    live: LiveConfig,
    workers: BlockingPool,
    pub(super) known_times: KnownTimes,
}

impl Coordinator for Groups {
    type Machine = GroupMachine;

    const TOPIC: &'static str = CONSUMER_OFFSETS;
    const WHAT: &'static str = "groups";

    fn machine(&self, _epoch: LeaderEpoch) -> GroupMachine {
        GroupMachine::new(self.config.load_full(), Arc::clone(&**self.topics.load()))
    }

    fn work(host: &Arc<GroupHost>, shard: &Arc<Shard<GroupMachine>>, (work, _): Work<GroupMachine>) {
        let (of_job, shard) = (Arc::clone(host), Arc::clone(shard));
        let job = move || {
            let computed = work.run();
            of_job.tell(&shard, Event::Computed(computed));
        };
        if let Err(error) = host.kind.workers.spawn(job) {
            tracing::warn!(%error, "an assignment was not made");
        }
    }
}

impl GroupHost {
    pub(crate) fn new(live: LiveConfig, clock: Arc<dyn Clock>) -> Arc<Self> {
        let broker = live.now();
        let groups = &broker.groups;
        let settings = HostSettings {
            partitions: groups.topic.partitions,
            compression: groups.compression,
            load_bytes: groups.load_bytes,
            loading_threads: groups.loading_threads,
            commit_timeout: groups.commit_timeout,
        };
        let image = Arc::new(MetadataImage::empty());
        let kind = Groups {
            config: ArcSwap::from_pointee(groups.with_groups(&image)),
            topics: ArcSwap::from_pointee(Arc::new(ImageTopics(image)) as Arc<dyn Topics>),
            // Not bounded by places: there are as many jobs as groups at most.
            workers: BlockingPool::new("ottla-groups", groups.background_threads, 1),
            known_times: KnownTimes::default(),
            live,
        };
        Self::of_kind(kind, settings, clock)
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
            self.set_config(self.kind.live.peek().groups.with_groups(image));
        }
        self.tell_topics(image, delta);
        self.follow_topic(held, image, delta);
    }

    /// Takes over settings that have changed without an image.
    pub(crate) fn follow_settings(self: &Arc<Self>, image: &MetadataImage) {
        self.set_config(self.kind.live.peek().groups.with_groups(image));
    }

    fn set_config(self: &Arc<Self>, config: GroupConfig) {
        if **self.kind.config.load() == config {
            return;
        }
        let config = Arc::new(config);
        self.kind.config.store(Arc::clone(&config));
        self.tell_all(|| Event::ConfigChanged { config: Arc::clone(&config) });
    }

    fn tell_topics(self: &Arc<Self>, image: &Arc<MetadataImage>, delta: &MetadataDelta) {
        let topics: Arc<dyn Topics> = Arc::new(ImageTopics(Arc::clone(image)));
        self.kind.topics.store(Arc::new(Arc::clone(&topics)));
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

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.stop_threads();
        self.kind.workers.shut_down();
    }
}
