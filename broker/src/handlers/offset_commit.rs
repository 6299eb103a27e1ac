//! OffsetCommit: how far a group has come. Topics and partitions that do not exist are refused here, the rest is the
//! coordinator's.

use std::collections::HashMap;

use ottla_cluster::MetadataImage;
use ottla_coordinator::{Event, Reply};
use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_network::Outcome;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};

use super::group;
use crate::dispatch::Call;

/// The first version that names topics by their id.
const TOPIC_IDS_SINCE: i16 = 10;

pub(crate) fn handle(call: &mut Call<'_>, mut request: OffsetCommitRequest) -> Outcome {
    let image = call.broker().image.load();
    let by_id = call.version() >= TOPIC_IDS_SINCE;
    let mut refused = Vec::new();
    let topics = std::mem::take(&mut request.topics);
    request.topics =
        topics.into_iter().filter_map(|topic| known(&image, topic, by_id, &mut refused)).collect();
    let response = OffsetCommitResponse { topics: refused, throttle_time_ms: 0 };
    if request.topics.is_empty() {
        return call.reply(&response);
    }
    let id = request.group_id.clone();
    let event = Event::OffsetCommit { client: group::client(call), request };
    let asked = call.groups().ask(id.as_str(), event);
    group::finish(call, asked, |reply| match reply {
        Reply::OffsetCommit(committed) => merged(response, committed),
        other => group::mismatched(&other),
    })
}

/// What of a topic goes to the coordinator, with name and id; the rest is refused.
fn known(
    image: &MetadataImage,
    mut topic: OffsetCommitRequestTopic,
    by_id: bool,
    refused: &mut Vec<OffsetCommitResponseTopic>,
) -> Option<OffsetCommitRequestTopic> {
    let found = match by_id {
        true => image.topic_by_id(&topic.topic_id),
        false => image.topic(topic.name.as_str()),
    };
    let Some(found) = found else {
        let code = if by_id { ErrorCode::UNKNOWN_TOPIC_ID } else { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION };
        refused.push(refusal(topic.name, topic.topic_id, &topic.partitions, code));
        return None;
    };
    let (name, id) = (found.name.clone(), found.id);
    let partitions = std::mem::take(&mut topic.partitions);
    let (there, missing): (Vec<_>, Vec<_>) =
        partitions.into_iter().partition(|partition| found.partition(partition.partition_index).is_some());
    if !missing.is_empty() {
        refused.push(refusal(name.clone(), id, &missing, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    }
    let known = OffsetCommitRequestTopic { name, topic_id: id, partitions: there };
    (!known.partitions.is_empty()).then_some(known)
}

fn refusal(
    name: TopicName,
    topic_id: Uuid,
    partitions: &[OffsetCommitRequestPartition],
    error_code: ErrorCode,
) -> OffsetCommitResponseTopic {
    let refused = |partition: &OffsetCommitRequestPartition| OffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code,
    };
    OffsetCommitResponseTopic { name, topic_id, partitions: partitions.iter().map(refused).collect() }
}

/// The refused partitions first, those of the coordinator behind them, a topic listed once.
fn merged(mut refused: OffsetCommitResponse, committed: OffsetCommitResponse) -> OffsetCommitResponse {
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
