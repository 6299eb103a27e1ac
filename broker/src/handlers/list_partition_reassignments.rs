//! ListPartitionReassignments: partitions that a cluster of several nodes had begun to move. A single node begins none.

use std::sync::Arc;

use ottla_cluster::TopicImage;
use ottla_model::PartitionIndex;
use ottla_network::Outcome;
use ottla_protocol::messages::list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, OngoingPartitionReassignment,
    OngoingTopicReassignment,
};

use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: ListPartitionReassignmentsRequest) -> Outcome {
    let image = call.broker().image.load();
    let topics = match request.topics {
        None => {
            let mut all: Vec<_> = image.topics().map(Arc::as_ref).collect();
            all.sort_by(|a: &&TopicImage, b| a.name.cmp(&b.name));
            all.into_iter().filter_map(|topic| ongoing(topic, None)).collect()
        }
        Some(topics) => {
            let asked = topics.iter().filter_map(|asked| {
                ongoing(image.topic(asked.name.as_str())?, Some(&asked.partition_indexes))
            });
            asked.collect()
        }
    };
    call.reply(&ListPartitionReassignmentsResponse {
        topics,
        error_message: None,
        ..ListPartitionReassignmentsResponse::default()
    })
}

/// The partitions of a topic that are on the move; none if none is.
fn ongoing(topic: &TopicImage, asked: Option<&[PartitionIndex]>) -> Option<OngoingTopicReassignment> {
    let numbered = (0..).map(PartitionIndex::new).zip(&topic.partitions);
    let moving = numbered.filter(|(index, partition)| {
        asked.is_none_or(|asked| asked.contains(index))
            && !(partition.adding_replicas.is_empty() && partition.removing_replicas.is_empty())
    });
    let partitions: Vec<_> = moving
        .map(|(partition_index, partition)| OngoingPartitionReassignment {
            partition_index,
            replicas: partition.replicas.clone(),
            adding_replicas: partition.adding_replicas.clone(),
            removing_replicas: partition.removing_replicas.clone(),
        })
        .collect();
    (!partitions.is_empty()).then(|| OngoingTopicReassignment { name: topic.name.clone(), partitions })
}
