//! The partitions that this broker holds, by topic name and id. Readers take no lock and share no counter: a look-up
//! is one load of a shard's map. Says nothing of topics that other brokers hold; the metadata image does.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

use arc_swap::ArcSwap;
use ottla_model::{Offset, PartitionIndex, TopicName, Uuid};
use ottla_storage::{LogDir, TopicPartition};
use parking_lot::Mutex;

use crate::partition::Partition;

/// A change copies one shard of so many: with 10,000 topics about 80 entries.
const SHARDS: usize = 128;

/// A topic of which this broker holds partitions.
#[derive(Debug, Clone)]
pub(crate) struct HeldTopic {
    pub(crate) name: TopicName,
    pub(crate) id: Uuid,
    /// By number. One that is not held here, or whose log could not be opened, is missing.
    partitions: Vec<Option<Arc<Partition>>>,
}

impl HeldTopic {
    /// The partition of this number, if it is held here and open.
    pub(crate) fn partition(&self, index: PartitionIndex) -> Option<&Arc<Partition>> {
        usize::try_from(index.get()).ok().and_then(|index| self.partitions.get(index))?.as_ref()
    }

    /// The partitions that are held here and open.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> {
        self.partitions.iter().flatten()
    }
}

/// All partitions held here.
pub(crate) struct PartitionMap {
    by_name: Shards<TopicName>,
    by_id: Shards<Uuid>,
    /// Held while topics are exchanged, so that two changes of one topic cannot lose one of them.
    change: Mutex<()>,
}

struct Shards<K> {
    hasher: RandomState,
    maps: Vec<ArcSwap<HashMap<K, Arc<HeldTopic>>>>,
}

impl PartitionMap {
    pub(crate) fn new() -> Self {
        Self { by_name: Shards::new(), by_id: Shards::new(), change: Mutex::new(()) }
    }

    pub(crate) fn topic(&self, name: &TopicName) -> Option<Arc<HeldTopic>> {
        self.by_name.get(name)
    }

    pub(crate) fn topic_by_id(&self, id: &Uuid) -> Option<Arc<HeldTopic>> {
        self.by_id.get(id)
    }

    /// All partitions, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<Partition>> {
        let mut all = Vec::new();
        for map in &self.by_id.maps {
            all.extend(map.load().values().flat_map(|topic| topic.partitions()).cloned());
        }
        all
    }

    /// The partitions in one log directory, in the order of their names.
    pub(crate) fn in_directory(&self, directory: &Arc<LogDir>) -> Vec<Arc<Partition>> {
        let mut partitions = self.all();
        partitions.retain(|partition| Arc::ptr_eq(&partition.directory(), directory));
        partitions.sort_by(|a, b| a.name().cmp(b.name()));
        partitions
    }

    /// Their high watermarks, as the checkpoint file lists them.
    pub(crate) fn high_watermarks(&self, directory: &Arc<LogDir>) -> Vec<(TopicPartition, Offset)> {
        let partitions = self.in_directory(directory);
        let mark =
            |partition: &Arc<Partition>| (partition.name().clone(), partition.positions().high_watermark);
        partitions.iter().map(mark).collect()
    }

    /// All topics, in no order.
    pub(crate) fn topics(&self) -> Vec<Arc<HeldTopic>> {
        self.by_id.maps.iter().flat_map(|map| map.load().values().cloned().collect::<Vec<_>>()).collect()
    }

    /// Adds a partition under its topic.
    pub(crate) fn insert(&self, partition: Arc<Partition>) {
        let _change = self.change.lock();
        let Ok(index) = usize::try_from(partition.index().get()) else { return };
        let mut topic = match self.by_id.get(&partition.topic_id()) {
            Some(topic) => Arc::unwrap_or_clone(topic),
            None => HeldTopic {
                name: partition.topic().clone(),
                id: partition.topic_id(),
                partitions: Vec::new(),
            },
        };
        if topic.partitions.len() <= index {
            topic.partitions.resize(index + 1, None);
        }
        topic.partitions[index] = Some(partition);
        self.put(topic);
    }

    /// Takes a topic out. Its name may belong to a newer topic, which stays.
    pub(crate) fn remove_topic(&self, id: &Uuid) -> Option<Arc<HeldTopic>> {
        let _change = self.change.lock();
        let removed = self.by_id.get(id)?;
        self.by_id.change(id, |map| {
            map.remove(id);
        });
        self.by_name.change(&removed.name, |map| {
            if map.get(&removed.name).is_some_and(|topic| topic.id == *id) {
                map.remove(&removed.name);
            }
        });
        Some(removed)
    }

    fn put(&self, topic: HeldTopic) {
        let topic = Arc::new(topic);
        self.by_name.change(&topic.name, |map| {
            map.insert(topic.name.clone(), Arc::clone(&topic));
        });
        self.by_id.change(&topic.id, |map| {
            map.insert(topic.id, Arc::clone(&topic));
        });
    }
}

impl<K: Hash + Eq + Clone> Shards<K> {
    fn new() -> Self {
        Self { hasher: RandomState::new(), maps: (0..SHARDS).map(|_| ArcSwap::default()).collect() }
    }

    fn get(&self, key: &K) -> Option<Arc<HeldTopic>> {
        self.shard(key)?.load().get(key).cloned()
    }

    /// Exchanges the shard of `key` for a changed copy. The caller holds the lock of changes.
    fn change(&self, key: &K, change: impl FnOnce(&mut HashMap<K, Arc<HeldTopic>>)) {
        let Some(shard) = self.shard(key) else { return };
        let mut map = HashMap::clone(&shard.load());
        change(&mut map);
        shard.store(Arc::new(map));
    }

    fn shard(&self, key: &K) -> Option<&ArcSwap<HashMap<K, Arc<HeldTopic>>>> {
        let hash = self.hasher.hash_one(key) & (SHARDS as u64 - 1);
        self.maps.get(usize::try_from(hash).unwrap_or(0))
    }
}

const _: () = assert!(SHARDS.is_power_of_two());
