//! UpdateFeatures: the controller decides; the answer waits until the levels are in force here.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::update_features::{UpdateFeaturesRequest, UpdateFeaturesResponse};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: UpdateFeaturesRequest) -> Outcome {
    let response = match call.ask_controller(ControllerRequest::UpdateFeatures(request)).await {
        Ok(ControllerResponse::UpdateFeatures(response)) => response,
        other => UpdateFeaturesResponse {
            error_code: other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR),
            ..UpdateFeaturesResponse::default()
        },
    };
    call.reply(&response)
}
