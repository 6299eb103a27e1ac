//! DescribeTopicPartitions: topics with their partitions, sorted by name, so many at a time (KIP-966).

use std::collections::BTreeSet;

use ottla_cluster::{MetadataImage, PartitionImage};
use ottla_model::{ErrorCode, NodeId, PartitionIndex, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};

use super::shared;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::internal_topics;

/// The most partitions of one answer (`max.request.partition.size.limit`'s default).
const PARTITIONS_MAX: i32 = 2000;

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeTopicPartitionsRequest) -> Outcome {
    let image = call.broker().image.load();
    if request.cursor.as_ref().is_some_and(|cursor| !is_valid(cursor, &request)) {
        return call.reply(&refusal(request));
    }
    let mut page = Page {
        broker: call.broker(),
        image: &image,
        listener: &call.connection.listener,
        left: usize::try_from(request.response_partition_limit.clamp(1, PARTITIONS_MAX)).unwrap_or(1),
        topics: Vec::new(),
        next: None,
    };
    for (name, first) in names(&image, &request) {
        if page.next.is_some() {
            break;
        }
        page.add(name, first);
    }
    let Page { topics, next, .. } = page;
    call.reply(&DescribeTopicPartitionsResponse { topics, next_cursor: next, ..Default::default() })
}

/// A cursor points to a partition of a topic that is asked for.
fn is_valid(cursor: &Cursor, request: &DescribeTopicPartitionsRequest) -> bool {
    let is_asked =
        request.topics.is_empty() || request.topics.iter().any(|topic| topic.name == cursor.topic_name);
    is_asked && cursor.partition_index >= PartitionIndex::new(0)
}

/// The topics from the cursor on, by name, each with its first partition to tell. An empty list asks for all.
fn names(image: &MetadataImage, request: &DescribeTopicPartitionsRequest) -> Vec<(TopicName, usize)> {
    let mut names: BTreeSet<TopicName> = match request.topics.is_empty() {
        true => image.topics().map(|topic| topic.name.clone()).collect(),
        false => request.topics.iter().map(|topic| topic.name.clone()).collect(),
    };
    let Some(cursor) = &request.cursor else { return names.into_iter().map(|name| (name, 0)).collect() };
    names = names.split_off(&cursor.topic_name);
    let first = usize::try_from(cursor.partition_index.get()).unwrap_or(0);
    let begin_at = |name: TopicName| {
        let begin = if name == cursor.topic_name { first } else { 0 };
        (name, begin)
    };
    names.into_iter().map(begin_at).collect()
}

/// An answer as it fills.
struct Page<'a> {
    broker: &'a Broker,
    image: &'a MetadataImage,
    listener: &'a str,
    left: usize,
    topics: Vec<DescribeTopicPartitionsResponseTopic>,
    next: Option<Cursor>,
}

impl Page<'_> {
    fn add(&mut self, name: TopicName, first: usize) {
        if self.left == 0 {
            self.next = Some(cursor(name, first));
            return;
        }
        let Some(topic) = self.image.topic(name.as_str()) else {
            self.topics.push(unknown(name));
            return;
        };
        let end = topic.partitions.len().min(first.saturating_add(self.left));
        let told = topic.partitions.iter().enumerate().take(end).skip(first);
        let whereabouts = shared::Whereabouts::of(self.broker, self.image, self.listener, topic);
        let partitions: Vec<_> = told
            .map(|(index, partition)| described(&whereabouts, partition_index(index), partition))
            .collect();
        self.left -= partitions.len();
        if end < topic.partitions.len() {
            self.next = Some(cursor(name.clone(), end));
        }
        self.topics.push(DescribeTopicPartitionsResponseTopic {
            error_code: ErrorCode::NONE,
            is_internal: internal_topics::is_internal(&name),
            name: Some(name),
            topic_id: topic.id,
            partitions,
            topic_authorized_operations: shared::TOPIC_OPERATIONS,
        });
    }
}

fn described(
    whereabouts: &shared::Whereabouts<'_>,
    index: PartitionIndex,
    partition: &PartitionImage,
) -> DescribeTopicPartitionsResponsePartition {
    let error_code = whereabouts.leader_error(index, partition);
    DescribeTopicPartitionsResponsePartition {
        error_code,
        partition_index: index,
        leader_id: if error_code.is_none() { partition.leader } else { NodeId::NONE },
        leader_epoch: partition.leader_epoch,
        replica_nodes: partition.replicas.clone(),
        isr_nodes: partition.isr.clone(),
        eligible_leader_replicas: Some(partition.eligible_leader_replicas.clone()),
        last_known_elr: Some(partition.last_known_elr.clone()),
        offline_replicas: whereabouts.offline_replicas(index, partition),
    }
}

fn unknown(name: TopicName) -> DescribeTopicPartitionsResponseTopic {
    let error_code = match name.check() {
        Ok(()) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        Err(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
    };
    DescribeTopicPartitionsResponseTopic {
        error_code,
        is_internal: internal_topics::is_internal(&name),
        name: Some(name),
        topic_authorized_operations: shared::TOPIC_OPERATIONS,
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}

fn cursor(topic_name: TopicName, index: usize) -> Cursor {
    Cursor { topic_name, partition_index: partition_index(index) }
}

fn partition_index(index: usize) -> PartitionIndex {
    PartitionIndex::new(i32::try_from(index).expect("a topic has fewer than 2^31 partitions"))
}

/// The answer to a cursor that is not valid.
fn refusal(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    let refused = request.topics.into_iter().map(|topic| DescribeTopicPartitionsResponseTopic {
        error_code: ErrorCode::INVALID_REQUEST,
        name: Some(topic.name),
        ..DescribeTopicPartitionsResponseTopic::default()
    });
    DescribeTopicPartitionsResponse { topics: refused.collect(), ..Default::default() }
}
