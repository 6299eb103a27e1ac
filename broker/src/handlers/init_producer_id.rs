//! InitProducerId: an id and epoch for an idempotent producer or, by its coordinator, for a transactional one.

use ottla_coordinator::{Begun, TransactionEvent, TransactionReply};
use ottla_model::{ErrorCode, ProducerEpoch, ProducerId, TransactionalId};
use ottla_network::{Outcome, Reply};
use ottla_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use super::transaction;
use crate::dispatch::Call;

/// The first version that knows the code of a fenced producer.
const FENCED_SINCE: i16 = 4;

pub(crate) async fn handle(call: &mut Call<'_>, request: InitProducerIdRequest) -> Outcome {
    let Some(begun) = begin(call, request).await else { return Reply::close().into() };
    let response = match begun {
        Ok(Begun { producer_id, producer_epoch }) => {
            InitProducerIdResponse { producer_id, producer_epoch, ..InitProducerIdResponse::default() }
        }
        Err(code) => InitProducerIdResponse {
            error_code: transaction::fenced_since(FENCED_SINCE, call.version(), code),
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            ..InitProducerIdResponse::default()
        },
    };
    call.reply(&response)
}

async fn begin(call: &Call<'_>, request: InitProducerIdRequest) -> Option<Result<Begun, ErrorCode>> {
    let has_id = request.producer_id != ProducerId::NONE;
    let has_epoch = request.producer_epoch != ProducerEpoch::NONE;
    if has_id != has_epoch {
        return Some(Err(ErrorCode::INVALID_REQUEST));
    }
    match request.transactional_id {
        None => {
            let id = new_id(call).await;
            Some(id.map(|producer_id| Begun { producer_id, producer_epoch: ProducerEpoch::new(0) }))
        }
        Some(id) if id.is_empty() => Some(Err(ErrorCode::INVALID_REQUEST)),
        Some(id) => {
            let expected = has_id.then_some((request.producer_id, request.producer_epoch));
            begin_transactional(call, id, request.transaction_timeout_ms, expected).await
        }
    }
}

/// Asks the coordinator, once more with a new producer id where it needs one.
async fn begin_transactional(
    call: &Call<'_>,
    id: TransactionalId,
    timeout_ms: i32,
    expected: Option<(ProducerId, ProducerEpoch)>,
) -> Option<Result<Begun, ErrorCode>> {
    let mut fresh = None;
    loop {
        let event = TransactionEvent::InitProducerId { id: id.clone(), timeout_ms, expected, fresh };
        match transaction::ask(call, id.as_str(), event).await? {
            TransactionReply::Begun(begun) => return Some(begun),
            TransactionReply::NeedsProducerId => match new_id(call).await {
                Ok(new) => fresh = Some(new),
                Err(code) => return Some(Err(code)),
            },
            other => transaction::mismatched(&other),
        }
    }
}

/// A producer id that nobody had before.
pub(super) async fn new_id(call: &Call<'_>) -> Result<ProducerId, ErrorCode> {
    let broker = call.broker();
    let broker_epoch = broker.own_registration().map_or(-1, |registration| registration.epoch);
    broker.producer_ids.next(broker_epoch).await
}
