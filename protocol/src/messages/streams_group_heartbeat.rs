//! StreamsGroupHeartbeat (key 88), versions 0–1, all flexible (KIP-1071). The one request by which a member joins,
//! stays and leaves.
//!
//! * 1: the acceptable lag has 64 bits; topology descriptions may be asked for (KIP-1331).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName};

use crate::Message;

/// A member's state: all of it when it joins, later what changed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 88, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupHeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: CompactString,
    /// The member's epoch; 0 to join, −1 to leave, −2 to pause as a static member.
    pub member_epoch: i32,
    /// The version of what is known of the members' endpoints.
    pub endpoint_information_epoch: i32,
    /// The static member's id, or null.
    #[field(nullable)]
    pub instance_id: Option<CompactString>,
    /// The member's rack; null if there is none or it did not change.
    #[field(nullable)]
    pub rack_id: Option<CompactString>,
    /// How long the member may take to give tasks up, in milliseconds; −1 if it did not change.
    #[field(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The topology; null if it did not change.
    #[field(nullable)]
    pub topology: Option<Topology>,
    /// The tasks that the member runs; null if they did not change.
    #[field(nullable)]
    pub active_tasks: Option<Vec<TaskIds>>,
    /// The tasks that the member keeps a copy of; null if they did not change.
    #[field(nullable)]
    pub standby_tasks: Option<Vec<TaskIds>>,
    /// The tasks that the member prepares for; null if they did not change.
    #[field(nullable)]
    pub warmup_tasks: Option<Vec<TaskIds>>,
    /// The process that the member runs in; null if it did not change.
    #[field(nullable)]
    pub process_id: Option<CompactString>,
    /// Where the application can be reached; null if it did not change.
    #[field(nullable)]
    pub user_endpoint: Option<Endpoint>,
    /// Names and values that the rack-aware assignment looks at; null if they did not change.
    #[field(nullable)]
    pub client_tags: Option<Vec<KeyValue>>,
    /// How far the tasks are; null if they did not change.
    #[field(nullable)]
    pub task_offsets: Option<Vec<TaskOffset>>,
    /// Where the tasks' changelogs end; null if they did not change.
    #[field(nullable)]
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    /// Whether the whole application is to shut down.
    pub shutdown_application: bool,
}

/// What the application runs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Topology {
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

/// Tasks of one subtopology.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TaskIds {
    /// The subtopology.
    pub subtopology_id: CompactString,
    /// The partitions that the tasks work on.
    pub partitions: Vec<PartitionIndex>,
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

/// What the member is to do.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 88, versions = 0..=1, flexible = 0)]
pub struct StreamsGroupHeartbeatResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The member.
    pub member_id: CompactString,
    /// The group epoch that the member has reached.
    pub member_epoch: i32,
    /// How long to wait before the next heartbeat, in milliseconds.
    pub heartbeat_interval_ms: i32,
    /// How far a task may be behind to count as caught up.
    #[field(versions = ..=0)]
    pub acceptable_recovery_lag_legacy: i32,
    /// How often to report task offsets, in milliseconds.
    pub task_offset_interval_ms: i32,
    /// How far a task may be behind to count as caught up; −1 if it is not said.
    #[field(versions = 1.., default = -1, ignorable)]
    pub acceptable_recovery_lag: i64,
    /// What the member should know, or null if nothing changed.
    #[field(nullable, default = empty)]
    pub status: Option<Vec<Status>>,
    /// The tasks to run; null if they did not change.
    #[field(nullable)]
    pub active_tasks: Option<Vec<TaskIds>>,
    /// The tasks to keep a copy of; null if they did not change.
    #[field(nullable)]
    pub standby_tasks: Option<Vec<TaskIds>>,
    /// The tasks to prepare for; null if they did not change.
    #[field(nullable)]
    pub warmup_tasks: Option<Vec<TaskIds>>,
    /// Whether the member should send a description of its topology.
    #[field(versions = 1..)]
    pub topology_description_required: bool,
    /// The version of what is known of the members' endpoints.
    pub endpoint_information_epoch: i32,
    /// Who has which partitions, or null if nothing changed.
    #[field(nullable)]
    pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
}

/// Something that the member should know.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Status {
    /// What it is, by Kafka's number.
    pub status_code: i8,
    /// What it is, in words.
    pub status_detail: CompactString,
}

/// The partitions behind one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct EndpointToPartitions {
    /// Where the application can be reached.
    pub user_endpoint: Endpoint,
    /// The partitions that it works on.
    pub active_partitions: Vec<TopicPartition>,
    /// The partitions that it keeps a copy of.
    pub standby_partitions: Vec<TopicPartition>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}
