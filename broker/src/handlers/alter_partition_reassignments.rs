//! AlterPartitionReassignments: the controller decides; the answer waits until this broker has applied the change.

use compact_str::CompactString;
use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: AlterPartitionReassignmentsRequest) -> Outcome {
    if request.topics.is_empty() {
        // Kafka's answer to nothing has an empty message where others have none.
        return call.reply(&AlterPartitionReassignmentsResponse {
            error_message: Some(CompactString::const_new("")),
            ..AlterPartitionReassignmentsResponse::default()
        });
    }
    let request = ControllerRequest::AlterPartitionReassignments(request);
    let response = match call.ask_controller(request).await {
        Ok(ControllerResponse::AlterPartitionReassignments(response)) => response,
        other => AlterPartitionReassignmentsResponse {
            error_code: other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR),
            ..AlterPartitionReassignmentsResponse::default()
        },
    };
    call.reply(&response)
}
