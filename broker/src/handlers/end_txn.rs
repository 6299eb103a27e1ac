//! EndTxn: commits or aborts. The answer leaves once the decision is committed; the markers follow.

use ottla_coordinator::{Begun, Identity, TransactionEvent, TransactionReply};
use ottla_model::{ErrorCode, ProducerEpoch, ProducerId};
use ottla_network::{Outcome, Reply};
use ottla_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};

use super::init_producer_id::new_id;
use super::transaction;
use crate::dispatch::Call;

/// The first version in which each end raises the epoch.
const RAISES_EPOCH_SINCE: i16 = 5;
/// The first version that knows the code of a fenced producer.
const FENCED_SINCE: i16 = 2;

pub(crate) async fn handle(call: &mut Call<'_>, request: EndTxnRequest) -> Outcome {
    let Some(ended) = end(call, request).await else { return Reply::close().into() };
    let none = Begun { producer_id: ProducerId::NONE, producer_epoch: ProducerEpoch::NONE };
    let (error_code, begun) = match ended {
        Ok(begun) => (ErrorCode::NONE, begun.unwrap_or(none)),
        Err(code) => (transaction::fenced_since(FENCED_SINCE, call.version(), code), none),
    };
    call.reply(&EndTxnResponse {
        error_code,
        producer_id: begun.producer_id,
        producer_epoch: begun.producer_epoch,
        ..EndTxnResponse::default()
    })
}

/// Asks the coordinator, once more with a new producer id where it needs one.
async fn end(call: &Call<'_>, request: EndTxnRequest) -> Option<Result<Option<Begun>, ErrorCode>> {
    if request.transactional_id.is_empty() {
        return Some(Err(ErrorCode::INVALID_REQUEST));
    }
    let by = Identity {
        id: request.transactional_id,
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
    };
    let client_version = match call.version() {
        version if version < RAISES_EPOCH_SINCE => transaction::KEEPS_EPOCH,
        _ => transaction::RAISES_EPOCH,
    };
    let mut fresh = None;
    loop {
        let (by, committed) = (by.clone(), request.committed);
        let id = by.id.clone();
        let event = TransactionEvent::End { by, committed, client_version, fresh };
        match transaction::ask(call, id.as_str(), event).await? {
            TransactionReply::Ended(ended) => return Some(ended),
            TransactionReply::NeedsProducerId => match new_id(call).await {
                Ok(new) => fresh = Some(new),
                Err(code) => return Some(Err(code)),
            },
            other => transaction::mismatched(&other),
        }
    }
}
