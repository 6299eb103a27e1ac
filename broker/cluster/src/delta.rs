//! What differs between two images, so that partitions are changed before the newer image is published. It is
//! computed from the two: nothing has to be recorded along the way, and a snapshot is no special case.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_model::{PartitionIndex, TopicName, Uuid};

use crate::image::{ConfigResource, MetadataImage, PartitionImage, TopicImage};

/// A partition that is new or has changed.
#[derive(Debug, Clone)]
pub struct PartitionDelta {
    /// The topic, as it now is.
    pub topic: Arc<TopicImage>,
    /// Which of its partitions.
    pub index: PartitionIndex,
    /// How the partition was before; none if it is new.
    pub before: Option<PartitionImage>,
}

impl PartitionDelta {
    /// The partition as it now is.
    ///
    /// # Panics
    /// Never: the topic has the partition.
    #[must_use]
    pub fn after(&self) -> &PartitionImage {
        self.topic.partition(self.index).expect("a changed partition is one of its topic")
    }

    /// Whether another leader was elected, or the same one anew.
    #[must_use]
    pub fn leader_epoch_changed(&self) -> bool {
        self.before.as_ref().is_none_or(|before| before.leader_epoch != self.after().leader_epoch)
    }
}

/// A partition that is gone with its topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemovedPartition {
    /// The topic's name; another topic may have it by now.
    pub topic: TopicName,
    /// The topic's id.
    pub topic_id: Uuid,
    /// Which of its partitions.
    pub index: PartitionIndex,
}

/// The step from one image to another. Apply it in the order of its fields: what was removed may have the name of
/// what is new.
#[derive(Debug, Clone, Default)]
pub struct MetadataDelta {
    /// Partitions of deleted topics, by topic and number.
    pub removed: Vec<RemovedPartition>,
    /// New partitions, of new topics or added to old ones, by topic and number.
    pub added: Vec<PartitionDelta>,
    /// Partitions with another leader, epoch, replica set or directory, by topic and number.
    pub changed: Vec<PartitionDelta>,
    /// Resources whose configs differ, also those of topics that are new or gone.
    pub configs: BTreeSet<ConfigResource>,
    /// Whether a broker was registered, changed or removed.
    pub brokers_changed: bool,
    /// Whether a feature level differs.
    pub features_changed: bool,
    /// Whether credentials, quotas, access control entries, tokens or controllers differ.
    pub kept_changed: bool,
}

impl MetadataDelta {
    /// What leads from `old` to `new`. The cost follows the difference where `new` came of `old` by replaying.
    #[must_use]
    pub fn between(old: &MetadataImage, new: &MetadataImage) -> Self {
        let mut delta = Self {
            brokers_changed: old.brokers != new.brokers,
            features_changed: old.features != new.features,
            kept_changed: old.kept != new.kept,
            ..Self::default()
        };
        for (id, topic) in old.topics.unshared(&new.topics) {
            if new.topics.get(id).is_none() {
                delta.removed.extend(indices(topic).map(|index| RemovedPartition {
                    topic: topic.name.clone(),
                    topic_id: topic.id,
                    index,
                }));
            }
        }
        for (id, topic) in new.topics.unshared(&old.topics) {
            match old.topics.get(id) {
                Some(before) if Arc::ptr_eq(before, topic) => {}
                before => delta.compare_topic(before.map(Arc::as_ref), topic),
            }
        }
        for (resource, values) in new.configs.unshared(&old.configs) {
            if old.configs.get(resource) != Some(values) {
                delta.configs.insert(resource.clone());
            }
        }
        for (resource, _) in old.configs.unshared(&new.configs) {
            if new.configs.get(resource).is_none() {
                delta.configs.insert(resource.clone());
            }
        }
        delta.removed.sort();
        for list in [&mut delta.added, &mut delta.changed] {
            list.sort_by(|a, b| (&a.topic.name, a.index).cmp(&(&b.topic.name, b.index)));
        }
        delta
    }

    /// Whether nothing differs that a broker would act upon.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty()
            && self.added.is_empty()
            && self.changed.is_empty()
            && self.configs.is_empty()
            && !(self.brokers_changed || self.features_changed || self.kept_changed)
    }

    fn compare_topic(&mut self, before: Option<&TopicImage>, after: &Arc<TopicImage>) {
        for index in indices(after) {
            let earlier = before.and_then(|topic| topic.partition(index));
            if earlier == after.partition(index) {
                continue;
            }
            let list = if earlier.is_none() { &mut self.added } else { &mut self.changed };
            list.push(PartitionDelta { topic: Arc::clone(after), index, before: earlier.cloned() });
        }
    }
}

fn indices(topic: &TopicImage) -> impl Iterator<Item = PartitionIndex> {
    (0..).take(topic.partitions.len()).map(PartitionIndex::new)
}
