//! ElectLeaders: a partition's leadership goes back to its preferred replica, or, where it has no leader, to any that lives.

use std::sync::Arc;

use ottla_model::{ErrorCode, NodeId, PartitionIndex, Uuid};
use ottla_protocol::messages::elect_leaders::{
    ElectLeadersRequest, ElectLeadersResponse, PartitionResult, ReplicaElectionResult, TopicPartitions,
};
use ottla_protocol::metadata::{MetadataRecord, PartitionChangeRecord};

use super::{Decision, RECORDS_PER_REQUEST_MAX};
use crate::image::{MetadataImage, PartitionImage, TopicImage};
use crate::link::ControllerResponse;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// An error code and the message that goes with it.
type Refusal = (ErrorCode, String);

pub(super) fn decide(image: &MetadataImage, request: &ElectLeadersRequest) -> Decision {
    let unclean = match request.election_type {
        PREFERRED => false,
        UNCLEAN => true,
        other => return refuse_all(request, &format!("Unknown election type {other}")),
    };
    let mut records = Vec::new();
    let results = match &request.topic_partitions {
        Some(topics) => topics.iter().map(|asked| elect_asked(image, asked, unclean, &mut records)).collect(),
        None => elect_all(image, unclean, &mut records),
    };
    if records.len() > RECORDS_PER_REQUEST_MAX {
        return refuse_all(request, "Unable to perform excessively large batch operation.");
    }
    Decision { records, response: response(ErrorCode::NONE, results) }
}

fn elect_asked(
    image: &MetadataImage,
    asked: &TopicPartitions,
    unclean: bool,
    records: &mut Vec<MetadataRecord>,
) -> ReplicaElectionResult {
    let name = &asked.topic;
    let elected = asked.partitions.iter().map(|index| {
        let topic = image.topic(name.as_str());
        let elected = match topic {
            None => Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("No such topic as {name}"))),
            Some(topic) => elect(image, topic, *index, unclean),
        };
        result(*index, elected, records)
    });
    let partition_result = elected.collect();
    ReplicaElectionResult { topic: name.clone(), partition_result }
}

/// Every partition that needs an election. Each topic is named, as by Kafka, also where nothing was to be done.
fn elect_all(
    image: &MetadataImage,
    unclean: bool,
    records: &mut Vec<MetadataRecord>,
) -> Vec<ReplicaElectionResult> {
    let mut topics: Vec<_> = image.topics().map(Arc::as_ref).collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    let of = |topic: &TopicImage| {
        let indices = (0..).take(topic.partitions.len()).map(PartitionIndex::new);
        let elected = indices.map(|index| (index, elect(image, topic, index, unclean)));
        let needed =
            elected.filter(|(_, elected)| !matches!(elected, Err((ErrorCode::ELECTION_NOT_NEEDED, _))));
        let partition_result = needed.map(|(index, elected)| result(index, elected, records)).collect();
        ReplicaElectionResult { topic: topic.name.clone(), partition_result }
    };
    topics.into_iter().map(of).collect()
}

fn elect(
    image: &MetadataImage,
    topic: &TopicImage,
    index: PartitionIndex,
    unclean: bool,
) -> Result<MetadataRecord, Refusal> {
    let name = &topic.name;
    let unknown = || (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("No such partition as {name}-{index}"));
    let partition = topic.partition(index).ok_or_else(unknown)?;
    let is_led = partition.leader != NodeId::NONE;
    let preferred = partition.replicas.first().copied().unwrap_or(NodeId::NONE);
    if if unclean { is_led } else { is_led && partition.leader == preferred } {
        let message = "Leader election not needed for topic partition.".to_owned();
        return Err((ErrorCode::ELECTION_NOT_NEEDED, message));
    }
    let is_alive = |node: &NodeId| image.broker(*node).is_some_and(|broker| !broker.fenced);
    let leader = if unclean {
        let in_sync = partition.isr.iter().find(|node| is_alive(node));
        in_sync.or_else(|| partition.replicas.iter().find(|node| is_alive(node))).copied().ok_or_else(
            || {
                let message = "Eligible topic partition leaders are not available.";
                (ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE, message.to_owned())
            },
        )?
    } else {
        let may_lead = is_alive(&preferred) && partition.isr.contains(&preferred);
        let message = "The preferred leader was not available.";
        may_lead
            .then_some(preferred)
            .ok_or_else(|| (ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE, message.to_owned()))?
    };
    Ok(change(partition, topic.id, index, leader))
}

fn change(
    partition: &PartitionImage,
    topic_id: Uuid,
    partition_id: PartitionIndex,
    leader: NodeId,
) -> MetadataRecord {
    let mut change =
        PartitionChangeRecord { partition_id, topic_id, leader, ..PartitionChangeRecord::default() };
    if !partition.isr.contains(&leader) {
        // It may lack records that were acknowledged: nobody else has them and lives.
        change.isr = Some(vec![leader]);
    }
    change.into()
}

fn result(
    partition_id: PartitionIndex,
    elected: Result<MetadataRecord, Refusal>,
    records: &mut Vec<MetadataRecord>,
) -> PartitionResult {
    let (error_code, error_message) = match elected {
        Ok(record) => {
            records.push(record);
            (ErrorCode::NONE, None)
        }
        Err((code, message)) => (code, Some(message.into())),
    };
    PartitionResult { partition_id, error_code, error_message }
}

fn refuse_all(request: &ElectLeadersRequest, message: &str) -> Decision {
    let code = ErrorCode::INVALID_REQUEST;
    let of = |topic: &TopicPartitions| ReplicaElectionResult {
        topic: topic.topic.clone(),
        partition_result: topic
            .partitions
            .iter()
            .map(|index| PartitionResult {
                partition_id: *index,
                error_code: code,
                error_message: Some(message.into()),
            })
            .collect(),
    };
    let results = request.topic_partitions.iter().flatten().map(of).collect();
    Decision { records: Vec::new(), response: response(code, results) }
}

fn response(
    error_code: ErrorCode,
    replica_election_results: Vec<ReplicaElectionResult>,
) -> ControllerResponse {
    ControllerResponse::ElectLeaders(ElectLeadersResponse {
        error_code,
        replica_election_results,
        ..ElectLeadersResponse::default()
    })
}
