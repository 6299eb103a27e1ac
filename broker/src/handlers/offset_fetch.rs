//! OffsetFetch: how far groups have come. Versions differ in their shapes: one group up to version 7, many from 8 on, and
//! topics by id from 10 on; the coordinator is asked group by group in one shape.

use ottla_cluster::MetadataImage;
use ottla_coordinator::{Event, Reply};
use ottla_model::{ErrorCode, LeaderEpoch, Offset, PartitionIndex};
use ottla_network::Outcome;
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};

use super::answer_room::AnswerRoom;
use super::group;
use crate::dispatch::Call;
use crate::machine_host::Asked;

/// The first version in which an error belongs to the whole answer.
const TOP_LEVEL_ERROR_SINCE: i16 = 2;
/// The first version that asks for several groups.
const GROUPS_SINCE: i16 = 8;
/// The first version that names topics by their id.
const TOPIC_IDS_SINCE: i16 = 10;

pub(crate) fn handle(call: &mut Call<'_>, request: OffsetFetchRequest) -> Outcome {
    let version = call.version();
    let image = call.broker().image.load();
    let require_stable = request.require_stable;
    let mut room = AnswerRoom::new();
    let mut asked = Vec::new();
    let mut frames = Vec::new();
    for group in groups(request, version) {
        let (group, frame) = Frame::of(&image, group, version);
        asked.push(ask(call, &mut room, group, require_stable));
        frames.push(frame);
    }
    group::finish_all(call, asked, move |replies| {
        let groups = replies.into_iter().zip(frames).map(|(reply, frame)| match reply {
            Reply::OffsetFetch(group) => frame.fill(&image, group),
            other => group::mismatched(&other),
        });
        response(groups.collect(), version)
    })
}

fn ask(
    call: &Call<'_>,
    room: &mut AnswerRoom,
    group: OffsetFetchRequestGroup,
    require_stable: bool,
) -> Asked<Reply> {
    let id = group.group_id.clone();
    let event = Event::OffsetFetch { client: group::client(call), request: group, require_stable };
    room.ask(call.groups(), id.as_str(), event)
}

/// The groups that are asked for, whatever the version's shape.
fn groups(request: OffsetFetchRequest, version: i16) -> Vec<OffsetFetchRequestGroup> {
    if version >= GROUPS_SINCE {
        return request.groups;
    }
    let topic = |topic: OffsetFetchRequestTopic| OffsetFetchRequestTopics {
        name: topic.name,
        partition_indexes: topic.partition_indexes,
        ..OffsetFetchRequestTopics::default()
    };
    vec![OffsetFetchRequestGroup {
        group_id: request.group_id,
        topics: request.topics.map(|topics| topics.into_iter().map(topic).collect()),
        ..OffsetFetchRequestGroup::default()
    }]
}

/// What of a group's answer is not the coordinator's.
struct Frame {
    version: i16,
    /// Topics of ids that nobody knows.
    unknown: Vec<OffsetFetchResponseTopics>,
    /// What was asked for, where an error has to be told of each partition.
    asked: Vec<OffsetFetchRequestTopics>,
}

impl Frame {
    /// Gives each topic its name and id, and keeps back those that have none.
    fn of(
        image: &MetadataImage,
        mut group: OffsetFetchRequestGroup,
        version: i16,
    ) -> (OffsetFetchRequestGroup, Self) {
        let mut frame = Self { version, unknown: Vec::new(), asked: Vec::new() };
        let Some(topics) = group.topics.take() else { return (group, frame) };
        let mut known = Vec::with_capacity(topics.len());
        for mut topic in topics {
            if version >= TOPIC_IDS_SINCE {
                let Some(found) = image.topic_by_id(&topic.topic_id) else {
                    frame.unknown.push(refusal(&topic, ErrorCode::UNKNOWN_TOPIC_ID));
                    continue;
                };
                topic.name = found.name.clone();
            } else if let Some(found) = image.topic(topic.name.as_str()) {
                topic.topic_id = found.id;
            }
            known.push(topic);
        }
        if version < TOP_LEVEL_ERROR_SINCE {
            frame.asked.clone_from(&known);
        }
        group.topics = Some(known);
        (group, frame)
    }

    fn fill(self, image: &MetadataImage, mut group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup {
        if !group.error_code.is_none() {
            let code = group.error_code;
            group.topics = self.asked.iter().map(|topic| refusal(topic, code)).collect();
            return group;
        }
        if self.version >= TOPIC_IDS_SINCE {
            // A topic without an id cannot be told of.
            group.topics.retain_mut(|topic| {
                if topic.topic_id.is_zero()
                    && let Some(found) = image.topic(topic.name.as_str())
                {
                    topic.topic_id = found.id;
                }
                !topic.topic_id.is_zero()
            });
        }
        group.topics.extend(self.unknown);
        group
    }
}

fn refusal(topic: &OffsetFetchRequestTopics, error_code: ErrorCode) -> OffsetFetchResponseTopics {
    let refused = |index: &PartitionIndex| OffsetFetchResponsePartitions {
        partition_index: *index,
        committed_offset: Offset::UNKNOWN,
        committed_leader_epoch: LeaderEpoch::UNKNOWN,
        metadata: Some("".into()),
        error_code,
    };
    OffsetFetchResponseTopics {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partition_indexes.iter().map(refused).collect(),
    }
}

fn response(groups: Vec<OffsetFetchResponseGroup>, version: i16) -> OffsetFetchResponse {
    if version >= GROUPS_SINCE {
        return OffsetFetchResponse { groups, ..OffsetFetchResponse::default() };
    }
    let only = groups.into_iter().next().unwrap_or_default();
    let partition = |partition: OffsetFetchResponsePartitions| OffsetFetchResponsePartition {
        partition_index: partition.partition_index,
        committed_offset: partition.committed_offset,
        committed_leader_epoch: partition.committed_leader_epoch,
        metadata: partition.metadata,
        error_code: partition.error_code,
    };
    let topic = |topic: OffsetFetchResponseTopics| OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic.partitions.into_iter().map(partition).collect(),
    };
    OffsetFetchResponse {
        topics: only.topics.into_iter().map(topic).collect(),
        error_code: only.error_code,
        ..OffsetFetchResponse::default()
    }
}
