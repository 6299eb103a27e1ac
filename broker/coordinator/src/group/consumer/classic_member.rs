//! Members of the classic protocol in a group of the newer one, while a group is moved from one to the other. They join,
//! sync and heartbeat as ever; but the coordinator assigns, nobody leads, and the generation is the member's epoch. That
//! they have to give something up, or may have more, a heartbeat tells them by error 27; then they join anew.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::Message;
use ottla_protocol::internal::group::consumer_group_member_metadata::{
    ClassicMemberMetadata, ClassicProtocol,
};
use ottla_protocol::internal::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, consumer_protocol, decode_versioned_or_newer,
    encode_versioned,
};
use ottla_protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};

use bytes::Bytes;

use super::beat::{Kind, Waiting};
use super::fence::member_of;
use super::heartbeat::Caller;
use super::member::{Member, MemberState};
use super::speaker::{new_member_id, replace};
use super::state::ConsumerGroup;
use super::{ConsumerAfter, ConsumerTimer, Refusal};
use crate::config::MigrationPolicy;
use crate::event::{Client, Token};
use crate::group::assignor::Partitions;
use crate::group::classic::{CONSUMER_PROTOCOL_TYPE, leave_response, left};
use crate::machine::{After, GroupMachine, Step, Timer};
use crate::reply::{Reply, join_refused, sync_refused};
use crate::time::Now;
use crate::topics::Topics;

/// The first version of JoinGroup in which a member has to ask for its id.
const JOIN_VERSION_WITH_ID: i16 = 4;

/// What of a join is needed for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Join {
    pub(crate) version: i16,
}

impl GroupMachine {
    /// JoinGroup to a group of the newer protocol that has members.
    pub(crate) fn consumer_classic_join(
        &mut self,
        client: Client,
        request: JoinGroupRequest,
        random: [u8; 16],
        token: Token,
        step: &mut Step,
    ) {
        let version = client.version;
        let caller = Caller { client, token, may_describe: None };
        if let Err(refusal) = self.join(&caller, &request, random, step) {
            *step = Step::new(step.now);
            let refused = join_refused(request.member_id, refusal.code, version);
            step.answer_at_once(token, Reply::JoinGroup(refused));
        }
    }

    fn join(
        &mut self,
        caller: &Caller,
        request: &JoinGroupRequest,
        random: [u8; 16],
        step: &mut Step,
    ) -> Result<(), Refusal> {
        let Some(group) = self.consumer_group(request.group_id.as_str()) else {
            return Err(Refusal::new(ErrorCode::UNKNOWN_MEMBER_ID, ""));
        };
        if self.config.consumer.migration == MigrationPolicy::Disabled {
            return Err(Refusal::new(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "migration is disabled"));
        }
        let is_unknown = request.member_id.is_empty();
        let id = if is_unknown { new_member_id(random) } else { request.member_id.clone() };
        let instance = request.group_instance_id.as_deref();
        self.check_room(group, &id, instance)?;
        if request.protocol_type != CONSUMER_PROTOCOL_TYPE || !group.speaks_one_of(request) {
            return Err(Refusal::new(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, ""));
        }
        if is_unknown && instance.is_none() && caller.client.version >= JOIN_VERSION_WITH_ID {
            let refused = join_refused(id, ErrorCode::MEMBER_ID_REQUIRED, caller.client.version);
            step.answer_at_once(caller.token, Reply::JoinGroup(refused));
            return Ok(());
        }
        let member = joining_member(group, &id, instance, is_unknown, step)?;
        let subscription = subscription(request)?;
        let claimed = claimed(&subscription, &*self.topics);
        let updated = updated(&member, &caller.client, request, subscription);
        let waiting = Waiting {
            token: caller.token,
            member: id.clone(),
            before: member.assigned.clone(),
            claimed: Some(claimed),
            subscription_changed: false,
            kind: Kind::Join(Join { version: caller.client.version }),
        };
        let replaced = group.static_member(instance).filter(|existing| !existing.is_classic());
        match replaced.map(|existing| existing.id.clone()) {
            Some(replaced) if self.is_classic_without(group, std::slice::from_ref(&replaced)) => {
                let (epoch, changed) = self.change_member(group, &member, &updated, caller, step)?;
                let waiting = Waiting { subscription_changed: changed, ..waiting };
                let next = match group.assignment_epoch < epoch {
                    true => updated,
                    false => {
                        let target = group.target(&updated);
                        self.step_of(group, &updated, &target, group.assignment_epoch, &waiting, step)?
                    }
                };
                self.join_and_downgrade(&request.group_id, &replaced, &next, epoch, &waiting, step)
            }
            _ => self.take_down(group, &member, &updated, caller, waiting, true, step),
        }
    }

