//! InitProducerId: an id for an idempotent producer.
//!
//! Transactional producers are refused with UNSUPPORTED_VERSION. There is no transaction coordinator, and the codes
//! that say so (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR) are retriable: a client would try again until its own
//! timeout and never say why. With this one it gives up at once and names the API.

use ottla_model::{ErrorCode, ProducerEpoch, ProducerId};
use ottla_network::Outcome;
use ottla_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use crate::dispatch::Call;

pub(crate) async fn handle(call: &mut Call<'_>, request: InitProducerIdRequest) -> Outcome {
    let response = match new_id(call, &request).await {
        Ok(producer_id) => InitProducerIdResponse {
            producer_id,
            producer_epoch: ProducerEpoch::new(0),
            ..InitProducerIdResponse::default()
        },
        Err(error_code) => InitProducerIdResponse {
            error_code,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            ..InitProducerIdResponse::default()
        },
    };
    call.reply(&response)
}

async fn new_id(call: &Call<'_>, request: &InitProducerIdRequest) -> Result<ProducerId, ErrorCode> {
    let has_id = request.producer_id != ProducerId::NONE;
    let has_epoch = request.producer_epoch != ProducerEpoch::NONE;
    if has_id != has_epoch {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    match &request.transactional_id {
        None => {}
        Some(id) if id.is_empty() => return Err(ErrorCode::INVALID_REQUEST),
        Some(_) => return Err(ErrorCode::UNSUPPORTED_VERSION),
    }
    let broker = call.broker();
    let broker_epoch = broker.own_registration().map_or(-1, |registration| registration.epoch);
    broker.producer_ids.next(broker_epoch).await
}
