//! TxnOffsetCommit: how far a group has come, if a transaction commits. Topics and partitions that do not exist are refused
//! here; that the group's partition is part of the transaction is asked of the transaction's coordinator; the rest is the
//! group's.

use std::collections::HashMap;

use ottla_cluster::MetadataImage;
use ottla_coordinator::{Event, GroupMachine, Identity, Partitions, Reply};
use ottla_model::{ErrorCode, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic, TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};

use super::group;
use super::transaction::{self, Joining};
use crate::dispatch::Call;
use crate::internal_topics::CONSUMER_OFFSETS;
use crate::partition::verification::Verification;

/// The first version that knows the code of a transaction that must be aborted.
const ABORTABLE_SINCE: i16 = 4;
/// The first version by which the group's partition joins.
const JOINS_SINCE: i16 = 5;
/// The first version that names topics by their id.
const TOPIC_IDS_SINCE: i16 = 6;
/// What a coordinator writes has no order of its own.
const NO_SEQUENCE: i32 = -1;

pub(crate) async fn handle(call: &mut Call<'_>, mut request: TxnOffsetCommitRequest) -> Outcome {
    let image = call.broker().image.load();
    let by_id = call.version() >= TOPIC_IDS_SINCE;
    let mut response = TxnOffsetCommitResponse::default();
    let topics = std::mem::take(&mut request.topics);
    request.topics =
        topics.into_iter().filter_map(|topic| known(&image, topic, by_id, &mut response.topics)).collect();
    if request.topics.is_empty() {
        return call.reply(&response);
    }
    let verification = match join(call, &request).await {
        Some(Ok(verification)) => verification,
        Some(Err(code)) => {
            let refused = request.topics.iter().map(|topic| refusal(topic, code)).collect();
            let refused = TxnOffsetCommitResponse { topics: refused, ..TxnOffsetCommitResponse::default() };
            return call.reply(&merged(response, refused));
        }
        None => return ottla_network::Reply::close().into(),
    };
    let id = request.group_id.clone();
    let event = Event::TxnOffsetCommit { client: group::client(call), request };
    let groups = call.groups();
    let asked = groups.ask(id.as_str(), event);
    let reply = group::resolved::<GroupMachine>(asked, call.waits(), groups.commit_timeout()).await;
    drop(verification);
    match reply {
        Some(Reply::TxnOffsetCommit(committed)) => call.reply(&merged(response, committed)),
        Some(other) => group::mismatched(&other),
        None => ottla_network::Reply::close().into(),
    }
}

/// Makes sure that the group's partition is part of the transaction, and notes it there.
async fn join(
    call: &Call<'_>,
    request: &TxnOffsetCommitRequest,
) -> Option<Result<Option<Verification>, ErrorCode>> {
    let broker = call.broker();
    let Some(index) = call.groups().partition_of(request.group_id.as_str()) else {
        return Some(Err(ErrorCode::COORDINATOR_NOT_AVAILABLE));
    };
    let held = broker.partitions.topic(&TopicName::new(CONSUMER_OFFSETS));
    let Some(partition) = held.as_ref().and_then(|held| held.partition(index)) else {
        return Some(Err(ErrorCode::NOT_COORDINATOR));
    };
    let begun = partition.begin_verification(request.producer_id, request.producer_epoch, NO_SEQUENCE);
    let Some(verification) = begun else { return Some(Ok(None)) };
    let by = Identity {
        id: request.transactional_id.clone(),
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
    };
    let partitions = Partitions::from([(CONSUMER_OFFSETS.into(), [index].into())]);
    let joins = call.version() >= JOINS_SINCE;
    if !joins && !broker.live.peek().transactions.verification {
        verification.confirm();
        return Some(Ok(Some(verification)));
    }
    let joining = if joins { Joining::Added } else { Joining::Verified };
    let joined = transaction::join(call, &by, partitions, joining).await?;
    Some(match joined.first().map_or(ErrorCode::NONE, |(.., code)| *code) {
        ErrorCode::NONE => {
            verification.confirm();
            Ok(Some(verification))
        }
        code => Err(told(code, joining, call.version())),
    })
}

/// What the client is told of a transaction that cannot take the offsets.
fn told(code: ErrorCode, joining: Joining, version: i16) -> ErrorCode {
    match code {
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::CONCURRENT_TRANSACTIONS if joining == Joining::Added => code,
        // Those are of the transaction's coordinator; the client would take them for the group's.
        ErrorCode::CONCURRENT_TRANSACTIONS
        | ErrorCode::NOT_COORDINATOR
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        code => transaction::abortable_since(ABORTABLE_SINCE, version, code),
    }
}

/// What of a topic goes to the coordinator, with name and id; the rest is refused.
fn known(
    image: &MetadataImage,
    mut topic: TxnOffsetCommitRequestTopic,
    by_id: bool,
    refused: &mut Vec<TxnOffsetCommitResponseTopic>,
) -> Option<TxnOffsetCommitRequestTopic> {
    let found = match by_id {
        true => image.topic_by_id(&topic.topic_id),
        false => image.topic(topic.name.as_str()),
    };
    let Some(found) = found else {
        let code = if by_id { ErrorCode::UNKNOWN_TOPIC_ID } else { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION };
        refused.push(refusal(&topic, code));
        return None;
    };
    (topic.name, topic.topic_id) = (found.name.clone(), found.id);
    let partitions = std::mem::take(&mut topic.partitions);
    let (there, missing): (Vec<_>, Vec<_>) =
        partitions.into_iter().partition(|partition| found.partition(partition.partition_index).is_some());
    if !missing.is_empty() {
        let missing = TxnOffsetCommitRequestTopic { partitions: missing, ..topic.clone() };
        refused.push(refusal(&missing, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    }
    topic.partitions = there;
    (!topic.partitions.is_empty()).then_some(topic)
}

fn refusal(topic: &TxnOffsetCommitRequestTopic, error_code: ErrorCode) -> TxnOffsetCommitResponseTopic {
    let partitions = topic.partitions.iter().map(|partition| TxnOffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code,
    });
    let partitions = partitions.collect();
    TxnOffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions }
}

/// The refused partitions first, those of the coordinator behind them, a topic listed once.
fn merged(
    mut refused: TxnOffsetCommitResponse,
    committed: TxnOffsetCommitResponse,
) -> TxnOffsetCommitResponse {
    if refused.topics.is_empty() {
        return committed;
    }
    let places = refused.topics.iter().enumerate().map(|(place, topic)| (topic.name.clone(), place));
    let places: HashMap<TopicName, usize> = places.collect();
    for topic in committed.topics {
        match places.get(&topic.name).and_then(|place| refused.topics.get_mut(*place)) {
            Some(listed) => listed.partitions.extend(topic.partitions),
            None => refused.topics.push(topic),
        }
    }
    refused
}
