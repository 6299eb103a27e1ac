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
use crate::reply::{ANSWER_BYTES_MAX, FETCHED_OFFSET_BYTES, Reply, fetch_refused};

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
        let OffsetFetchRequestGroup { group_id, topics, .. } = &request;
        let fetched = self.check_fetch(&request).and_then(|()| match topics {
            Some(topics) => self.fetch_some(group_id, topics, require_stable),
            None => Ok(self.fetch_all(group_id, require_stable)),
        });
        let reply = match fetched {
            Ok(topics) => {
                OffsetFetchResponseGroup { group_id: request.group_id, topics, error_code: ErrorCode::NONE }
            }
            Err(error) => fetch_refused(request.group_id, error),
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

    /// Each partition as often as it is asked for, as Kafka has it, as long as the answer is no larger than a client takes.
    fn fetch_some(
        &self,
        group: &GroupId,
        topics: &[OffsetFetchRequestTopics],
        require_stable: bool,
    ) -> Result<Vec<OffsetFetchResponseTopics>, ErrorCode> {
        let mut bytes = 0;
        let mut fetched = Vec::with_capacity(topics.len());
        for OffsetFetchRequestTopics { name, topic_id, partition_indexes } in topics {
            let mut partitions = Vec::with_capacity(partition_indexes.len());
            for index in partition_indexes {
                let found = self.offsets.get(group, name, *index);
                // What was committed of another topic of the name is nothing of this one.
                let found = found.filter(|found| same_topic(&found.topic_id, topic_id));
                bytes += FETCHED_OFFSET_BYTES + found.map_or(0, |found| found.metadata.len());
                if bytes > ANSWER_BYTES_MAX {
                    return Err(ErrorCode::INVALID_REQUEST);
                }
                partitions.push(self.fetched(group, name, *index, found, require_stable));
            }
            let (name, topic_id) = (name.clone(), *topic_id);
            fetched.push(OffsetFetchResponseTopics { name, topic_id, partitions });
        }
        Ok(fetched)
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
