//! A running group changes its kind, as `group.consumer.migration.policy` allows. A classic group of consumers becomes one
//! of the newer protocol when a member of that joins it; it becomes classic again when the last such member is gone, or
//! comes back as a static member by the classic protocol. What members have, they keep.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::Message;
use ottla_protocol::internal::group::consumer_group_member_metadata::{
    ClassicMemberMetadata, ClassicProtocol,
};
use ottla_protocol::internal::{
    ConsumerOffsetsRecord, ConsumerProtocolAssignment, ConsumerProtocolSubscription, consumer_protocol,
    decode_versioned_or_newer, encode_versioned,
};
use ottla_protocol::messages::join_group::JoinGroupRequestProtocol;

use super::beat::Waiting;
use super::classic_member::version_of;
use super::member::{Member, MemberState, with_epoch};
use super::state::ConsumerGroup;
use super::{ConsumerAfter, ConsumerTimer, Refusal, records};
use crate::group::Group;
use crate::group::assignor::Partitions;
use crate::group::classic::{self, ClassicGroup};
use crate::machine::{After, GroupMachine, Outcome, Step, Timer, failure_code};
use crate::topics::Topics;

/// Why a classic group stays one.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("group.consumer.migration.policy does not allow another kind")]
    Policy,
    #[error("its members are no consumers")]
    NoConsumers,
    #[error("it has {members} members, where group.consumer.max.size allows {max}")]
    TooMany { members: usize, max: usize },
    #[error("what member {member} subscribes to or was assigned cannot be read")]
    Unreadable { member: CompactString },
    #[error("the assignor of its leader has told member {member} more than partitions, which would be lost")]
    MoreThanPartitions { member: CompactString },
}

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
        let mut group =
            self.check_fit(classic).and_then(|()| upgraded(classic, &*self.topics)).map_err(|why| {
                let message = format!("Group {} stays one of the classic protocol: {why}.", classic.id);
                Refusal::new(ErrorCode::GROUP_ID_NOT_FOUND, message)
            })?;
        group.metadata_hash = group.subscriptions(&[], None).hash(&*self.topics, &self.topic_hashes);
        step.records.extend(all_records(&group));
        step.after.push(After::Consumer(ConsumerAfter::Upgraded { group: group.id.clone() }));
        Ok(group)
    }

    fn check_fit(&self, classic: &ClassicGroup) -> Result<(), Unfit> {
        let (members, max) = (classic.members().len(), self.config.consumer.members_max);
        match () {
            () if !self.config.consumer.migration.allows_upgrade() => Err(Unfit::Policy),
            () if !classic.has_consumers() => Err(Unfit::NoConsumers),
            () if members > max => Err(Unfit::TooMany { members, max }),
            () => Ok(()),
        }
    }

    /// A classic group has become one of the newer protocol: its members have their sessions to be heard from.
    pub(super) fn upgraded(&mut self, id: &GroupId, step: &Step) {
        let Some(Group::Consumer(group)) = self.groups.get(id) else { return };
        tracing::info!(group = %id, members = group.members.len(), "is of the newer protocol now");
        for member in group.members.values() {
            let Some(classic) = &member.classic else { continue };
            let due = step.now.after_ms(classic.session_timeout_ms.into());
            self.timers.set(Timer::Consumer(id.clone(), ConsumerTimer::Session(member.id.clone())), due);
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
        let new_id = |member: &CompactString| match joining {
            Some((joining, replaced)) if replaced == member => Some(&joining.id),
            _ => None,
        };
        let stay = group
            .members
            .values()
            .filter(|member| !gone.contains(&member.id) && new_id(&member.id).is_none());
        let with_targets = stay.map(|member| (member, &member.id)).chain(joining);
        let none = Partitions::new();
        let members = with_targets.filter_map(|(member, of)| {
            classic_member(member, group.targets.get(of).unwrap_or(&none), &*self.topics)
        });
        let made = ClassicGroup::between_rounds(id.clone(), group.epoch, members, step.now.wall_ms);
        let Some(classic) = made else { return false };
        // The one that is replaced has its tombstones already, under its own id.
        let present = group.members.keys().map(|member| new_id(member).unwrap_or(member));
        step.records.extend(records::group_gone(id, present, group.regexes.keys()));
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
        let Downgrade { id, classic, waiting, rebalance } = downgrade;
        for waiting in waiting {
            let code = match outcome {
                Err(failure) => failure_code(failure),
                Ok(()) if classic.member(&waiting.member).is_some() => ErrorCode::REBALANCE_IN_PROGRESS,
                Ok(()) => ErrorCode::UNKNOWN_MEMBER_ID,
            };
            waiting.refuse(code, step);
        }
        if outcome.is_err() {
            return;
        }
        tracing::info!(group = %id, members = classic.members().len(), "is of the classic protocol now");
        for member in classic.members() {
            self.cancel_member_timers(&id, &member.id);
        }
        // As replayed, but with all protocols that its members speak.
        self.groups.insert(id.clone(), Group::Classic(*classic));
        self.classic_begin(&id, step);
        if rebalance
            && let Some((group, mut scope)) = self.classic(id.as_str(), step)
            && group.state == classic::State::Stable
        {
            group.prepare_rebalance(&mut scope);
        }
    }
}

