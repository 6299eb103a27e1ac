//! OffsetDelete: offsets of a group that nobody needs any more (KIP-496). Topics and partitions that do not exist are
//! refused here, the rest is the coordinator's.

use ottla_cluster::MetadataImage;
use ottla_coordinator::{Event, Reply};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic, OffsetDeleteResponse,
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, mut request: OffsetDeleteRequest) -> Outcome {
    let image = call.broker().image.load();
    let mut refused = OffsetDeleteResponse::default();
    let topics = std::mem::take(&mut request.topics);
    request.topics =
        topics.into_iter().filter_map(|topic| known(&image, topic, &mut refused.topics)).collect();
    let id = request.group_id.clone();
    let asked = call.groups().ask(id.as_str(), Event::OffsetDelete { request });
    group::finish(call, asked, |reply| match reply {
        Reply::OffsetDelete(deleted) if !deleted.error_code.is_none() => deleted,
        Reply::OffsetDelete(deleted) => merged(refused, deleted),
        other => group::mismatched(&other),
    })
}

fn known(
    image: &MetadataImage,
    topic: OffsetDeleteRequestTopic,
    refused: &mut Vec<OffsetDeleteResponseTopic>,
) -> Option<OffsetDeleteRequestTopic> {
    let OffsetDeleteRequestTopic { name, partitions } = topic;
    let found = image.topic(name.as_str());
    let is_there = |partition: &OffsetDeleteRequestPartition| {
        found.is_some_and(|topic| topic.partition(partition.partition_index).is_some())
    };
    let (there, missing): (Vec<_>, Vec<_>) = partitions.into_iter().partition(is_there);
    if !missing.is_empty() {
        let partitions = missing.iter().map(|partition| OffsetDeleteResponsePartition {
            partition_index: partition.partition_index,
            error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        });
        refused.push(OffsetDeleteResponseTopic { name: name.clone(), partitions: partitions.collect() });
    }
    (!there.is_empty()).then_some(OffsetDeleteRequestTopic { name, partitions: there })
}

/// The refused partitions first, those of the coordinator behind them, a topic listed once.
fn merged(mut refused: OffsetDeleteResponse, deleted: OffsetDeleteResponse) -> OffsetDeleteResponse {
    for topic in deleted.topics {
        match refused.topics.iter_mut().find(|listed| listed.name == topic.name) {
            Some(listed) => listed.partitions.extend(topic.partitions),
            None => refused.topics.push(topic),
        }
    }
    refused
}
