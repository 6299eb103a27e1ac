//! A running group changes its kind, as `group.consumer.migration.policy` allows. A classic group of consumers becomes one
//! of the newer protocol when a member of that joins it; it becomes classic again when the last such member is gone, or
//! comes back as a static member by the classic protocol. What members have, they keep.

use std::collections::BTreeSet;

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, Uuid};
use ottla_protocol::internal::group::consumer_group_member_metadata::{
    ClassicMemberMetadata, ClassicProtocol,
};
use ottla_protocol::internal::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, consumer_protocol, decode_versioned_or_newer,
    encode_versioned,
};
use ottla_protocol::messages::join_group::JoinGroupRequestProtocol;

use super::beat::Waiting;
use super::classic_member::version_of;
use super::hash::TopicHashes;
use super::member::{Member, MemberState, with_epoch};
use super::state::ConsumerGroup;
use super::{ConsumerAfter, ConsumerTimer, Refusal, records};
use crate::group::Group;
use crate::group::assignor::Partitions;
use crate::group::classic::{self, ClassicGroup};
use crate::machine::{After, GroupMachine, Outcome, Step, Timer, failure_code};
use crate::topics::Topics;

/// A group on its way to the classic protocol.
#[derive(Debug)]
pub(crate) struct Downgrade {
    pub(crate) id: GroupId,
    classic: Box<ClassicGroup>,
    /// Requests that waited for an assignment which will not be made.
    waiting: Vec<Waiting>,
    /// Whether what the members have is not what they are to have: then they join anew at once.
    rebalance: bool,
}

impl GroupMachine {
    /// The classic group as one of the newer protocol, and the records that make it one.
    pub(super) fn taken_over(
        &self,
        classic: &ClassicGroup,
        step: &mut Step,
    ) -> Result<ConsumerGroup, Refusal> {
        step.records.push(ClassicGroup::tombstone(&classic.id));
        if classic.is_empty() {
            return Ok(ConsumerGroup::new(classic.id.clone()));
        }
        let refuse = |why: &str| {
            let message =
                format!("Cannot upgrade classic group {} to consumer group because {why}.", classic.id);
            Refusal::new(ErrorCode::GROUP_ID_NOT_FOUND, message)
        };
        if !self.config.consumer.migration.allows_upgrade() {
            return Err(refuse("online upgrade is disabled"));
        }
        if !classic.has_consumers() {
            return Err(refuse("the group does not use the consumer embedded protocol"));
        }
        if classic.members().len() > self.config.consumer.members_max {
            return Err(refuse("the group size exceeds the consumer group maximum size"));
        }
        let group = upgraded(classic, &*self.topics, &self.topic_hashes).map_err(refuse)?;
        step.records.extend(group.members.values().map(|member| records::member(&group.id, member)));
        step.records.push(records::epoch(&group.id, group.epoch, group.metadata_hash));
        let targets = group.targets.iter();
        step.records.extend(targets.map(|(id, target)| records::target(&group.id, id, target)));
        step.records.push(records::target_epoch(&group.id, group.assignment_epoch, 0));
        step.records.extend(group.members.values().map(|member| records::current(&group.id, member)));
        step.after.push(After::Consumer(ConsumerAfter::Upgraded { group: group.id.clone() }));
        Ok(group)
    }

    /// A classic group has become one of the newer protocol: its members have their sessions to be heard from.
    pub(super) fn upgraded(&mut self, id: &GroupId, step: &Step) {
        let Some(Group::Consumer(group)) = self.groups.get(id) else { return };
        tracing::info!(group = %id, members = group.members.len(), "is of the newer protocol now");
        let sessions = group.members.values().filter_map(|member| {
            let session = member.classic.as_ref()?.session_timeout_ms;
            Some((member.id.clone(), step.now.after_ms(session.into())))
        });
        for (member, due) in sessions.collect::<Vec<_>>() {
            self.timers.set(Timer::Consumer(id.clone(), ConsumerTimer::Session(member)), due);
        }
    }

    /// Whether the group is to be a classic one without these members: all others are of the classic protocol.
    pub(super) fn is_classic_without(&self, group: &ConsumerGroup, gone: &[CompactString]) -> bool {
        let mut rest = group.members.values().filter(|member| !gone.contains(&member.id));
        let size = group.members.len() - gone.iter().filter(|id| group.members.contains_key(*id)).count();
        rest.all(Member::is_classic)
            && self.config.consumer.migration.allows_downgrade()
            && size <= self.config.classic.members_max
    }

    /// The group becomes classic: `gone` are no longer in it, `joining` takes the place of the static member of its
    /// instance. False if its members have no protocol in common that can be read.
    pub(super) fn downgrade(
        &mut self,
        id: &GroupId,
        gone: &[CompactString],
        joining: Option<(&Member, &CompactString)>,
        epoch: i32,
        step: &mut Step,
    ) -> bool {
        let Some(group) = self.consumer_group(id.as_str()) else { return false };
        let replaced = joining.map(|(_, replaced)| replaced);
        let stay = group.members.values().filter(|member| {
            !gone.contains(&member.id) && replaced.is_none_or(|replaced| *replaced != member.id)
        });
        let members = stay.map(|member| (member, &member.id)).chain(joining);
        let members = members.filter_map(|(member, target)| {
            classic_member(member, group.targets.get(target).unwrap_or(&Partitions::new()), &*self.topics)
        });
        let Some(classic) = ClassicGroup::between_rounds(id.clone(), group.epoch, members, step.now.wall_ms)
        else {
            return false;
        };
        // The one that is replaced has its tombstones already, under its own id.
        let present: Vec<&CompactString> = group
            .members
            .keys()
            .map(|member| match joining {
                Some((joining, replaced)) if replaced == member => &joining.id,
                _ => member,
            })
            .collect();
        step.records.extend(records::group_gone(id, present.iter().copied(), group.regexes.keys()));
        step.records.push(classic.record());
        let rebalance = joining.is_none() || group.assignment_epoch < epoch;
        let Some(group) = self.consumer_group_mut(id.as_str()) else { return false };
        group.soft.assigning = None;
        let waiting = std::mem::take(&mut group.soft.waiting);
        let downgrade = Downgrade { id: id.clone(), classic: Box::new(classic), waiting, rebalance };
        step.after.push(After::Consumer(ConsumerAfter::Downgraded(downgrade)));
        true
    }

