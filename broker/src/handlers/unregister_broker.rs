//! UnregisterBroker: the controller decides; the answer waits until this broker has applied it.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: UnregisterBrokerRequest) -> Outcome {
    let response = match call.ask_controller(ControllerRequest::UnregisterBroker(request)).await {
        Ok(ControllerResponse::UnregisterBroker(response)) => response,
        other => UnregisterBrokerResponse {
            error_code: other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR),
            ..UnregisterBrokerResponse::default()
        },
    };
    call.reply(&response)
}
