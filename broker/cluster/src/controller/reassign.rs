//! AlterPartitionReassignments: partitions that get other replicas (KIP-455, KIP-860). Replicas can be given another order and
//! can be taken away at once; new ones would have to be filled by followers, of which a single node has none.

use ottla_model::{ErrorCode, NodeId, PartitionIndex, Uuid};
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ReassignablePartition,
    ReassignablePartitionResponse, ReassignableTopic, ReassignableTopicResponse,
};
use ottla_protocol::metadata::{MetadataRecord, PartitionChangeRecord};

use super::placement;
use super::{Decision, RECORDS_PER_REQUEST_MAX};
use crate::image::{MetadataImage, PartitionImage, TopicImage};
use crate::link::ControllerResponse;

/// An error code and the message that goes with it, where Kafka has one.
type Refusal = (ErrorCode, Option<String>);

pub(super) fn decide(image: &MetadataImage, request: &AlterPartitionReassignmentsRequest) -> Decision {
    let mut records = Vec::new();
    let of = |topic: &ReassignableTopic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let changed = change(image, topic, asked, request.allow_replication_factor_change);
            let (error_code, message) = match changed {
                Ok(record) => {
                    records.extend(record);
                    (ErrorCode::NONE, None)
                }
                Err(refusal) => refusal,
            };
            ReassignablePartitionResponse {
                partition_index: asked.partition_index,
                error_code,
                error_message: message.map(Into::into),
            }
        });
        ReassignableTopicResponse { name: topic.name.clone(), partitions: partitions.collect() }
    };
    let responses = request.topics.iter().map(of).collect();
    if records.len() > RECORDS_PER_REQUEST_MAX {
        let message = "Unable to perform excessively large batch operation.";
        let response = AlterPartitionReassignmentsResponse {
            error_code: ErrorCode::POLICY_VIOLATION,
            error_message: Some(message.into()),
            ..AlterPartitionReassignmentsResponse::default()
        };
        let response = ControllerResponse::AlterPartitionReassignments(response);
        return Decision { records: Vec::new(), response };
    }
    let response = AlterPartitionReassignmentsResponse {
        allow_replication_factor_change: request.allow_replication_factor_change,
        responses,
        error_message: None,
        ..AlterPartitionReassignmentsResponse::default()
    };
    Decision { records, response: ControllerResponse::AlterPartitionReassignments(response) }
}

fn change(
    image: &MetadataImage,
    asked: &ReassignableTopic,
    partition: &ReassignablePartition,
    may_change_factor: bool,
) -> Result<Option<MetadataRecord>, Refusal> {
    let (name, index) = (&asked.name, partition.partition_index);
    let unknown = |what: String| (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, Some(what));
    let topic = image.topic(name.as_str());
    let topic = topic.ok_or_else(|| unknown(format!("Unable to find a topic named {name}.")))?;
    let current = topic.partition(index);
    let current = current.ok_or_else(|| unknown(format!("Unable to find partition {name}:{index}.")))?;
    match &partition.replicas {
        None => cancel(topic, index, current).map(Some),
        Some(target) => reassign(image, topic, (index, current), target, may_change_factor),
    }
}

/// Takes a reassignment back that a cluster of several nodes had begun.
fn cancel(
    topic: &TopicImage,
    index: PartitionIndex,
    current: &PartitionImage,
) -> Result<MetadataRecord, Refusal> {
    if current.adding_replicas.is_empty() && current.removing_replicas.is_empty() {
        return Err((ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, None));
    }
    let kept = current.replicas.iter().copied().filter(|node| !current.adding_replicas.contains(node));
    Ok(to(topic.id, index, current, &kept.collect::<Vec<_>>()))
}

fn reassign(
    image: &MetadataImage,
    topic: &TopicImage,
    (index, current): (PartitionIndex, &PartitionImage),
    target: &[NodeId],
    may_change_factor: bool,
) -> Result<Option<MetadataRecord>, Refusal> {
    placement::check_replicas(image, target, None).map_err(|(code, message)| (code, Some(message)))?;
    let has = current.replicas.len() - current.adding_replicas.len();
    if !may_change_factor && has != target.len() {
        let message = format!(
            "The replication factor of the partition is {has} and would be {}, which the request does not allow.",
            target.len()
        );
        return Err((ErrorCode::INVALID_REPLICATION_FACTOR, Some(message)));
    }
    if current.replicas == target
        && current.adding_replicas.is_empty()
        && current.removing_replicas.is_empty()
    {
        return Ok(None);
    }
    if let Some(missing) = target.iter().find(|node| !current.isr.contains(node)) {
        let message = format!(
            "Broker {missing} has no replica that is in sync, and this version copies no partitions between brokers."
        );
        return Err((ErrorCode::INVALID_REPLICA_ASSIGNMENT, Some(message)));
    }
    Ok(Some(to(topic.id, index, current, target)))
}

/// The partition with these replicas, each of which is one already.
fn to(
    topic_id: Uuid,
    partition_id: PartitionIndex,
    current: &PartitionImage,
    target: &[NodeId],
) -> MetadataRecord {
    let is_kept = |node: &&NodeId| target.contains(node);
    let isr: Vec<NodeId> = current.isr.iter().filter(is_kept).copied().collect();
    let directories = target.iter().map(|node| {
        let place = current.replicas.iter().position(|replica| replica == node);
        place.and_then(|place| current.directories.get(place)).copied().unwrap_or(Uuid::ZERO)
    });
    let mut change = PartitionChangeRecord {
        partition_id,
        topic_id,
        directories: Some(directories.collect()),
        replicas: Some(target.to_vec()),
        ..PartitionChangeRecord::default()
    };
    if isr != current.isr && !isr.is_empty() {
        change.isr = Some(isr.clone());
    }
    if !target.contains(&current.leader) && current.leader != NodeId::NONE {
        change.leader = isr.first().copied().unwrap_or(NodeId::NONE);
    }
    if !current.removing_replicas.is_empty() {
        change.removing_replicas = Some(Vec::new());
    }
    if !current.adding_replicas.is_empty() {
        change.adding_replicas = Some(Vec::new());
    }
    change.into()
}