    /// The group is classic, or could not be written as such and stays what it was.
    pub(super) fn downgraded(&mut self, downgrade: Downgrade, outcome: Outcome, step: &mut Step) {
        let code = outcome.map_or_else(failure_code, |()| ErrorCode::REBALANCE_IN_PROGRESS);
        for waiting in downgrade.waiting {
            let still_there = downgrade.classic.member(&waiting.member).is_some();
            let code = if outcome.is_ok() && !still_there { ErrorCode::UNKNOWN_MEMBER_ID } else { code };
            waiting.refuse(code, step);
        }
        if outcome.is_err() {
            return;
        }
        let id = downgrade.id;
        tracing::info!(group = %id, members = downgrade.classic.members().len(), "is of the classic protocol now");
        for member in downgrade.classic.members() {
            self.cancel_member_timers(&id, &member.id);
        }
        // As replayed, but with all protocols that its members speak.
        self.groups.insert(id.clone(), Group::Classic(*downgrade.classic));
        self.classic_begin(&id, step);
        if downgrade.rebalance
            && let Some((group, mut scope)) = self.classic(id.as_str(), step)
            && group.state == classic::State::Stable
        {
            group.prepare_rebalance(&mut scope);
        }
    }
}

/// The members of a classic group with what they have, at the epoch that is their generation.
fn upgraded(
    classic: &ClassicGroup,
    topics: &dyn Topics,
    hashes: &TopicHashes,
) -> Result<ConsumerGroup, &'static str> {
    let mut group = ConsumerGroup::new(classic.id.clone());
    group.epoch = classic.generation;
    group.assignment_epoch = classic.generation;
    let protocol = classic.protocol.as_deref().unwrap_or_default();
    for member in classic.members() {
        let assigned = assigned(&member.assignment, topics)?;
        let subscription = member.metadata(protocol);
        let (subscription, _): (ConsumerProtocolSubscription, i16) = decode_versioned_or_newer(subscription)
            .map_err(|_| "the embedded consumer protocol is malformed")?;
        let protocols = member
            .protocols
            .iter()
            .map(|spoken| ClassicProtocol { name: spoken.name.clone(), metadata: spoken.metadata.clone() });
        group.targets.insert(member.id.clone(), assigned.clone());
        group.put_member(Member {
            epoch: classic.generation,
            previous_epoch: classic.generation,
            state: MemberState::Stable,
            instance_id: member.instance.clone(),
            rack_id: subscription.rack_id.filter(|rack| !rack.is_empty()),
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            topics: subscription.topics.into_iter().collect(),
            assigned: with_epoch(&assigned, classic.generation),
            classic: Some(ClassicMemberMetadata {
                session_timeout_ms: member.session_timeout_ms,
                supported_protocols: protocols.collect(),
            }),
            ..Member::new(member.id.clone())
        });
    }
    group.metadata_hash = group.subscriptions(&[], None).hash(topics, hashes);
    Ok(group)
}

/// What the leader gave a member.
fn assigned(bytes: &Bytes, topics: &dyn Topics) -> Result<Partitions, &'static str> {
    if bytes.is_empty() {
        return Ok(Partitions::new());
    }
    let (assignment, _): (ConsumerProtocolAssignment, i16) = decode_versioned_or_newer(bytes.clone())
        .map_err(|_| "the embedded consumer protocol is malformed")?;
    if assignment.user_data.is_some_and(|data| !data.is_empty()) {
        return Err("an unsupported custom assignor is in use: what it told its members would be lost");
    }
    let known = assignment.assigned_partitions.into_iter().filter(|topic| !topic.partitions.is_empty());
    let known = known.filter_map(|topic| {
        let id: Uuid = topics.by_name(topic.topic.as_str())?.id;
        Some((id, topic.partitions.into_iter().collect::<BTreeSet<_>>()))
    });
    Ok(known.collect())
}

/// The member as one of a classic group, with what it is to have as its assignment.
fn classic_member(member: &Member, target: &Partitions, topics: &dyn Topics) -> Option<classic::Member> {
    let spoken = member.classic.as_ref()?;
    let version = version_of(&spoken.supported_protocols.first()?.metadata);
    let assigned = target.iter().filter_map(|(topic, numbers)| {
        let topic = topics.by_id(topic)?.name;
        Some(consumer_protocol::TopicPartition { topic, partitions: numbers.iter().copied().collect() })
    });
    let assignment = ConsumerProtocolAssignment { assigned_partitions: assigned.collect(), user_data: None };
    let protocols = spoken.supported_protocols.iter().map(|protocol| JoinGroupRequestProtocol {
        name: protocol.name.clone(),
        metadata: protocol.metadata.clone(),
    });
    Some(classic::Member {
        id: member.id.clone(),
        instance: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        session_timeout_ms: spoken.session_timeout_ms,
        protocols: protocols.collect(),
        assignment: encode_versioned(&assignment, version).ok()?,
        is_new: false,
        join: None,
        sync: None,
        session_due: 0,
        session_timer: None,
    })
}
