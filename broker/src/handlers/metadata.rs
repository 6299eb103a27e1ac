//! Metadata: brokers, the controller, and topics with their partitions, by name, by id, or all.

use ottla_cluster::{MetadataImage, PartitionImage, TopicImage};
use ottla_model::{ErrorCode, NodeId, PartitionIndex, TopicName, Uuid};
use ottla_network::Outcome;
use ottla_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};

use super::shared;
use crate::auto_create;
use crate::dispatch::Call;
use crate::internal_topics;

/// The first version that asks for topics by id, and in which a name may be null.
const IDS_SINCE: i16 = 12;

pub(crate) fn handle(call: &mut Call<'_>, request: MetadataRequest) -> Outcome {
    let image = call.broker().image.load();
    let wanted = match Wanted::of(&request, call.version()) {
        Ok(wanted) => wanted,
        Err(error_code) => return call.reply(&refusal(request, error_code)),
    };
    let operations =
        shared::operations(request.include_topic_authorized_operations, shared::TOPIC_OPERATIONS);
    let mut topics = Topics { call, image: &image, operations, found: Vec::new(), to_create: Vec::new() };
    let may_create = request.allow_auto_topic_creation && topics.call.broker().config.topics.auto_create;
    match wanted {
        Wanted::All => topics.add_all(),
        Wanted::Names(names) => names.into_iter().for_each(|name| topics.add_name(name, may_create)),
        Wanted::Ids(ids) => ids.into_iter().for_each(|id| topics.add_id(id)),
    }
    let Topics { found, to_create, .. } = topics;
    auto_create::begin(&call.broker_arc(), to_create);
    let broker = call.broker();
    call.reply(&MetadataResponse {
        brokers: shared::nodes(&image, &call.connection.listener)
            .filter(|node| !node.fenced)
            .map(|node| MetadataResponseBroker {
                node_id: node.id,
                host: node.host,
                port: node.port,
                rack: node.rack,
            })
            .collect(),
        cluster_id: Some(broker.cluster_id.clone()),
        controller_id: shared::controller(broker, &image),
        topics: found,
        cluster_authorized_operations: shared::operations(
            request.include_cluster_authorized_operations,
            shared::CLUSTER_OPERATIONS,
        ),
        ..MetadataResponse::default()
    })
}

enum Wanted {
    All,
    Names(Vec<TopicName>),
    Ids(Vec<Uuid>),
}

impl Wanted {
    /// All topics are asked for by null, in version 0 by an empty list. One id makes it a request by ids, in which
    /// names count for nothing.
    fn of(request: &MetadataRequest, version: i16) -> Result<Self, ErrorCode> {
        let Some(topics) = &request.topics else { return Ok(Self::All) };
        if topics.is_empty() && version == 0 {
            return Ok(Self::All);
        }
        let by_id = |topic: &MetadataRequestTopic| !topic.topic_id.is_zero();
        if version < IDS_SINCE && topics.iter().any(|topic| topic.name.is_none() || by_id(topic)) {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        if topics.iter().any(by_id) {
            let ids = topics.iter().filter(|topic| by_id(topic)).map(|topic| topic.topic_id);
            return Ok(Self::Ids(without_repeats(ids)));
        }
        if topics.iter().any(|topic| topic.name.is_none()) {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        Ok(Self::Names(without_repeats(topics.iter().filter_map(|topic| topic.name.clone()))))
    }
}

/// The answer's topics as they come together.
struct Topics<'a, 'c> {
    call: &'a Call<'c>,
    image: &'a MetadataImage,
    operations: i32,
    found: Vec<MetadataResponseTopic>,
    to_create: Vec<TopicName>,
}

impl Topics<'_, '_> {
    fn add_all(&mut self) {
        let image = self.image;
        for topic in image.topics() {
            self.add(topic);
        }
        self.found.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn add_name(&mut self, name: TopicName, may_create: bool) {
        let image = self.image;
        if let Some(topic) = image.topic(name.as_str()) {
            return self.add(topic);
        }
        let error_code = match name.check() {
            Ok(()) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Err(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
        };
        if may_create && error_code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION {
            self.to_create.push(name.clone());
        }
        self.found.push(MetadataResponseTopic {
            error_code,
            is_internal: internal_topics::is_internal(&name),
            name: Some(name),
            topic_authorized_operations: self.operations,
            ..MetadataResponseTopic::default()
        });
    }

    fn add_id(&mut self, id: Uuid) {
        let image = self.image;
        match image.topic_by_id(&id) {
            Some(topic) => self.add(topic),
            None => self.found.push(MetadataResponseTopic {
                error_code: ErrorCode::UNKNOWN_TOPIC_ID,
                name: None,
                topic_id: id,
                ..MetadataResponseTopic::default()
            }),
        }
    }

    fn add(&mut self, topic: &TopicImage) {
        let partitions = (0..).map(PartitionIndex::new).zip(&topic.partitions);
        let listener = &self.call.connection.listener;
        let whereabouts = shared::Whereabouts::of(self.call.broker(), self.image, listener, topic);
        self.found.push(MetadataResponseTopic {
            error_code: ErrorCode::NONE,
            name: Some(topic.name.clone()),
            topic_id: topic.id,
            is_internal: internal_topics::is_internal(&topic.name),
            partitions: partitions
                .map(|(index, partition)| described(&whereabouts, index, partition))
                .collect(),
            topic_authorized_operations: self.operations,
        });
    }
}

fn described(
    whereabouts: &shared::Whereabouts<'_>,
    index: PartitionIndex,
    partition: &PartitionImage,
) -> MetadataResponsePartition {
    let error_code = whereabouts.leader_error(index, partition);
    MetadataResponsePartition {
        error_code,
        partition_index: index,
        leader_id: if error_code.is_none() { partition.leader } else { NodeId::NONE },
        leader_epoch: partition.leader_epoch,
        replica_nodes: partition.replicas.clone(),
        isr_nodes: partition.isr.clone(),
        offline_replicas: whereabouts.offline_replicas(index, partition),
    }
}

/// The answer to a request that asks in a way its version has not.
fn refusal(request: MetadataRequest, error_code: ErrorCode) -> MetadataResponse {
    let refused = |topic: MetadataRequestTopic| MetadataResponseTopic {
        error_code,
        // The name may only be null where this refusal cannot come.
        name: Some(topic.name.unwrap_or_default()),
        topic_id: topic.topic_id,
        ..MetadataResponseTopic::default()
    };
    let topics = request.topics.unwrap_or_default().into_iter().map(refused).collect();
    MetadataResponse { topics, error_code, ..MetadataResponse::default() }
}

fn without_repeats<T: PartialEq + Clone + std::hash::Hash + Eq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    items.filter(|item| seen.insert(item.clone())).collect()
}
