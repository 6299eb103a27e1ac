//! CreateTopics: the controller decides; the answer waits until this broker serves what was created.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};

use super::shared;
use crate::dispatch::Call;

/// The first version whose clients know that a quota may refuse.
const STRICT_SINCE: i16 = 6;

pub(crate) async fn handle(call: &mut Call<'_>, mut request: CreateTopicsRequest) -> Outcome {
    let default = usize::try_from(call.broker().config.topics.default_partitions).unwrap_or(1);
    let cost = |topic: &CreatableTopic| match topic.assignments.len() {
        0 => usize::try_from(topic.num_partitions).unwrap_or(default),
        placed => placed,
    };
    let passed = match request.validate_only {
        true => usize::MAX,
        false => call.charge_mutations(call.version() >= STRICT_SINCE, request.topics.iter().map(cost)),
    };
    let refused = request.topics.split_off(passed.min(request.topics.len()));
    let names: Vec<_> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let mut response = match call.ask_controller(ControllerRequest::CreateTopics(request)).await {
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
    response.topics.extend(refused.into_iter().map(|topic| CreatableTopicResult {
        name: topic.name,
        error_code: ErrorCode::THROTTLING_QUOTA_EXCEEDED,
        error_message: Some(shared::QUOTA_EXCEEDED.into()),
        ..CreatableTopicResult::default()
    }));
    call.reply(&response)
}
