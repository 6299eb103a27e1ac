//! StreamsGroupDescribe (key 89), versions 0–1, all flexible (KIP-1071).
//!
//! * 1: topology descriptions (KIP-1331) and the assignor's name (KIP-1357).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName};

use crate::Message;

/// A question for streams groups.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 89, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupDescribeRequest {
    /// The groups.
    pub group_ids: Vec<GroupId>,
    /// Whether to say what the client may do on the groups.
    pub include_authorized_operations: bool,
    /// Whether to describe the topologies.
    #[field(versions = 1..)]
    pub include_topology_description: bool,
}

/// Streams groups and their members.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 89, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupDescribeResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribedGroup {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The group.
    pub group_id: GroupId,
    /// The group's state.
    pub group_state: CompactString,
    /// How often members, subscriptions or topics changed.
    pub group_epoch: i32,
    /// The group epoch for which the target assignment was made.
    pub assignment_epoch: i32,
    /// The topology, or null.
    #[field(nullable)]
    pub topology: Option<Topology>,
    /// The members.
    pub members: Vec<Member>,
    /// A bit for each operation the client may do on the group; −2³¹ if it did not ask.
    #[field(default = i32::MIN)]
    pub authorized_operations: i32,
    /// The topology's description, or null.
    #[field(versions = 1.., nullable)]
    pub topology_description: Option<TopologyDescription>,
    /// Whether there is a description, by Kafka's number.
    #[field(versions = 1..)]
    pub topology_description_status: i8,
    /// The assignor, or null.
    #[field(versions = 1.., nullable, ignorable)]
    pub assignor_name: Option<CompactString>,
}

/// What the application runs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Topology {
    /// The version of the topology.
    pub epoch: i32,
    /// The parts of the topology, or null.
    #[field(nullable)]
    pub subtopologies: Option<Vec<Subtopology>>,
}

/// A part of the topology that shares no state with the others.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Subtopology {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The topics read from.
    pub source_topics: Vec<TopicName>,
    /// The repartition topics written to.
    pub repartition_sink_topics: Vec<TopicName>,
    /// The topics that keep the stores' changes.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The repartition topics read from.
    pub repartition_source_topics: Vec<TopicInfo>,
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
    pub topic_configs: Vec<KeyValue>,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct KeyValue {
    /// The name.
    pub key: CompactString,
    /// The value.
    pub value: CompactString,
}

/// A member of the group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Member {
    /// The member.
    pub member_id: CompactString,
    /// The group epoch that the member has reached.
    pub member_epoch: i32,
    /// The static member's id, or null.
    #[field(nullable)]
    pub instance_id: Option<CompactString>,
    /// The member's rack, or null.
    #[field(nullable)]
    pub rack_id: Option<CompactString>,
    /// What the client calls itself.
    pub client_id: CompactString,
    /// The address that the client connects from.
    pub client_host: CompactString,
    /// The version of the topology.
    pub topology_epoch: i32,
    /// The process that the member runs in.
    pub process_id: CompactString,
    /// Where the application can be reached, or null.
    #[field(nullable)]
    pub user_endpoint: Option<Endpoint>,
    /// Names and values that the rack-aware assignment looks at.
    pub client_tags: Vec<KeyValue>,
    /// How far the tasks are.
    pub task_offsets: Vec<TaskOffset>,
    /// Where the tasks' changelogs end.
    pub task_end_offsets: Vec<TaskOffset>,
    /// What the member has.
    pub assignment: Assignment,
    /// What the member is to have.
    pub target_assignment: Assignment,
    /// Whether it speaks the classic protocol.
    pub is_classic: bool,
}

/// Where a member's application can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Endpoint {
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: u16,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TaskOffset {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The partition that the task works on.
    pub partition: PartitionIndex,
    /// How far it is: the sum of its changelogs' offsets.
    pub offset: i64,
}

/// The tasks of a member.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Assignment {
    /// The tasks to run.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks to keep a copy of.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks to prepare for.
    pub warmup_tasks: Vec<TaskIds>,
}

/// Tasks of one subtopology.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TaskIds {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The partitions that the tasks work on.
    pub partitions: Vec<PartitionIndex>,
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