/// The members of a classic group with what they have, at the epoch that is their generation. What each is to have is the
/// same, so that nobody moves before the next change.
fn upgraded(classic: &ClassicGroup, topics: &dyn Topics) -> Result<ConsumerGroup, Unfit> {
    let generation = classic.generation;
    let mut group = ConsumerGroup::new(classic.id.clone());
    (group.epoch, group.assignment_epoch) = (generation, generation);
    let protocol = classic.protocol.as_deref().unwrap_or_default();
    for member in classic.members() {
        let has = assigned(member, topics)?;
        let stands = Member {
            epoch: generation,
            previous_epoch: generation,
            state: MemberState::Stable,
            assigned: with_epoch(&has, generation),
            ..described(member, protocol)?
        };
        group.targets.insert(member.id.clone(), has);
        group.put_member(stands);
    }
    Ok(group)
}

/// What a member of the classic protocol has said of itself.
fn described(member: &classic::Member, protocol: &str) -> Result<Member, Unfit> {
    let subscription: ConsumerProtocolSubscription = read(member.metadata(protocol), &member.id)?;
    let protocols = member.protocols.iter();
    let protocols =
        protocols.map(|own| ClassicProtocol { name: own.name.clone(), metadata: own.metadata.clone() });
    let classic = ClassicMemberMetadata {
        session_timeout_ms: member.session_timeout_ms,
        supported_protocols: protocols.collect(),
    };
    Ok(Member {
        topics: subscription.topics.into_iter().collect(),
        rack_id: subscription.rack_id.filter(|rack| !rack.is_empty()),
        instance_id: member.instance.clone(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        classic: Some(classic),
        ..Member::new(member.id.clone())
    })
}

/// What the leader gave a member. Topics that are gone are left out.
fn assigned(member: &classic::Member, topics: &dyn Topics) -> Result<Partitions, Unfit> {
    if member.assignment.is_empty() {
        return Ok(Partitions::new());
    }
    let assignment: ConsumerProtocolAssignment = read(member.assignment.clone(), &member.id)?;
    if assignment.user_data.is_some_and(|data| !data.is_empty()) {
        return Err(Unfit::MoreThanPartitions { member: member.id.clone() });
    }
    let mut has = Partitions::new();
    for topic in assignment.assigned_partitions.into_iter().filter(|topic| !topic.partitions.is_empty()) {
        if let Some(known) = topics.by_name(topic.topic.as_str()) {
            has.insert(known.id, topic.partitions.into_iter().collect());
        }
    }
    Ok(has)
}

fn read<M: Message>(bytes: Bytes, member: &CompactString) -> Result<M, Unfit> {
    let read = decode_versioned_or_newer(bytes).map(|(message, _)| message);
    read.map_err(|_| Unfit::Unreadable { member: member.clone() })
}

/// A whole group as records, in the order in which Kafka writes them when it takes a group over.
fn all_records(group: &ConsumerGroup) -> Vec<ConsumerOffsetsRecord> {
    let (id, members) = (&group.id, group.members.values());
    let mut all: Vec<_> = members.clone().map(|member| records::member(id, member)).collect();
    all.push(records::epoch(id, group.epoch, group.metadata_hash));
    all.extend(group.targets.iter().map(|(member, target)| records::target(id, member, target)));
    all.push(records::target_epoch(id, group.assignment_epoch, 0));
    all.extend(members.map(|member| records::current(id, member)));
    all
}

/// The member as one of a classic group, with what it is to have as its assignment, in the version of its subscription.
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
