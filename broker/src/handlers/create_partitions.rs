//! CreatePartitions: the controller decides; the answer waits until this broker serves the new partitions.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};

use super::shared;
use crate::dispatch::Call;

/// The first version whose clients know that a quota may refuse.
const STRICT_SINCE: i16 = 3;

pub(crate) async fn handle(call: &mut Call<'_>, mut request: CreatePartitionsRequest) -> Outcome {
    let image = call.broker().image.load();
    let cost = |topic: &CreatePartitionsTopic| {
        let has = image.topic(topic.name.as_str()).map_or(0, |topic| topic.partitions.len());
        usize::try_from(topic.count).unwrap_or(0).saturating_sub(has)
    };
    let passed = match request.validate_only {
        true => usize::MAX,
        false => call.charge_mutations(call.version() >= STRICT_SINCE, request.topics.iter().map(cost)),
    };
    let refused = request.topics.split_off(passed.min(request.topics.len()));
    let names: Vec<_> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let mut response = match call.ask_controller(ControllerRequest::CreatePartitions(request)).await {
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
    response.results.extend(refused.into_iter().map(|topic| CreatePartitionsTopicResult {
        name: topic.name,
        error_code: ErrorCode::THROTTLING_QUOTA_EXCEEDED,
        error_message: Some(shared::QUOTA_EXCEEDED.into()),
    }));
    call.reply(&response)
}
