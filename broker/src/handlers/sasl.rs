//! SaslHandshake and SaslAuthenticate on a listener that asks nobody to log in: refused by a code, and the connection
//! stays, so that a client that was configured wrongly learns what is wrong.

use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ottla_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

use crate::dispatch::Call;

pub(crate) fn handshake(call: &mut Call<'_>, _request: SaslHandshakeRequest) -> Outcome {
    let error_code = ErrorCode::ILLEGAL_SASL_STATE;
    call.reply(&SaslHandshakeResponse { error_code, ..SaslHandshakeResponse::default() })
}

pub(crate) fn authenticate(call: &mut Call<'_>, _request: SaslAuthenticateRequest) -> Outcome {
    call.reply(&SaslAuthenticateResponse {
        error_code: ErrorCode::ILLEGAL_SASL_STATE,
        error_message: Some("This listener asks for no authentication.".into()),
        ..SaslAuthenticateResponse::default()
    })
}
