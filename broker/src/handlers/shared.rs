//! What several handlers ask the same way: where a partition is or why it is not here, which address a client of a
//! listener is told, which operations it may be shown.

use std::sync::Arc;

use compact_str::CompactString;
use ottla_cluster::{BrokerImage, Endpoint, MetadataImage, PartitionImage, TopicImage};
use ottla_model::{ErrorCode, NodeId, PartitionIndex, TopicName};

use crate::context::Broker;
use crate::partition::Partition;
use crate::partition_map::HeldTopic;

/// Every operation on a topic, as Kafka answers without an authorizer (bits of KIP-430: read, write, create, delete,
/// alter, describe, describe configs, alter configs).
pub(super) const TOPIC_OPERATIONS: i32 = 3576;
/// Every operation on the cluster, likewise.
pub(super) const CLUSTER_OPERATIONS: i32 = 8096;
/// What Kafka says to somebody who changes the metadata more often than his quota allows.
pub(super) const QUOTA_EXCEEDED: &str = "The throttling quota has been exceeded.";
/// The operations were not asked for.
pub(super) const OPERATIONS_UNASKED: i32 = i32::MIN;

/// The operations to show.
pub(super) const fn operations(asked: bool, all: i32) -> i32 {
    if asked { all } else { OPERATIONS_UNASKED }
}

/// The partition, or the code that says why this broker does not serve it.
pub(super) fn find_partition<'a>(
    broker: &Broker,
    topic: &'a HeldTopic,
    index: PartitionIndex,
) -> Result<&'a Arc<Partition>, ErrorCode> {
    let partition = topic.partition(index).ok_or_else(|| why_not_held(broker, &topic.name, index))?;
    match partition.offline() {
        Some(_) => Err(ErrorCode::KAFKA_STORAGE_ERROR),
        None => Ok(partition),
    }
}

/// Whether one of these partitions has a log that a start left closed: to open it waits for the disk.
pub(super) fn has_closed(broker: &Broker, topic: &TopicName, indexes: &[PartitionIndex]) -> bool {
    let held = broker.partitions.topic(topic);
    let partition = |index: &PartitionIndex| held.as_ref().and_then(|held| held.partition(*index));
    indexes.iter().filter_map(partition).any(|partition| !partition.is_ready())
}

/// Why a partition is not held here though its topic is, or though somebody asks for it.
pub(super) fn why_not_held(broker: &Broker, topic: &TopicName, index: PartitionIndex) -> ErrorCode {
    match broker.image.peek().partition(topic.as_str(), index) {
        None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        Some(partition) if partition.replicas.contains(&broker.node_id) => ErrorCode::KAFKA_STORAGE_ERROR,
        Some(_) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
    }
}

/// A broker as a client of one listener sees it.
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) host: CompactString,
    pub(super) port: i32,
    pub(super) rack: Option<CompactString>,
    pub(super) fenced: bool,
}

impl Node {
    fn of(broker: &BrokerImage, listener: &str) -> Option<Self> {
        let Endpoint { host, port, .. } =
            broker.endpoints.iter().find(|endpoint| endpoint.listener.as_str() == listener)?;
        Some(Self {
            id: broker.id,
            host: host.clone(),
            port: i32::from(*port),
            rack: broker.rack.clone(),
            fenced: broker.fenced,
        })
    }
}

/// The brokers that can be reached over a listener, fenced ones among them.
pub(super) fn nodes<'a>(image: &'a MetadataImage, listener: &'a str) -> impl Iterator<Item = Node> + 'a {
    image.brokers().filter_map(move |broker| Node::of(broker, listener))
}

/// One broker, if it can be reached over a listener.
pub(super) fn node(image: &MetadataImage, id: NodeId, listener: &str) -> Option<Node> {
    Node::of(image.broker(id)?, listener).filter(|node| !node.fenced)
}

/// Whether a broker is registered and not fenced.
pub(super) fn is_alive(image: &MetadataImage, id: NodeId) -> bool {
    image.broker(id).is_some_and(|registered| !registered.fenced)
}

/// Where clients of one listener find the partitions of a topic.
pub(super) struct Whereabouts<'a> {
    broker: &'a Broker,
    image: &'a MetadataImage,
    listener: &'a str,
    held: Option<Arc<HeldTopic>>,
}

impl<'a> Whereabouts<'a> {
    pub(super) fn of(
        broker: &'a Broker,
        image: &'a MetadataImage,
        listener: &'a str,
        topic: &TopicImage,
    ) -> Self {
        Self { broker, image, listener, held: broker.partitions.topic_by_id(&topic.id) }
    }

    /// Why clients cannot be sent to a partition's leader, if they cannot. A log that could not be opened has none, as
    /// with Kafka when a log directory is offline.
    pub(super) fn leader_error(&self, index: PartitionIndex, partition: &PartitionImage) -> ErrorCode {
        match self.image.broker(partition.leader).filter(|registered| !registered.fenced) {
            None => ErrorCode::LEADER_NOT_AVAILABLE,
            Some(_) if self.is_offline_on(partition.leader, index) => ErrorCode::LEADER_NOT_AVAILABLE,
            Some(registered)
                if registered.endpoints.iter().any(|endpoint| endpoint.listener == self.listener) =>
            {
                ErrorCode::NONE
            }
            Some(_) => ErrorCode::LISTENER_NOT_FOUND,
        }
    }

    /// The replicas that cannot be reached.
    pub(super) fn offline_replicas(&self, index: PartitionIndex, partition: &PartitionImage) -> Vec<NodeId> {
        let is_offline = |id: &NodeId| !is_alive(self.image, *id) || self.is_offline_on(*id, index);
        partition.replicas.iter().copied().filter(is_offline).collect()
    }

    /// Whether a replica is on this broker and its log not open.
    fn is_offline_on(&self, replica: NodeId, index: PartitionIndex) -> bool {
        replica == self.broker.node_id
            && self.held.as_ref().is_none_or(|held| {
                held.partition(index).is_none_or(|partition| partition.offline().is_some())
            })
    }
}

/// The broker that clients are told is the controller: any that is alive, for it forwards.
pub(super) fn controller(broker: &Broker, image: &MetadataImage) -> NodeId {
    if is_alive(image, broker.node_id) {
        return broker.node_id;
    }
    image.brokers().find(|registered| !registered.fenced).map_or(NodeId::NONE, |registered| registered.id)
}
