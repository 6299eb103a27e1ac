//! AddOffsetsToTxn: the partition that holds a group's offsets joins a transaction.

use ottla_coordinator::{Identity, Partitions, TransactionEvent, TransactionReply};
use ottla_model::ErrorCode;
use ottla_network::{Outcome, Reply};
use ottla_protocol::messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};

use super::transaction;
use crate::dispatch::Call;
use crate::internal_topics::CONSUMER_OFFSETS;

/// The first version that knows the code of a fenced producer.
const FENCED_SINCE: i16 = 2;

pub(crate) async fn handle(call: &mut Call<'_>, request: AddOffsetsToTxnRequest) -> Outcome {
    let Some(code) = join(call, request).await else { return Reply::close().into() };
    let error_code = transaction::fenced_since(FENCED_SINCE, call.version(), code);
    call.reply(&AddOffsetsToTxnResponse { error_code, ..AddOffsetsToTxnResponse::default() })
}

async fn join(call: &Call<'_>, request: AddOffsetsToTxnRequest) -> Option<ErrorCode> {
    if request.transactional_id.is_empty() {
        return Some(ErrorCode::INVALID_REQUEST);
    }
    let Some(index) = call.groups().partition_of(request.group_id.as_str()) else {
        return Some(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    };
    let by = Identity {
        id: request.transactional_id,
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
    };
    let id = by.id.clone();
    let partitions = Partitions::from([(CONSUMER_OFFSETS.into(), [index].into())]);
    let client_version = transaction::KEEPS_EPOCH;
    let event = TransactionEvent::AddPartitions { by, partitions, client_version };
    match transaction::ask(call, id.as_str(), event).await? {
        TransactionReply::Added(code) => Some(code),
        other => transaction::mismatched(&other),
    }
}