    /// The last member of the newer protocol is back as one of the classic: so is the group.
    fn join_and_downgrade(
        &mut self,
        id: &GroupId,
        replaced: &CompactString,
        member: &Member,
        epoch: i32,
        waiting: &Waiting,
        step: &mut Step,
    ) -> Result<(), Refusal> {
        if !self.downgrade(id, &[], Some((member, replaced)), epoch, step) {
            return Err(Refusal::new(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "no protocol in common"));
        }
        if let Kind::Join(join) = waiting.kind {
            Self::answer_join(id, member, join, waiting.token, step);
        }
        Ok(())
    }

    /// The answer to a join: the member's epoch is its generation, and nobody leads.
    pub(super) fn answer_join(group: &GroupId, member: &Member, join: Join, token: Token, step: &mut Step) {
        let protocol = member.classic.as_ref().and_then(|classic| classic.supported_protocols.first());
        let response = JoinGroupResponse {
            throttle_time_ms: 0,
            error_code: ErrorCode::NONE,
            generation_id: member.epoch,
            protocol_type: (join.version >= 7).then(|| CONSUMER_PROTOCOL_TYPE.into()),
            protocol_name: Some(protocol.map(|protocol| protocol.name.clone()).unwrap_or_default()),
            leader: CompactString::default(),
            skip_assignment: false,
            member_id: member.id.clone(),
            members: Vec::new(),
        };
        step.answer(token, Reply::JoinGroup(response));
        let joined = ConsumerAfter::Joined { group: group.clone(), member: member.id.clone() };
        step.after.push(After::Consumer(joined));
    }

    /// A join has counted: the member has as long as a rebalance may take to sync.
    pub(super) fn joined(&mut self, id: GroupId, member_id: CompactString, step: &Step) {
        let Some(member) = self.consumer_group(id.as_str()).and_then(|group| group.members.get(&member_id))
        else {
            return;
        };
        let session = member.classic.as_ref().map_or(0, |classic| classic.session_timeout_ms);
        let (session, sync) =
            (step.now.after_ms(session.into()), step.now.after_ms(member.rebalance_timeout_ms.into()));
        self.timers.cancel(&Timer::Consumer(id.clone(), ConsumerTimer::Join(member_id.clone())));
        self.timers.set(Timer::Consumer(id.clone(), ConsumerTimer::Session(member_id.clone())), session);
        self.timers.set(Timer::Consumer(id, ConsumerTimer::Sync(member_id)), sync);
    }

    /// SyncGroup to a group of the newer protocol that has members.
    pub(crate) fn consumer_classic_sync(
        &mut self,
        _client: Client,
        request: SyncGroupRequest,
        token: Token,
        step: &mut Step,
    ) {
        match self.sync(&request, step) {
            Ok(assignment) => {
                let response = SyncGroupResponse {
                    throttle_time_ms: 0,
                    error_code: ErrorCode::NONE,
                    protocol_type: request.protocol_type,
                    protocol_name: request.protocol_name,
                    assignment,
                };
                step.answer(token, Reply::SyncGroup(response));
            }
            Err(code) => step.answer_at_once(token, Reply::SyncGroup(sync_refused(code))),
        }
    }

