//! OffsetFetch, one group: what was committed, and where nothing was.

use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, TopicName, Uuid};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};

use super::CommittedOffset;
use crate::event::Token;
use crate::group::Group;
use crate::machine::{GroupMachine, Step};
use crate::reply::{Reply, fetch_refused};

/// What stands for an offset where none is committed.
const NO_OFFSET: Offset = Offset::new(-1);

impl GroupMachine {
    /// OffsetFetch, one group.
    pub(crate) fn fetch_offsets(
        &self,
        request: OffsetFetchRequestGroup,
        require_stable: bool,
        token: Token,
        step: &mut Step,
    ) {
        let reply = match self.check_fetch(&request) {
            Err(error) => fetch_refused(request.group_id, error),
            Ok(()) => {
                let topics = match request.topics {
                    Some(topics) => self.fetch_some(&request.group_id, topics, require_stable),
                    None => self.fetch_all(&request.group_id, require_stable),
                };
                OffsetFetchResponseGroup { group_id: request.group_id, topics, error_code: ErrorCode::NONE }
            }
        };
        step.answer(token, Reply::OffsetFetch(reply));
    }

    fn check_fetch(&self, request: &OffsetFetchRequestGroup) -> Result<(), ErrorCode> {
        match self.groups.get(&request.group_id) {
            Some(Group::Consumer(group)) => {
                group.validate_fetch(request.member_id.as_deref(), request.member_epoch)
            }
            // A group that is not there has committed nothing, which is no error.
            Some(Group::Classic(_)) | None => Ok(()),
        }
    }

    fn fetch_some(
        &self,
        group: &GroupId,
        topics: Vec<OffsetFetchRequestTopics>,
        require_stable: bool,
    ) -> Vec<OffsetFetchResponseTopics> {
        let fetch = |topic: OffsetFetchRequestTopics| {
            let partition = |index: &PartitionIndex| {
                let found = self.offsets.get(group, &topic.name, *index);
                // What was committed of another topic of the name is nothing of this one.
                let found = found.filter(|found| same_topic(&found.topic_id, &topic.topic_id));
                self.fetched(group, &topic.name, *index, found, require_stable)
            };
            let partitions = topic.partition_indexes.iter().map(partition).collect();
            OffsetFetchResponseTopics { name: topic.name, topic_id: topic.topic_id, partitions }
        };
        topics.into_iter().map(fetch).collect()
    }

    fn fetch_all(&self, group: &GroupId, require_stable: bool) -> Vec<OffsetFetchResponseTopics> {
        let topics = self.offsets.topics_of(group).into_iter().flatten();
        topics
            .map(|(topic, partitions)| OffsetFetchResponseTopics {
                name: topic.clone(),
                topic_id: self.topics.by_name(topic.as_str()).map_or(Uuid::ZERO, |topic| topic.id),
                partitions: partitions
                    .iter()
                    .map(|(index, entry)| {
                        self.fetched(group, topic, *index, Some(&entry.committed), require_stable)
                    })
                    .collect(),
            })
            .collect()
    }

    fn fetched(
        &self,
        group: &GroupId,
        topic: &TopicName,
        partition_index: PartitionIndex,
        found: Option<&CommittedOffset>,
        require_stable: bool,
    ) -> OffsetFetchResponsePartitions {
        let none = |error_code| OffsetFetchResponsePartitions {
            partition_index,
            committed_offset: NO_OFFSET,
            committed_leader_epoch: LeaderEpoch::UNKNOWN,
            metadata: Some(Default::default()),
            error_code,
        };
        if require_stable && self.offsets.is_pending(group, topic, partition_index) {
            return none(ErrorCode::UNSTABLE_OFFSET_COMMIT);
        }
        let Some(found) = found else { return none(ErrorCode::NONE) };
        OffsetFetchResponsePartitions {
            committed_offset: found.offset,
            committed_leader_epoch: found.leader_epoch,
            metadata: Some(found.metadata.clone()),
            ..none(ErrorCode::NONE)
        }
    }
}

/// Whether two ids can be those of one topic: an unknown one can.
fn same_topic(one: &Uuid, other: &Uuid) -> bool {
    one.is_zero() || other.is_zero() || one == other
}
