//! StreamsGroupTopologyDescriptionUpdate (key 93), version 0, flexible (KIP-1331).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, TopicName};

use crate::Message;

/// The description of a streams group's topology.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 93, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTopologyDescriptionUpdateRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
    /// The version of the topology.
    pub topology_epoch: i32,
    /// The description.
    pub topology_description: TopologyDescription,
}

/// The topology as a graph, for people to look at.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopologyDescription {
    /// The parts of the topology.
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    /// The stores that every instance holds whole.
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
}

/// The nodes of one subtopology.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopologyDescriptionSubtopology {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The nodes.
    pub nodes: Vec<TopologyDescriptionNode>,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopologyDescriptionNode {
    /// The node's name.
    pub name: CompactString,
    /// What the node does, by Kafka's number.
    pub node_type: i8,
    /// The topics read from.
    pub source_topics: Vec<TopicName>,
    /// The topic that it writes to, or null.
    #[field(nullable)]
    pub sink_topic: Option<TopicName>,
    /// The stores that it uses.
    pub stores: Vec<CompactString>,
    /// The nodes that come next.
    pub successors: Vec<CompactString>,
}

/// A store that every instance holds whole, and what fills it.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopologyDescriptionGlobalStore {
    /// The node that reads.
    pub source: TopologyDescriptionNode,
    /// The node that fills the store.
    pub processor: TopologyDescriptionNode,
}

/// Whether the description was taken.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 93, versions = 0..=0, flexible = 0)]
pub struct StreamsGroupTopologyDescriptionUpdateResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
}
