//! Offsets that go: by OffsetDelete, with their topic, with their group.

use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName};
use ottla_protocol::internal::ConsumerOffsetsRecord;
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use super::expiry::take;
use super::{Offsets, tombstone};
use crate::event::Token;
use crate::group::Group;
use crate::machine::{GroupMachine, Step, TOMBSTONE_BYTES_MAX, Timer};
use crate::reply::Reply;

impl GroupMachine {
    /// OffsetDelete.
    pub(crate) fn delete_offsets(&self, request: OffsetDeleteRequest, token: Token, step: &mut Step) {
        let group = match self.check_offset_delete(&request.group_id) {
            Ok(group) => group,
            Err(error_code) => {
                let refused = OffsetDeleteResponse { error_code, throttle_time_ms: 0, topics: Vec::new() };
                return step.answer(token, Reply::OffsetDelete(refused));
            }
        };
        let known = self.offsets.partitions_of(&request.group_id);
        let topics = request.topics.into_iter().map(|topic| {
            let subscribed = group.is_subscribed_to(&topic.name);
            let mut delete = |partition_index| {
                let error_code = if subscribed {
                    ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC
                } else {
                    if known.contains(&(topic.name.clone(), partition_index)) {
                        step.records.push(tombstone(&request.group_id, &topic.name, partition_index));
                    }
                    ErrorCode::NONE
                };
                OffsetDeleteResponsePartition { partition_index, error_code }
            };
            let partitions =
                topic.partitions.iter().map(|partition| delete(partition.partition_index)).collect();
            OffsetDeleteResponseTopic { name: topic.name.clone(), partitions }
        });
        let topics = topics.collect();
        let response = OffsetDeleteResponse { error_code: ErrorCode::NONE, throttle_time_ms: 0, topics };
        step.answer(token, Reply::OffsetDelete(response));
    }

    fn check_offset_delete(&self, id: &GroupId) -> Result<&Group, ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        let group = self.groups.get(id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
        match group {
            Group::Classic(classic) => classic.check_offset_delete()?,
            Group::Consumer(_) => {}
        }
        Ok(group)
    }

    /// The records that take away everything that a group has committed or is about to.
    pub(crate) fn all_offset_tombstones(&self, group: &GroupId, records: &mut Vec<ConsumerOffsetsRecord>) {
        let partitions = self.offsets.partitions_of(group);
        records.extend(partitions.iter().map(|(topic, partition)| tombstone(group, topic, *partition)));
    }

    /// Topics are gone: so is what was committed of them. What does not fit into a batch is done by the next ticks.
    pub(crate) fn topics_deleted(&mut self, topics: &[TopicName], step: &mut Step) {
        let until = self.offsets.serial;
        for topic in topics {
            for group in self.offsets.groups_with(topic) {
                let gone = self.offsets.partitions_of(&group).into_iter().filter(|(name, _)| name == topic);
                let gone =
                    gone.map(|(topic, partition)| Swept { group: group.clone(), topic, partition, until });
                self.sweep.extend(gone);
            }
        }
        self.sweep_some(step);
    }

    /// Writes tombstones for what is to be swept, as much as one batch may hold.
    pub(crate) fn sweep_some(&mut self, step: &mut Step) {
        let mut budget = TOMBSTONE_BYTES_MAX;
        while let Some(swept) = self.sweep.front() {
            if !take(&mut budget, &swept.group, &swept.topic) {
                return self.timers.set(Timer::Sweep, step.now.steady_ms);
            }
            if self.offsets.is_older(swept) {
                step.records.push(tombstone(&swept.group, &swept.topic, swept.partition));
            }
            self.sweep.pop_front();
        }
    }
}

/// An offset whose topic is gone.
#[derive(Debug, Clone)]
pub(crate) struct Swept {
    group: GroupId,
    topic: TopicName,
    partition: PartitionIndex,
    /// How many records had been replayed when the topic went: what came later is of a new topic of the name.
    until: u64,
}

impl Offsets {
    fn is_older(&self, swept: &Swept) -> bool {
        let pending = self.open.get(&swept.group).into_iter().flatten();
        let pending = pending.filter_map(|producer| self.pending.get(producer)?.get(&swept.group));
        self.committed
            .get(&swept.group)
            .into_iter()
            .chain(pending)
            .filter_map(|topics| topics.get(&swept.topic)?.get(&swept.partition))
            .any(|entry| entry.serial <= swept.until)
    }
}
