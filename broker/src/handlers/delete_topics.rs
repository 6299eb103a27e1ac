//! DeleteTopics: the controller decides; the answer waits until this broker serves the topics no longer.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_network::Outcome;
use ottla_protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse,
};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: DeleteTopicsRequest) -> Outcome {
    let asked: Vec<(Option<TopicName>, Uuid)> = match call.version() {
        ..6 => request.topic_names.iter().map(|name| (Some(name.clone()), Uuid::ZERO)).collect(),
        _ => request.topics.iter().map(|topic| (topic.name.clone(), topic.topic_id)).collect(),
    };
    if !call.broker().config.topics.deletion {
        return call.reply(&refusal(asked, ErrorCode::TOPIC_DELETION_DISABLED));
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
