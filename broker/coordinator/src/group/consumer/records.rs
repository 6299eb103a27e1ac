//! The records of a consumer group (key types 3 to 8 and 16), made from state, as Kafka 4.4 makes them. Which are written
//! when is not decided here.

use compact_str::CompactString;
use ottla_model::GroupId;
use ottla_protocol::internal::ConsumerOffsetsRecord as Record;
use ottla_protocol::internal::group as wire;
use ottla_protocol::internal::group::consumer_group_current_member_assignment::TopicPartitions;
use ottla_protocol::internal::group::consumer_group_target_assignment_member::TopicPartition;

use super::member::{Member, Owned};
use super::regex::Resolved;
use crate::group::assignor::Partitions;

/// What a member says of itself.
pub(crate) fn member(group: &GroupId, member: &Member) -> Record {
    let value = wire::ConsumerGroupMemberMetadataValue {
        instance_id: member.instance_id.clone(),
        rack_id: member.rack_id.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        subscribed_topic_names: member.topics.iter().cloned().collect(),
        subscribed_topic_regex: member.regex.clone(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        server_assignor: member.assignor.clone(),
        classic_member_metadata: member.classic.clone(),
    };
    Record::ConsumerGroupMemberMetadata(member_key(group, &member.id), Some(value))
}

/// The group's epoch and what its topics are.
pub(crate) fn epoch(group: &GroupId, epoch: i32, metadata_hash: i64) -> Record {
    let key = wire::ConsumerGroupMetadataKey { group_id: group.clone() };
    Record::ConsumerGroupMetadata(key, Some(wire::ConsumerGroupMetadataValue { epoch, metadata_hash }))
}

/// What a member is to have.
pub(crate) fn target(group: &GroupId, id: &CompactString, partitions: &Partitions) -> Record {
    let topics = partitions.iter().map(|(topic_id, numbers)| TopicPartition {
        topic_id: *topic_id,
        partitions: numbers.iter().copied().collect(),
    });
    let value = wire::ConsumerGroupTargetAssignmentMemberValue { topic_partitions: topics.collect() };
    Record::ConsumerGroupTargetAssignmentMember(target_key(group, id), Some(value))
}

/// For which epoch the targets were made, and when.
pub(crate) fn target_epoch(group: &GroupId, assignment_epoch: i32, assignment_timestamp: i64) -> Record {
    let key = wire::ConsumerGroupTargetAssignmentMetadataKey { group_id: group.clone() };
    let value = wire::ConsumerGroupTargetAssignmentMetadataValue { assignment_epoch, assignment_timestamp };
    Record::ConsumerGroupTargetAssignmentMetadata(key, Some(value))
}

/// What a member has, and where it stands.
pub(crate) fn current(group: &GroupId, member: &Member) -> Record {
    let value = wire::ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: member.epoch,
        previous_member_epoch: member.previous_epoch,
        state: member.state.to_wire(),
        assigned_partitions: topics_with_epochs(&member.assigned),
        partitions_pending_revocation: topics_with_epochs(&member.revoking),
    };
    Record::ConsumerGroupCurrentMemberAssignment(current_key(group, &member.id), Some(value))
}

/// What an expression matches.
pub(crate) fn regex(group: &GroupId, pattern: &CompactString, resolved: &Resolved) -> Record {
    let value = wire::ConsumerGroupRegularExpressionValue {
        topics: resolved.topics.iter().cloned().collect(),
        version: resolved.version,
        timestamp: resolved.timestamp_ms,
    };
    Record::ConsumerGroupRegularExpression(regex_key(group, pattern), Some(value))
}

/// An expression that no member has any more.
pub(crate) fn regex_gone(group: &GroupId, pattern: &CompactString) -> Record {
    Record::ConsumerGroupRegularExpression(regex_key(group, pattern), None)
}

/// What Kafka 4.0 wrote of the topics is of no use any more.
pub(crate) fn topics_gone(group: &GroupId) -> Record {
    let key = wire::ConsumerGroupPartitionMetadataKey { group_id: group.clone() };
    Record::ConsumerGroupPartitionMetadata(key, None)
}

/// A member is gone: in this order.
pub(crate) fn member_gone(group: &GroupId, id: &CompactString) -> [Record; 3] {
    [
        Record::ConsumerGroupCurrentMemberAssignment(current_key(group, id), None),
        Record::ConsumerGroupTargetAssignmentMember(target_key(group, id), None),
        Record::ConsumerGroupMemberMetadata(member_key(group, id), None),
    ]
}

/// The group is gone, with these members and expressions.
pub(crate) fn group_gone<'a>(
    group: &GroupId,
    members: impl Iterator<Item = &'a CompactString> + Clone,
    regexes: impl Iterator<Item = &'a CompactString>,
) -> Vec<Record> {
    let mut records = Vec::new();
    records.extend(
        members.clone().map(|id| Record::ConsumerGroupCurrentMemberAssignment(current_key(group, id), None)),
    );
    records.extend(
        members.clone().map(|id| Record::ConsumerGroupTargetAssignmentMember(target_key(group, id), None)),
    );
    let key = wire::ConsumerGroupTargetAssignmentMetadataKey { group_id: group.clone() };
    records.push(Record::ConsumerGroupTargetAssignmentMetadata(key, None));
    records.extend(members.map(|id| Record::ConsumerGroupMemberMetadata(member_key(group, id), None)));
    records.extend(regexes.map(|pattern| regex_gone(group, pattern)));
    records.push(topics_gone(group));
    let key = wire::ConsumerGroupMetadataKey { group_id: group.clone() };
    records.push(Record::ConsumerGroupMetadata(key, None));
    records
}

fn topics_with_epochs(owned: &Owned) -> Vec<TopicPartitions> {
    let topics = owned.iter().map(|(topic_id, partitions)| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.keys().copied().collect(),
        assignment_epochs: Some(partitions.values().copied().collect()),
    });
    topics.collect()
}

fn member_key(group: &GroupId, id: &CompactString) -> wire::ConsumerGroupMemberMetadataKey {
    wire::ConsumerGroupMemberMetadataKey { group_id: group.clone(), member_id: id.clone() }
}

fn target_key(group: &GroupId, id: &CompactString) -> wire::ConsumerGroupTargetAssignmentMemberKey {
    wire::ConsumerGroupTargetAssignmentMemberKey { group_id: group.clone(), member_id: id.clone() }
}

fn current_key(group: &GroupId, id: &CompactString) -> wire::ConsumerGroupCurrentMemberAssignmentKey {
    wire::ConsumerGroupCurrentMemberAssignmentKey { group_id: group.clone(), member_id: id.clone() }
}

fn regex_key(group: &GroupId, pattern: &CompactString) -> wire::ConsumerGroupRegularExpressionKey {
    wire::ConsumerGroupRegularExpressionKey { group_id: group.clone(), regular_expression: pattern.clone() }
}
