//! ElectLeaders: the controller decides; the answer waits until this broker has applied the elections.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::elect_leaders::{ElectLeadersRequest, ElectLeadersResponse};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: ElectLeadersRequest) -> Outcome {
    let response = match call.ask_controller(ControllerRequest::ElectLeaders(request)).await {
        Ok(ControllerResponse::ElectLeaders(response)) => response,
        other => ElectLeadersResponse {
            error_code: other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR),
            ..ElectLeadersResponse::default()
        },
    };
    call.reply(&response)
}
