//! ConsumerGroupDescribe: a group as it stands. Authorised operations are the host's.

use std::collections::BTreeMap;

use ottla_model::{ErrorCode, GroupId, PartitionIndex, Uuid};
use ottla_protocol::messages::consumer_group_describe::{
    Assignment, DescribedGroup, Member as DescribedMember, TopicPartitions,
};

use super::member::Member;
use super::state::ConsumerGroup;
use crate::event::{Client, Token};
use crate::group::Group;
use crate::machine::{GroupMachine, Step};
use crate::reply::{Reply, consumer_described_refused};
use crate::topics::Topics;

/// How a member of the classic protocol is told from one of the newer.
const CLASSIC_MEMBER: i8 = 0;
const CONSUMER_MEMBER: i8 = 1;

impl GroupMachine {
    /// ConsumerGroupDescribe.
    pub(crate) fn consumer_describe(
        &mut self,
        _client: &Client,
        groups: &[GroupId],
        token: Token,
        step: &mut Step,
    ) {
        let described = groups.iter().map(|id| self.describe_consumer_group(id)).collect();
        step.answer(token, Reply::ConsumerGroupDescribe(described));
    }

    fn describe_consumer_group(&self, id: &GroupId) -> DescribedGroup {
        let missing = |message: String| {
            consumer_described_refused(id, ErrorCode::GROUP_ID_NOT_FOUND, Some(message.into()))
        };
        if id.as_str().is_empty() {
            return consumer_described_refused(id, ErrorCode::INVALID_GROUP_ID, None);
        }
        match self.groups.get(id) {
            Some(Group::Consumer(group)) => group.describe(self.default_assignor(), &*self.topics),
            Some(Group::Classic(_)) => missing(format!("Group {id} is not a consumer group.")),
            None => missing(format!("Group {id} not found.")),
        }
    }
}

impl ConsumerGroup {
    fn describe(&self, default_assignor: &str, topics: &dyn Topics) -> DescribedGroup {
        DescribedGroup {
            error_code: ErrorCode::NONE,
            error_message: None,
            group_id: self.id.clone(),
            group_state: self.state().into(),
            group_epoch: self.epoch,
            assignment_epoch: self.assignment_epoch,
            assignor_name: self.preferred_assignor(None).unwrap_or_else(|| default_assignor.into()),
            members: self.members.values().map(|member| self.describe_member(member, topics)).collect(),
            authorized_operations: i32::MIN,
        }
    }

    fn describe_member(&self, member: &Member, topics: &dyn Topics) -> DescribedMember {
        let target = self.targets.get(&member.id).into_iter().flatten();
        let target = target.flat_map(|(topic, numbers)| numbers.iter().map(|number| (*topic, *number)));
        DescribedMember {
            member_id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            rack_id: member.rack_id.clone(),
            member_epoch: member.epoch,
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            subscribed_topic_names: member.topics.iter().cloned().collect(),
            subscribed_topic_regex: member.regex.clone(),
            assignment: assignment(member.holds(), topics),
            target_assignment: assignment(target, topics),
            member_type: if member.is_classic() { CLASSIC_MEMBER } else { CONSUMER_MEMBER },
        }
    }
}

/// Topics that are gone are left out.
fn assignment(partitions: impl Iterator<Item = (Uuid, PartitionIndex)>, topics: &dyn Topics) -> Assignment {
    let mut by_topic: BTreeMap<Uuid, Vec<PartitionIndex>> = BTreeMap::new();
    for (topic, partition) in partitions {
        by_topic.entry(topic).or_default().push(partition);
    }
    let known = by_topic.into_iter().filter_map(|(topic_id, partitions)| {
        let topic_name = topics.by_id(&topic_id)?.name;
        Some(TopicPartitions { topic_id, topic_name, partitions })
    });
    Assignment { topic_partitions: known.collect() }
}
