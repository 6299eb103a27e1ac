//! DeleteTopics: the controller decides; the answer waits until this broker serves the topics no longer.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_network::Outcome;
use ottla_protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse,
};

use crate::dispatch::Call;

/// The first version that has a code of its own for deletion that is switched off.
const DISABLED_CODE_SINCE: i16 = 3;

pub(crate) async fn handle(call: &mut Call<'_>, request: DeleteTopicsRequest) -> Outcome {
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
    let response = match call.ask_controller(ControllerRequest::DeleteTopics(request)).await {
        Ok(ControllerResponse::DeleteTopics(response)) => response,
        other => refusal(asked, other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR)),
    };
    call.reply(&response)
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
