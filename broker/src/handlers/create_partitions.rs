//! CreatePartitions: the controller decides; the answer waits until this broker serves the new partitions.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopicResult,
};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: CreatePartitionsRequest) -> Outcome {
    let names: Vec<_> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let response = match call.ask_controller(ControllerRequest::CreatePartitions(request)).await {
        Ok(ControllerResponse::CreatePartitions(response)) => response,
        other => {
            let error_code = other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR);
            let failed = |name| CreatePartitionsTopicResult {
                name,
                error_code,
                ..CreatePartitionsTopicResult::default()
            };
            CreatePartitionsResponse {
                results: names.into_iter().map(failed).collect(),
                ..CreatePartitionsResponse::default()
            }
        }
    };
    call.reply(&response)
}
