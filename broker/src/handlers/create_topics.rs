//! CreateTopics: the controller decides; the answer waits until this broker serves what was created.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::create_topics::{
    CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: CreateTopicsRequest) -> Outcome {
    let names: Vec<_> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let response = match call.ask_controller(ControllerRequest::CreateTopics(request)).await {
        Ok(ControllerResponse::CreateTopics(response)) => response,
        other => {
            let error_code = other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR);
            let failed = |name| CreatableTopicResult { name, error_code, ..CreatableTopicResult::default() };
            CreateTopicsResponse {
                topics: names.into_iter().map(failed).collect(),
                ..CreateTopicsResponse::default()
            }
        }
    };
    call.reply(&response)
}
