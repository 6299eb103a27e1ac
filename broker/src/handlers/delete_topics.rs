//! DeleteTopics: the controller decides; the answer waits until this broker serves the topics no longer.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_network::Outcome;
use ottla_protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse,
};

use super::shared;
use crate::dispatch::Call;

/// The first version whose clients know that a quota may refuse.
const STRICT_SINCE: i16 = 5;
/// The first version that has a code of its own for deletion that is switched off.
const DISABLED_CODE_SINCE: i16 = 3;

pub(crate) async fn handle(call: &mut Call<'_>, mut request: DeleteTopicsRequest) -> Outcome {
    let asked: Vec<(Option<TopicName>, Uuid)> = match call.version() {
        ..6 => request.topic_names.iter().map(|name| (Some(name.clone()), Uuid::ZERO)).collect(),
        _ => request.topics.iter().map(|topic| (topic.name.clone(), topic.topic_id)).collect(),
    };
    if !call.broker().config.topics.deletion {
        let code = match call.version() {
            ..DISABLED_CODE_SINCE => ErrorCode::INVALID_REQUEST,
            _ => ErrorCode::TOPIC_DELETION_DISABLED,
        };
        return call.reply(&refusal(asked, code));
    }
    let refused = refuse_beyond_quota(call, &mut request);
    let mut response = match call.ask_controller(ControllerRequest::DeleteTopics(request)).await {
        Ok(ControllerResponse::DeleteTopics(response)) => response,
        other => refusal(asked, other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR)),
    };
    response.responses.extend(refused);
    call.reply(&response)
}

/// Takes out of the request what its client's quota does not allow, and answers it.
fn refuse_beyond_quota(call: &mut Call<'_>, request: &mut DeleteTopicsRequest) -> Vec<DeletableTopicResult> {
    let image = call.broker().image.load();
    let by_name = |name: &TopicName| image.topic(name.as_str()).map_or(0, |topic| topic.partitions.len());
    let names = request.topic_names.iter().map(by_name);
    let topics = request.topics.iter().map(|topic| match &topic.name {
        Some(name) => by_name(name),
        None => image.topic_by_id(&topic.topic_id).map_or(0, |topic| topic.partitions.len()),
    });
    let costs: Vec<_> = names.chain(topics).collect();
    let passed = call.charge_mutations(call.version() >= STRICT_SINCE, costs.into_iter());
    let names = request.topic_names.split_off(passed.min(request.topic_names.len()));
    let passed = passed.saturating_sub(request.topic_names.len() + names.len());
    let topics = request.topics.split_off(passed.min(request.topics.len()));
    let names = names.into_iter().map(|name| (Some(name), Uuid::ZERO));
    let refused = names.chain(topics.into_iter().map(|topic| (topic.name, topic.topic_id)));
    let answer = |(name, topic_id)| DeletableTopicResult {
        name,
        topic_id,
        error_code: ErrorCode::THROTTLING_QUOTA_EXCEEDED,
        error_message: Some(shared::QUOTA_EXCEEDED.into()),
    };
    refused.map(answer).collect()
}

fn refusal(asked: Vec<(Option<TopicName>, Uuid)>, error_code: ErrorCode) -> DeleteTopicsResponse {
    let refused = |(name, topic_id)| DeletableTopicResult {
        name,
        topic_id,
        error_code,
        ..DeletableTopicResult::default()
    };
    DeleteTopicsResponse {
        responses: asked.into_iter().map(refused).collect(),
        ..DeleteTopicsResponse::default()
    }
}
