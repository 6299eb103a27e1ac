//! CreatePartitions: topics get more partitions. Topics stand and fall alone; what bounds a request as a whole refuses all.

use std::collections::HashMap;

use ottla_model::{ErrorCode, PartitionIndex, TopicName};
use ottla_protocol::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic,
    CreatePartitionsTopicResult,
};
use ottla_protocol::metadata::{MetadataRecord, PartitionRecord};

use super::placement::{self, bad_assignment};
use super::{Decision, RECORDS_PER_REQUEST_MAX};
use crate::image::{MetadataImage, TopicImage};
use crate::link::ControllerResponse;

/// An error code and the message that goes with it, where Kafka has one.
type Refusal = (ErrorCode, Option<String>);

pub(super) fn decide(image: &MetadataImage, request: &CreatePartitionsRequest) -> Decision {
    let mut times: HashMap<&TopicName, usize> = HashMap::new();
    for topic in &request.topics {
        *times.entry(&topic.name).or_insert(0) += 1;
    }
    let mut named = times.clone();
    let once = request.topics.iter().filter(|topic| named.remove(&topic.name).is_some());
    let once: Vec<&CreatePartitionsTopic> = once.collect();
    if added(image, &once) > RECORDS_PER_REQUEST_MAX as u64 {
        let message = "Excessively large number of additional partitions per request.";
        let refuse = |topic: &&CreatePartitionsTopic| {
            refused(&topic.name, (ErrorCode::POLICY_VIOLATION, Some(message.to_owned())))
        };
        return Decision { records: Vec::new(), response: response(once.iter().map(refuse).collect()) };
    }
    let mut records = Vec::new();
    let mut results = Vec::with_capacity(once.len());
    for topic in once {
        let planned = match times.get(&topic.name) {
            Some(1) => plan(image, topic),
            _ => Err((ErrorCode::INVALID_REQUEST, Some("Duplicate topic name.".to_owned()))),
        };
        results.push(match planned {
            Ok(planned) => {
                records.extend(planned);
                CreatePartitionsTopicResult {
                    name: topic.name.clone(),
                    ..CreatePartitionsTopicResult::default()
                }
            }
            Err(refusal) => refused(&topic.name, refusal),
        });
    }
    if request.validate_only {
        records.clear();
    }
    Decision { records, response: response(results) }
}

/// How many partitions a request adds, where it may.
fn added(image: &MetadataImage, topics: &[&CreatePartitionsTopic]) -> u64 {
    let of = |topic: &&CreatePartitionsTopic| {
        let has = image.topic(topic.name.as_str())?.partitions.len() as u64;
        Some(u64::try_from(topic.count).ok()?.saturating_sub(has))
    };
    topics.iter().filter_map(of).sum()
}

fn plan(image: &MetadataImage, asked: &CreatePartitionsTopic) -> Result<Vec<MetadataRecord>, Refusal> {
    let topic = image.topic(asked.name.as_str()).ok_or((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None))?;
    let has = topic.partitions.len();
    let wanted = usize::try_from(asked.count).unwrap_or(0);
    let too_few = |message: String| Err((ErrorCode::INVALID_PARTITIONS, Some(message)));
    if wanted == has {
        return too_few(format!("Topic already has {has} partition(s)."));
    }
    if wanted < has {
        let (name, count) = (&asked.name, asked.count);
        return too_few(format!(
            "The topic {name} currently has {has} partition(s); {count} would not be an increase."
        ));
    }
    let factor = topic.partitions.first().map_or(1, |partition| partition.replicas.len());
    let placed = match &asked.assignments {
        Some(assignments) => assigned(image, topic, wanted - has, assignments),
        None => placement::spread(image, has, wanted - has, i16::try_from(factor).unwrap_or(i16::MAX)),
    };
    let placed = placed.map_err(|(code, message)| (code, Some(message)))?;
    let first = i32::try_from(has).unwrap_or(i32::MAX);
    let record = |(index, replicas): (i32, Vec<_>)| {
        MetadataRecord::Partition(PartitionRecord {
            partition_id: PartitionIndex::new(index),
            topic_id: topic.id,
            ..placement::first_state(image, replicas)
        })
    };
    Ok((first..).zip(placed).map(record).collect())
}

/// Replicas of new partitions that the client has placed.
fn assigned(
    image: &MetadataImage,
    topic: &TopicImage,
    additional: usize,
    assignments: &[CreatePartitionsAssignment],
) -> Result<Vec<Vec<ottla_model::NodeId>>, placement::Refusal> {
    if assignments.len() != additional {
        return bad_assignment(format!(
            "Attempted to add {additional} additional partition(s), but only {} assignment(s) were specified.",
            assignments.len()
        ));
    }
    let factor = topic.partitions.first().map(|partition| partition.replicas.len());
    for assignment in assignments {
        placement::check_replicas(image, &assignment.broker_ids, factor)?;
        if !placement::has_usable(image, &assignment.broker_ids) {
            return bad_assignment(
                "All brokers specified in the manual partition assignment are fenced or in controlled shutdown."
                    .to_owned(),
            );
        }
    }
    Ok(assignments.iter().map(|assignment| assignment.broker_ids.clone()).collect())
}

fn refused(name: &TopicName, (error_code, message): Refusal) -> CreatePartitionsTopicResult {
    CreatePartitionsTopicResult { name: name.clone(), error_code, error_message: message.map(Into::into) }
}

fn response(results: Vec<CreatePartitionsTopicResult>) -> ControllerResponse {
    ControllerResponse::CreatePartitions(CreatePartitionsResponse {
        results,
        ..CreatePartitionsResponse::default()
    })
}
