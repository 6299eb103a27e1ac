//! From the records of a consumer group to its state, in serving as in loading. The order is that of a log which may have
//! been compacted: a member's place can come before the member, and what is removed may never have been there. Nothing is
//! refused here; what does not fit together is left for the next heartbeat to mend.

use ottla_model::GroupId;
use ottla_protocol::internal::ConsumerOffsetsRecord as Record;
use ottla_protocol::internal::group::consumer_group_current_member_assignment::TopicPartitions;
use ottla_protocol::internal::group::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue,
};

use super::member::{Member, MemberState, Owned};
use super::regex::Resolved;
use super::state::ConsumerGroup;
use crate::group::Group;
use crate::machine::GroupMachine;

impl GroupMachine {
    /// Takes a record of a consumer group into the state; false if it is none.
    pub(crate) fn consumer_replay(&mut self, record: Record) -> bool {
        match record {
            Record::ConsumerGroupMetadata(key, Some(value)) => {
                let group = self.replayed_group(key.group_id);
                group.epoch = value.epoch;
                group.metadata_hash = value.metadata_hash;
            }
            Record::ConsumerGroupMetadata(key, None) => {
                if matches!(self.groups.get(&key.group_id), Some(Group::Consumer(_))) {
                    self.groups.remove(&key.group_id);
                }
            }
            Record::ConsumerGroupPartitionMetadata(key, value) => {
                self.change(key.group_id, value.is_some(), |group| group.has_topics_record = value.is_some());
            }
            Record::ConsumerGroupMemberMetadata(key, Some(value)) => {
                let group = self.replayed_group(key.group_id);
                let before = group.members.get(&key.member_id).cloned();
                group.put_member(described(before.unwrap_or_else(|| Member::new(key.member_id)), value));
            }
            Record::ConsumerGroupMemberMetadata(key, None) => {
                self.change(key.group_id, false, |group| drop(group.take_member(&key.member_id)));
            }
            Record::ConsumerGroupTargetAssignmentMetadata(key, value) => {
                self.change(key.group_id, value.is_some(), |group| {
                    group.assignment_epoch = value.as_ref().map_or(-1, |value| value.assignment_epoch);
                    group.assignment_timestamp_ms = value.map_or(0, |value| value.assignment_timestamp);
                });
            }
            Record::ConsumerGroupTargetAssignmentMember(key, Some(value)) => {
                let topics = value.topic_partitions.into_iter().filter(|topic| !topic.partitions.is_empty());
                let target = topics.map(|topic| (topic.topic_id, topic.partitions.into_iter().collect()));
                let target = target.collect();
                self.replayed_group(key.group_id).targets.insert(key.member_id, target);
            }
            Record::ConsumerGroupTargetAssignmentMember(key, None) => {
                self.change(key.group_id, false, |group| drop(group.targets.remove(&key.member_id)));
            }
            Record::ConsumerGroupCurrentMemberAssignment(key, Some(value)) => {
                let group = self.replayed_group(key.group_id);
                let before = group.members.get(&key.member_id).cloned();
                group.put_member(placed(before.unwrap_or_else(|| Member::new(key.member_id)), value));
            }
            Record::ConsumerGroupCurrentMemberAssignment(key, None) => {
                self.change(key.group_id, false, |group| {
                    if let Some(before) = group.members.get(&key.member_id).cloned() {
                        group.put_member(without_place(before));
                    }
                });
            }
            Record::ConsumerGroupRegularExpression(key, Some(value)) => {
                let resolved = Resolved {
                    topics: value.topics.into_iter().collect(),
                    version: value.version,
                    timestamp_ms: value.timestamp,
                };
                self.replayed_group(key.group_id).regexes.insert(key.regular_expression, resolved);
            }
            Record::ConsumerGroupRegularExpression(key, None) => {
                self.change(key.group_id, false, |group| drop(group.regexes.remove(&key.regular_expression)));
            }
            _ => return false,
        }
        true
    }

    /// The group, made if there is none yet. A classic group of that name is over: its tombstone came before, or was
    /// compacted away.
    fn replayed_group(&mut self, id: GroupId) -> &mut ConsumerGroup {
        let entry =
            self.groups.entry(id.clone()).or_insert_with(|| Group::Consumer(ConsumerGroup::new(id.clone())));
        if !matches!(entry, Group::Consumer(_)) {
            *entry = Group::Consumer(ConsumerGroup::new(id));
        }
        match entry {
            Group::Consumer(group) => group,
            Group::Classic(_) => unreachable!("it has just been made a consumer group"),
        }
    }

    fn change(&mut self, id: GroupId, create: bool, change: impl FnOnce(&mut ConsumerGroup)) {
        if create {
            change(self.replayed_group(id));
        } else if let Some(Group::Consumer(group)) = self.groups.get_mut(&id) {
            change(group);
        }
    }
}

fn described(before: Member, value: ConsumerGroupMemberMetadataValue) -> Member {
    Member {
        instance_id: value.instance_id,
        rack_id: value.rack_id,
        client_id: value.client_id,
        client_host: value.client_host,
        topics: value.subscribed_topic_names.into_iter().collect(),
        regex: value.subscribed_topic_regex,
        rebalance_timeout_ms: value.rebalance_timeout_ms,
        assignor: value.server_assignor,
        classic: value.classic_member_metadata,
        ..before
    }
}

fn placed(before: Member, value: ConsumerGroupCurrentMemberAssignmentValue) -> Member {
    Member {
        epoch: value.member_epoch,
        previous_epoch: value.previous_member_epoch,
        state: MemberState::from_wire(value.state),
        assigned: owned(value.assigned_partitions, value.member_epoch),
        revoking: owned(value.partitions_pending_revocation, value.member_epoch),
        ..before
    }
}

fn without_place(before: Member) -> Member {
    Member { epoch: -1, previous_epoch: -1, assigned: Owned::new(), revoking: Owned::new(), ..before }
}

/// Records of before Kafka 4.4 do not say in which epoch a partition was given: then it is the member's.
fn owned(topics: Vec<TopicPartitions>, member_epoch: i32) -> Owned {
    let topics = topics.into_iter().map(|topic| {
        let epochs = topic.assignment_epochs.filter(|epochs| epochs.len() == topic.partitions.len());
        let epochs = epochs.unwrap_or_else(|| vec![member_epoch.max(0); topic.partitions.len()]);
        (topic.topic_id, topic.partitions.into_iter().zip(epochs).collect())
    });
    topics.collect()
}
