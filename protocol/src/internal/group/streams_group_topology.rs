//! The topology of a streams group (KIP-1071): key type 23 of `__consumer_offsets`, value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, TopicName};

use crate::Message;

/// Names a streams group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 23, versions = 0..=0)]
pub struct StreamsGroupTopologyKey {
    /// The group.
    pub group_id: GroupId,
}

/// What the application runs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 23, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTopologyValue {
    /// The version of the topology.
    pub epoch: i32,
    /// The parts of the topology.
    pub subtopologies: Vec<Subtopology>,
}

/// A part of the topology that shares no state with the others.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Subtopology {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The topics read from.
    pub source_topics: Vec<TopicName>,
    /// The regular expressions of the topics read from.
    pub source_topic_regex: Vec<CompactString>,
    /// The topics that keep the stores' changes.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The repartition topics written to.
    pub repartition_sink_topics: Vec<TopicName>,
    /// The repartition topics read from.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Which topics must have the same number of partitions.
    pub copartition_groups: Vec<CopartitionGroup>,
}

/// A topic that belongs to the topology.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicInfo {
    /// The topic's name.
    pub name: TopicName,
    /// The number of partitions; 0 to leave it to the broker.
    pub partitions: i32,
    /// The number of replicas; 0 for the broker's default.
    pub replication_factor: i16,
    /// The topic's own configs.
    pub topic_configs: Vec<TopicConfig>,
}

/// A config of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicConfig {
    /// The name.
    pub key: CompactString,
    /// The value.
    pub value: CompactString,
}

/// Topics that must have the same number of partitions. The numbers are positions in the subtopology's lists.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CopartitionGroup {
    /// Positions of topics read from.
    pub source_topics: Vec<i16>,
    /// Positions of regular expressions.
    pub source_topic_regex: Vec<i16>,
    /// Positions of repartition topics read from.
    pub repartition_source_topics: Vec<i16>,
}
