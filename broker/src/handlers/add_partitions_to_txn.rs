//! AddPartitionsToTxn: up to version 3 a client's, for one transaction; later a broker's, for several, which may ask only
//! whether partitions have joined.

use std::collections::BTreeMap;

use ottla_coordinator::{Identity, Partitions, TransactionEvent, TransactionReply};
use ottla_model::{ErrorCode, ProducerEpoch};
use ottla_network::{Outcome, Reply};
use ottla_protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult, AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult,
};

use super::transaction::{self, Joined};
use crate::dispatch::Call;

/// The first version of several transactions.
const BATCHED_SINCE: i16 = 4;
/// The first version that knows the code of a fenced producer.
const FENCED_SINCE: i16 = 2;

pub(crate) async fn handle(call: &mut Call<'_>, request: AddPartitionsToTxnRequest) -> Outcome {
    let mut response = AddPartitionsToTxnResponse::default();
    if call.version() < BATCHED_SINCE {
        let by = Identity {
            id: request.v3_and_below_transactional_id,
            producer_id: request.v3_and_below_producer_id,
            producer_epoch: ProducerEpoch::new(request.v3_and_below_producer_epoch),
        };
        let Some(joined) = join(call, by, &request.v3_and_below_topics, false).await else {
            return Reply::close().into();
        };
        response.results_by_topic_v3_and_below = joined;
        return call.reply(&response);
    }
    for one in request.transactions {
        let transactional_id = one.transactional_id.clone();
        let by = Identity {
            id: one.transactional_id,
            producer_id: one.producer_id,
            producer_epoch: one.producer_epoch,
        };
        let Some(topic_results) = join(call, by, &one.topics, one.verify_only).await else {
            return Reply::close().into();
        };
        response.results_by_transaction.push(AddPartitionsToTxnResult { transactional_id, topic_results });
    }
    call.reply(&response)
}

/// The partitions of one transaction: all of them join or none does.
async fn join(
    call: &Call<'_>,
    by: Identity,
    topics: &[AddPartitionsToTxnTopic],
    verify_only: bool,
) -> Option<Vec<AddPartitionsToTxnTopicResult>> {
    let mut partitions = Partitions::new();
    for topic in topics {
        partitions.entry(topic.name.clone()).or_default().extend(topic.partitions.iter().copied());
    }
    if by.id.is_empty() {
        return Some(results(
            topics,
            transaction::all(&partitions, ErrorCode::INVALID_REQUEST),
            call.version(),
        ));
    }
    if let Some(refused) = unknown(call, &partitions) {
        return Some(results(topics, refused, call.version()));
    }
    let id = by.id.clone();
    let client_version = match call.version() {
        version if version < BATCHED_SINCE => transaction::KEEPS_EPOCH,
        _ => transaction::RAISES_EPOCH,
    };
    let event = match verify_only {
        true => TransactionEvent::Verify { by, partitions: partitions.clone() },
        false => TransactionEvent::AddPartitions { by, partitions: partitions.clone(), client_version },
    };
    let joined = match transaction::ask(call, id.as_str(), event).await? {
        TransactionReply::Verified(verified) => verified,
        TransactionReply::Added(code) => transaction::all(&partitions, code),
        other => transaction::mismatched(&other),
    };
    Some(results(topics, joined, call.version()))
}

/// Where a partition does not exist, nothing is attempted.
fn unknown(call: &Call<'_>, partitions: &Partitions) -> Option<Joined> {
    let image = call.broker().image.peek();
    let mut joined = transaction::all(partitions, ErrorCode::OPERATION_NOT_ATTEMPTED);
    let mut is_one_unknown = false;
    for (topic, index, code) in &mut joined {
        if image.partition(topic.as_str(), *index).is_none() {
            *code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
            is_one_unknown = true;
        }
    }
    is_one_unknown.then_some(joined)
}

/// The answers in the order of the request.
fn results(
    topics: &[AddPartitionsToTxnTopic],
    joined: Joined,
    version: i16,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let codes: BTreeMap<_, _> =
        joined.into_iter().map(|(topic, index, code)| ((topic, index), code)).collect();
    let told = |code: ErrorCode| transaction::fenced_since(FENCED_SINCE, version, code);
    topics
        .iter()
        .map(|topic| AddPartitionsToTxnTopicResult {
            name: topic.name.clone(),
            results_by_partition: topic
                .partitions
                .iter()
                .map(|index| AddPartitionsToTxnPartitionResult {
                    partition_index: *index,
                    partition_error_code: codes
                        .get(&(topic.name.clone(), *index))
                        .copied()
                        .map_or(ErrorCode::UNKNOWN_SERVER_ERROR, told),
                })
                .collect(),
        })
        .collect()
}