    fn sync(&mut self, request: &SyncGroupRequest, step: &Step) -> Result<Bytes, ErrorCode> {
        let group = self.consumer_group(request.group_id.as_str()).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        let instance = request.group_instance_id.as_deref();
        let (member, classic) = classic_member(group, &request.member_id, instance, request.generation_id)?;
        let protocol = classic.supported_protocols.first();
        let other_type = request.protocol_type.as_ref().is_some_and(|told| told != CONSUMER_PROTOCOL_TYPE);
        let other_name = request
            .protocol_name
            .as_ref()
            .is_some_and(|told| protocol.is_none_or(|protocol| protocol.name != *told));
        if other_type || other_name {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        let (id, member_id) = (group.id.clone(), member.id.clone());
        let session = step.now.after_ms(classic.session_timeout_ms.into());
        if group.assignment_epoch > member.epoch && member.state != MemberState::Unrevoked {
            let end = step.now.after_ms(member.rebalance_timeout_ms.into());
            self.must_join(id, member_id, end);
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        let assignment = assignment(member, classic, &*self.topics)?;
        self.timers.cancel(&Timer::Consumer(id.clone(), ConsumerTimer::Sync(member_id.clone())));
        self.timers.set(Timer::Consumer(id, ConsumerTimer::Session(member_id)), session);
        Ok(assignment)
    }

    /// Heartbeat to a group of the newer protocol.
    pub(crate) fn consumer_classic_heartbeat(
        &mut self,
        _client: Client,
        request: HeartbeatRequest,
        token: Token,
        step: &mut Step,
    ) {
        let error_code = self.classic_heartbeat_code(&request, step).err().unwrap_or(ErrorCode::NONE);
        let response = HeartbeatResponse { throttle_time_ms: 0, error_code };
        step.answer_at_once(token, Reply::Heartbeat(response));
    }

    fn classic_heartbeat_code(&mut self, request: &HeartbeatRequest, step: &Step) -> Result<(), ErrorCode> {
        let group = self.consumer_group(request.group_id.as_str()).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        let instance = request.group_instance_id.as_deref();
        let (member, classic) = classic_member(group, &request.member_id, instance, request.generation_id)?;
        let (id, member_id) = (group.id.clone(), member.id.clone());
        let session = step.now.after_ms(classic.session_timeout_ms.into());
        let rebalance = step.now.after_ms(member.rebalance_timeout_ms.into());
        let is_behind = member.epoch < group.assignment_epoch
            || member.state == MemberState::Unrevoked
            || member.state == MemberState::Unreleased && !group.waits_for_others(member)
            || self.nobody_else_assigns(group, step.now);
        let timer = Timer::Consumer(id.clone(), ConsumerTimer::Session(member_id.clone()));
        self.timers.set(timer, session);
        if is_behind {
            self.must_join(id, member_id, rebalance);
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        Ok(())
    }

    /// Whether new targets are due in a group whose members are all of the classic protocol: their heartbeats make none,
    /// and Kafka's group would stay as it is. A join makes them.
    fn nobody_else_assigns(&self, group: &ConsumerGroup, now: Now) -> bool {
        let has_other_topics =
            || group.subscriptions(&[], None).hash(&*self.topics, &self.topic_hashes) != group.metadata_hash;
        group.members.values().all(Member::is_classic)
            && (self.may_assign(group, group.epoch, now) || group.soft.topics_stale && has_other_topics())
    }

    /// The member has been told to join: it has until then, counted from the first time that it was told.
    fn must_join(&mut self, id: GroupId, member: CompactString, end: i64) {
        let timer = Timer::Consumer(id, ConsumerTimer::Join(member));
        if self.timers.get(&timer).is_none() {
            self.timers.set(timer, end);
        }
    }

    /// LeaveGroup to a group of the newer protocol; an old version's one member stands in the list.
    pub(crate) fn consumer_classic_leave(
        &mut self,
        client: Client,
        request: LeaveGroupRequest,
        token: Token,
        step: &mut Step,
    ) {
        let Some(group) = self.consumer_group(request.group_id.as_str()) else { return };
        let mut leaving: Vec<CompactString> = Vec::new();
        let mut answers = Vec::new();
        for member in &request.members {
            let found = match member.group_instance_id.as_deref() {
                // Without an id the instance says it all.
                Some(instance) if member.member_id.is_empty() => {
                    group.static_member(Some(instance)).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)
                }
                instance => member_of(group, &member.member_id, instance).map_err(|refusal| refusal.code),
            };
            answers.push(left(member, found.err().unwrap_or(ErrorCode::NONE)));
            if let Ok(found) = found
                && !leaving.contains(&found.id)
            {
                leaving.push(found.id.clone());
            }
        }
        self.fence(&request.group_id, &leaving, None, step);
        step.answer(token, Reply::LeaveGroup(leave_response(answers, client.version)));
    }
}

impl ConsumerGroup {
    /// Whether all members of the classic protocol speak one of those that a newcomer speaks.
    fn speaks_one_of(&self, request: &JoinGroupRequest) -> bool {
        let mut classic = self.members.values().filter_map(|member| member.classic.as_ref());
        let speaks = |classic: &ClassicMemberMetadata, name: &str| {
            classic.supported_protocols.iter().any(|protocol| protocol.name == name)
        };
        let classic: Vec<_> = classic.by_ref().collect();
        request.protocols.iter().any(|offer| classic.iter().all(|classic| speaks(classic, &offer.name)))
    }
}

/// The member of the classic protocol that speaks, with the generation that it was told.
fn classic_member<'a>(
    group: &'a ConsumerGroup,
    id: &str,
    instance: Option<&str>,
    generation: i32,
) -> Result<(&'a Member, &'a ClassicMemberMetadata), ErrorCode> {
    let member = member_of(group, id, instance).map_err(|refusal| refusal.code)?;
    let classic = member.classic.as_ref().ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
    if member.epoch == generation { Ok((member, classic)) } else { Err(ErrorCode::ILLEGAL_GENERATION) }
}

/// The member that joins: known, new, or a static one that comes back.
fn joining_member(
    group: &ConsumerGroup,
    id: &CompactString,
    instance: Option<&str>,
    is_unknown: bool,
    step: &mut Step,
) -> Result<Member, Refusal> {
    match (instance, group.static_member(instance)) {
        (Some(_), Some(existing)) if is_unknown => Ok(replace(group, existing, id, step)),
        (Some(_), _) if !is_unknown => member_of(group, id, instance).cloned(),
        _ => Ok(group.members.get(id).cloned().unwrap_or_else(|| Member::new(id.clone()))),
    }
}

fn subscription(request: &JoinGroupRequest) -> Result<ConsumerProtocolSubscription, Refusal> {
    let first = request.protocols.first().map(|protocol| protocol.metadata.clone()).unwrap_or_default();
    let decoded = decode_versioned_or_newer(first);
    let refused = |_| Refusal::new(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "the subscription cannot be read");
    decoded.map(|(subscription, _)| subscription).map_err(refused)
}

fn claimed(subscription: &ConsumerProtocolSubscription, topics: &dyn Topics) -> Partitions {
    let known = subscription.owned_partitions.iter().filter(|owned| !owned.partitions.is_empty());
    let known = known.filter_map(|owned| {
        Some((topics.by_name(owned.topic.as_str())?.id, owned.partitions.iter().copied().collect()))
    });
    known.collect()
}

fn updated(
    member: &Member,
    client: &Client,
    request: &JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
) -> Member {
    let protocols = request
        .protocols
        .iter()
        .map(|protocol| ClassicProtocol { name: protocol.name.clone(), metadata: protocol.metadata.clone() });
    // The oldest joins say nothing of the time for a rebalance: it is that of the session.
    let unset = request.rebalance_timeout_ms == -1;
    let before = member.clone();
    Member {
        instance_id: request.group_instance_id.clone().or(before.instance_id),
        rack_id: subscription.rack_id.filter(|rack| !rack.is_empty()).or(before.rack_id),
        rebalance_timeout_ms: if unset { request.session_timeout_ms } else { request.rebalance_timeout_ms },
        topics: subscription.topics.into_iter().collect(),
        regex: Some(CompactString::default()),
        client_id: client.id.clone(),
        client_host: client.host.clone(),
        classic: Some(ClassicMemberMetadata {
            session_timeout_ms: request.session_timeout_ms,
            supported_protocols: protocols.collect(),
        }),
        ..before
    }
}

/// What a member has, in the form and version in which its protocol's members tell each other.
fn assignment(
    member: &Member,
    classic: &ClassicMemberMetadata,
    topics: &dyn Topics,
) -> Result<Bytes, ErrorCode> {
    let first = classic.supported_protocols.first().map(|protocol| protocol.metadata.clone());
    let version = version_of(&first.unwrap_or_default());
    let assigned = member.assigned.iter().filter_map(|(topic, partitions)| {
        let topic = topics.by_id(topic)?.name;
        Some(consumer_protocol::TopicPartition { topic, partitions: partitions.keys().copied().collect() })
    });
    let assignment = ConsumerProtocolAssignment { assigned_partitions: assigned.collect(), user_data: None };
    encode_versioned(&assignment, version).map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)
}

/// The version of a subscription, as far as an assignment can be written in it.
pub(super) fn version_of(subscription: &Bytes) -> i16 {
    let told = subscription.first_chunk().map_or(0, |front| i16::from_be_bytes(*front));
    told.clamp(0, <ConsumerProtocolAssignment as Message>::VERSIONS.last)
}
