//! What a group machine sees of the cluster's topics: names, ids, partition counts, racks. The broker shows its metadata
//! image through [`Topics`]; [`TopicTable`] is the same as a plain table. Neither says where a partition lives.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use compact_str::CompactString;
use ottla_model::{PartitionIndex, TopicName, Uuid};

/// One topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its id.
    pub id: Uuid,
    /// How many partitions it has.
    pub partitions: i32,
}

/// The topics of the cluster at one moment.
pub trait Topics: fmt::Debug + Send + Sync {
    /// The topic of this name.
    fn by_name(&self, name: &str) -> Option<Topic>;

    /// The topic of this id.
    fn by_id(&self, id: &Uuid) -> Option<Topic>;

    /// Which state of the cluster's topics this is: the offset in the metadata log. 0 where states have no number.
    fn version(&self) -> i64 {
        0
    }

    /// Calls with the name of every topic, in no order.
    fn for_each_name(&self, each: &mut dyn FnMut(&TopicName));

    /// The racks of the brokers that have a replica of the partition; empty where none is known.
    fn racks(&self, topic: &Uuid, partition: PartitionIndex) -> BTreeSet<CompactString>;
}

/// Topics as a table, for tests and for a host without a metadata image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicTable {
    topics: BTreeMap<TopicName, Topic>,
    racks: BTreeMap<(Uuid, PartitionIndex), BTreeSet<CompactString>>,
}

impl TopicTable {
    /// Adds a topic or puts it in the place of one of the same name.
    pub fn insert(&mut self, name: impl Into<TopicName>, id: Uuid, partitions: i32) {
        let name = name.into();
        self.topics.insert(name.clone(), Topic { name, id, partitions });
    }

    /// Takes a topic away.
    pub fn remove(&mut self, name: &str) -> Option<Topic> {
        self.topics.remove(name)
    }

    /// Says in which racks a partition has replicas.
    pub fn set_racks(&mut self, topic: Uuid, partition: PartitionIndex, racks: BTreeSet<CompactString>) {
        self.racks.insert((topic, partition), racks);
    }
}

impl Topics for TopicTable {
    fn by_name(&self, name: &str) -> Option<Topic> {
        self.topics.get(name).cloned()
    }

    fn by_id(&self, id: &Uuid) -> Option<Topic> {
        self.topics.values().find(|topic| topic.id == *id).cloned()
    }

    fn for_each_name(&self, each: &mut dyn FnMut(&TopicName)) {
        self.topics.keys().for_each(each);
    }

    fn racks(&self, topic: &Uuid, partition: PartitionIndex) -> BTreeSet<CompactString> {
        self.racks.get(&(*topic, partition)).cloned().unwrap_or_default()
    }
}
