//! DeleteTopics, by name or by id. Only the metadata goes here; each broker removes its partitions when the record
//! reaches it.

use std::collections::{HashMap, HashSet};

use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use ottla_protocol::metadata::{MetadataRecord, RemoveTopicRecord};

use super::{ControllerSettings, Decision, RECORDS_PER_REQUEST_MAX};
use crate::image::{MetadataImage, TopicImage};
use crate::link::ControllerResponse;

/// An error code and the message that goes with it.
type Refusal = (ErrorCode, &'static str);

const UNKNOWN_NAME: Refusal =
    (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.");
const UNKNOWN_ID: Refusal = (ErrorCode::UNKNOWN_TOPIC_ID, "This server does not host this topic ID.");
const NAME_AND_ID: Refusal =
    (ErrorCode::INVALID_REQUEST, "You may not specify both topic name and topic id.");
const NEITHER: Refusal = (ErrorCode::INVALID_REQUEST, "Neither topic name nor id were specified.");
const DUPLICATE_NAME: Refusal = (ErrorCode::INVALID_REQUEST, "Duplicate topic name.");
const DUPLICATE_ID: Refusal = (ErrorCode::INVALID_REQUEST, "Duplicate topic id.");
const NAME_OF_ID: Refusal =
    (ErrorCode::INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.");
const TOO_MANY: Refusal =
    (ErrorCode::POLICY_VIOLATION, "Unable to perform excessively large batch operation.");

pub(super) fn decide(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &DeleteTopicsRequest,
) -> Decision {
    let targets = targets(request);
    if !settings.delete_topics {
        // No message: Kafka gives none either. Clients before version 3 do not know the code; the broker answers them 42.
        let answer = |target: &Target| target.answer(ErrorCode::TOPIC_DELETION_DISABLED, None);
        return Decision { records: Vec::new(), response: response(targets.iter().map(answer).collect()) };
    }
    let findings = find(image, &targets);
    let found: Vec<&TopicImage> = findings.iter().filter_map(|(_, finding)| finding.ok()).collect();
    if found.len() > RECORDS_PER_REQUEST_MAX {
        let answers = targets.iter().map(|target| target.refused(TOO_MANY)).collect();
        return Decision { records: Vec::new(), response: response(answers) };
    }
    let removal = |topic: &&TopicImage| MetadataRecord::RemoveTopic(RemoveTopicRecord { topic_id: topic.id });
    let records = found.iter().map(removal).collect();
    let answers = findings.into_iter().map(|(target, finding)| match finding {
        Ok(topic) => deleted(topic),
        Err(NAME_OF_ID) => Target { id: id_of(image, target), ..target.clone() }.refused(NAME_OF_ID),
        Err(refusal) => target.refused(refusal),
    });
    Decision { records, response: response(answers.collect()) }
}

/// What a client names: by rights either a name or an id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Target {
    name: Option<TopicName>,
    id: Uuid,
}

impl Target {
    fn answer(&self, error_code: ErrorCode, message: Option<&str>) -> DeletableTopicResult {
        DeletableTopicResult {
            name: self.name.clone(),
            topic_id: self.id,
            error_code,
            error_message: message.map(Into::into),
        }
    }

    fn refused(&self, (error_code, message): Refusal) -> DeletableTopicResult {
        self.answer(error_code, Some(message))
    }
}

impl From<&DeleteTopicState> for Target {
    fn from(state: &DeleteTopicState) -> Self {
        Self { name: state.name.clone(), id: state.topic_id }
    }
}

fn targets(request: &DeleteTopicsRequest) -> Vec<Target> {
    let named = request.topic_names.iter().map(|name| Target { name: Some(name.clone()), id: Uuid::ZERO });
    named.chain(request.topics.iter().map(Target::from)).collect()
}

/// Each distinct target with its topic, or with the reason why it is not deleted.
fn find<'a, 't>(
    image: &'a MetadataImage,
    targets: &'t [Target],
) -> Vec<(&'t Target, Result<&'a TopicImage, Refusal>)> {
    let mut times = HashMap::new();
    for target in targets {
        *times.entry(target).or_insert(0_usize) += 1;
    }
    let ids: HashSet<Uuid> =
        targets.iter().filter(|target| target.name.is_none()).map(|target| target.id).collect();
    let mut findings = Vec::with_capacity(times.len());
    for target in targets {
        let Some(times) = times.remove(target) else { continue };
        let topic = || target.name.as_ref().and_then(|name| image.topic(name.as_str()));
        let finding = match (&target.name, target.id.is_zero()) {
            (None, true) => Err(NEITHER),
            (Some(_), false) => Err(NAME_AND_ID),
            (Some(_), true) if times > 1 => Err(DUPLICATE_NAME),
            (None, false) if times > 1 => Err(DUPLICATE_ID),
            (None, false) => image.topic_by_id(&target.id).ok_or(UNKNOWN_ID),
            (Some(_), true) => match topic() {
                Some(topic) if ids.contains(&topic.id) => Err(NAME_OF_ID),
                found => found.ok_or(UNKNOWN_NAME),
            },
        };
        findings.push((target, finding.map(AsRef::as_ref)));
    }
    drop_ids_named_twice(&mut findings);
    findings
}

/// A topic that is named by its id and by its name is deleted by neither, and answered once, by its name.
fn drop_ids_named_twice(findings: &mut Vec<(&Target, Result<&TopicImage, Refusal>)>) {
    let refused: HashSet<TopicName> = findings
        .iter()
        .filter(|(_, finding)| *finding == Err(NAME_OF_ID))
        .filter_map(|(target, _)| target.name.clone())
        .collect();
    findings.retain(|(_, finding)| !finding.is_ok_and(|topic| refused.contains(&topic.name)));
}

fn id_of(image: &MetadataImage, target: &Target) -> Uuid {
    let topic = target.name.as_ref().and_then(|name| image.topic(name.as_str()));
    topic.map_or(target.id, |topic| topic.id)
}

fn deleted(topic: &TopicImage) -> DeletableTopicResult {
    DeletableTopicResult {
        name: Some(topic.name.clone()),
        topic_id: topic.id,
        error_code: ErrorCode::NONE,
        error_message: None,
    }
}

fn response(responses: Vec<DeletableTopicResult>) -> ControllerResponse {
    ControllerResponse::DeleteTopics(DeleteTopicsResponse { responses, ..DeleteTopicsResponse::default() })
}
