//! The metadata image as a group machine sees it: names, ids, partition counts, racks.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use compact_str::CompactString;
use ottla_cluster::{MetadataImage, TopicImage};
use ottla_coordinator::{Topic, Topics};
use ottla_model::{PartitionIndex, TopicName, Uuid};

/// The topics of one image.
pub(super) struct ImageTopics(pub(super) Arc<MetadataImage>);

impl ImageTopics {
    fn describe(topic: &TopicImage) -> Topic {
        Topic {
            name: topic.name.clone(),
            id: topic.id,
            partitions: i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX),
        }
    }
}

impl Topics for ImageTopics {
    fn by_name(&self, name: &str) -> Option<Topic> {
        self.0.topic(name).map(|topic| Self::describe(topic))
    }

    fn by_id(&self, id: &Uuid) -> Option<Topic> {
        self.0.topic_by_id(id).map(|topic| Self::describe(topic))
    }

    fn version(&self) -> i64 {
        self.0.position().offset.get()
    }

    fn for_each_name(&self, each: &mut dyn FnMut(&TopicName)) {
        self.0.topics().for_each(|topic| each(&topic.name));
    }

    fn racks(&self, topic: &Uuid, partition: PartitionIndex) -> BTreeSet<CompactString> {
        let partition = self.0.topic_by_id(topic).and_then(|topic| topic.partition(partition));
        let replicas = partition.into_iter().flat_map(|partition| &partition.replicas);
        replicas.filter_map(|replica| self.0.broker(*replica)?.rack.clone()).collect()
    }
}

impl fmt::Debug for ImageTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the topics at {}", self.0.position().offset)
    }
}
