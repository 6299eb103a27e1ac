//! ConsumerGroupHeartbeat: what a member says is checked and taken down. The rest of the way: `subscribe` (what it means for
//! the group's epoch), `assign` and `beat`.

use std::fmt::Write as _;

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::messages::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, TopicPartitions};

use super::beat::{Kind, Waiting};
use super::member::{LEAVING_EPOCH, Member, PAUSED_EPOCH};
use super::speaker::{Speaker, new_member_id};
use super::state::ConsumerGroup;
use super::{ConsumerAfter, ConsumerTimer, Refusal};
use crate::event::{Client, Token, TopicFilter};
use crate::group::Group;
use crate::group::assignor::Partitions;
use crate::machine::{After, GroupMachine, Step, Timer};

/// Who a request comes from, and in what form.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) client: Client,
    pub(super) token: Token,
    pub(super) may_describe: Option<TopicFilter>,
}

impl GroupMachine {
    /// ConsumerGroupHeartbeat.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        client: Client,
        request: ConsumerGroupHeartbeatRequest,
        random: [u8; 16],
        may_describe: Option<TopicFilter>,
        token: Token,
        step: &mut Step,
    ) {
        let caller = Caller { client, token, may_describe };
        let done = self.check(&request, caller.client.version).and_then(|()| match request.member_epoch {
            LEAVING_EPOCH | PAUSED_EPOCH => self.leave(&request, token, step),
            _ => self.beat(&caller, request, random, step),
        });
        if let Err(refusal) = done {
            *step = Step::new(step.now);
            step.answer_at_once(token, refusal.heartbeat());
        }
    }

    /// What can be said of a request without its group.
    fn check(&self, request: &ConsumerGroupHeartbeatRequest, version: i16) -> Result<(), Refusal> {
        if let Some(fault) = fault_of(request, version) {
            return Err(Refusal::new(ErrorCode::INVALID_REQUEST, fault));
        }
        let known = &self.config.consumer.assignors;
        let Some(unknown) = request.server_assignor.as_ref().filter(|wanted| !known.contains(wanted)) else {
            return Ok(());
        };
        let mut message = format!("There is no server-side assignor {unknown}, but there is ");
        for (number, name) in known.iter().enumerate() {
            // Writing to a text cannot fail.
            let _ = write!(message, "{}{name}", if number == 0 { "" } else { ", " });
        }
        Err(Refusal::new(ErrorCode::UNSUPPORTED_ASSIGNOR, message))
    }

    fn beat(
        &mut self,
        caller: &Caller,
        request: ConsumerGroupHeartbeatRequest,
        random: [u8; 16],
        step: &mut Step,
    ) -> Result<(), Refusal> {
        let joins = request.member_epoch == 0;
        let begun;
        let group = match self.groups.get(&request.group_id) {
            Some(Group::Consumer(group)) => group,
            other if joins => {
                begun = self.begun(&request.group_id, other, step)?;
                &begun
            }
            Some(Group::Classic(_)) => return Err(other_kind(&request.group_id)),
            None => return Err(no_group(&request.group_id)),
        };
        let drawn = request.member_id.is_empty().then(|| new_member_id(random));
        let id = drawn.unwrap_or_else(|| request.member_id.clone());
        self.check_room(group, &id, request.instance_id.as_deref())?;
        let claimed = request.topic_partitions.as_deref().map(claimed);
        let instance = request.instance_id.as_deref();
        let speaker = Speaker { id: &id, instance, epoch: request.member_epoch, claimed: claimed.as_ref() };
        let member = speaker.member(group, step)?;
        let kind = Kind::Heartbeat { whole: joins || says_all(&request) };
        let updated = updated(&member, &caller.client, request);
        let waiting = Waiting {
            token: caller.token,
            member: id.clone(),
            before: member.assigned.clone(),
            claimed,
            subscription_changed: false,
            kind,
        };
        let group_id = group.id.clone();
        self.take_down(group, &member, &updated, caller, waiting, joins, step)?;
        let due = step.now.after(self.config.consumer_session_timeout(group_id.as_str()));
        self.timers.set(Timer::Consumer(group_id.clone(), ConsumerTimer::Session(id)), due);
        if let Some(Group::Classic(classic)) = self.groups.get_mut(&group_id) {
            // Its round ends here, however the write goes: who waits joins anew, and finds what there is then.
            classic.release(ErrorCode::REBALANCE_IN_PROGRESS, step);
        }
        Ok(())
    }

    /// The group that a member joins where none of the newer protocol is.
    fn begun(&self, id: &GroupId, other: Option<&Group>, step: &mut Step) -> Result<ConsumerGroup, Refusal> {
        match other {
            Some(Group::Classic(classic)) => self.taken_over(classic, step),
            _ => Ok(ConsumerGroup::new(id.clone())),
        }
    }

    /// Writes down what is new of a member, moves the group's epoch on if that is called for, and lets the member go on:
    /// at once, or when there are new targets.
    #[expect(clippy::too_many_arguments, reason = "the one way of both protocols' requests into a group")]
    pub(super) fn take_down(
        &self,
        group: &ConsumerGroup,
        member: &Member,
        updated: &Member,
        caller: &Caller,
        mut waiting: Waiting,
        joins: bool,
        step: &mut Step,
    ) -> Result<(), Refusal> {
        let (epoch, subscription_changed) = self.change_member(group, member, updated, caller, step)?;
        waiting.subscription_changed = subscription_changed;
        let is_busy = group.soft.assigning.is_some() && !joins;
        // Behind an older request of its own that waits: else the answer to that, which its client has given up, would be
        // the one that tells of new partitions.
        let is_behind = group.soft.waiting.iter().any(|waiting| waiting.member == updated.id);
        if is_behind || self.may_assign(group, epoch, step.now) && !is_busy {
            let group = group.id.clone();
            step.after.push(After::Consumer(ConsumerAfter::Assign { group, waiting }));
            return Ok(());
        }
        if !subscription_changed && updated.is_reconciled_to(group.assignment_epoch) {
            // Nearly every heartbeat ends here.
            self.answer(group, updated, &waiting, step);
            return Ok(());
        }
        let target = group.target(updated);
        self.advance(group, updated, &target, group.assignment_epoch, &waiting, step)
    }

    /// A group is as full as it may be; who is in it already, or comes back as a static member, finds room.
    pub(super) fn check_room(
        &self,
        group: &ConsumerGroup,
        id: &str,
        instance: Option<&str>,
    ) -> Result<(), Refusal> {
        let max = self.config.consumer.members_max;
        let is_in = group.static_member(instance).is_some() || group.members.contains_key(id);
        if is_in || group.members.len() < max {
            return Ok(());
        }
        let message = format!("Group {} has {} members, the limit is {max}.", group.id, group.members.len());
        Err(Refusal::new(ErrorCode::GROUP_MAX_SIZE_REACHED, message))
    }
}

pub(super) fn other_kind(id: &GroupId) -> Refusal {
    Refusal::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} is one of the classic protocol."))
}

pub(super) fn no_group(id: &GroupId) -> Refusal {
    Refusal::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("There is no group {id}."))
}

/// What no heartbeat may say, or leave out.
fn fault_of(request: &ConsumerGroupHeartbeatRequest, version: i16) -> Option<&'static str> {
    let epoch = request.member_epoch;
    let (joins, pauses) = (epoch == 0, epoch == PAUSED_EPOCH);
    let blank = |text: &str| text.trim().is_empty();
    let blank_if_there = |text: &Option<CompactString>| text.as_deref().is_some_and(blank);
    // Up to version 0 the coordinator draws the id of a member that joins.
    let has_id = version > 0 || epoch > 0 || epoch == LEAVING_EPOCH;
    let owns_nothing = request.topic_partitions.as_ref().is_some_and(Vec::is_empty);
    let subscribes = request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some();
    let faults = [
        (epoch < PAUSED_EPOCH, "member_epoch is below -2"),
        (has_id && blank(&request.member_id), "member_id is empty"),
        (blank(request.group_id.as_str()), "group_id is empty"),
        (blank_if_there(&request.instance_id), "instance_id is empty"),
        (blank_if_there(&request.rack_id), "rack_id is empty"),
        (pauses && request.instance_id.is_none(), "member_epoch -2 is for members with an instance_id"),
        (joins && request.rebalance_timeout_ms == -1, "a join has to say rebalance_timeout_ms"),
        (joins && !owns_nothing, "a join has to say that it has no topic_partitions"),
        (joins && !subscribes, "a join has to say its subscription, by names or by an expression"),
    ];
    faults.into_iter().find(|(is_fault, _)| *is_fault).map(|(_, fault)| fault)
}

/// Whether a heartbeat leaves nothing out, as after an error: its client wants to hear all, too.
fn says_all(request: &ConsumerGroupHeartbeatRequest) -> bool {
    let subscribes = request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some();
    subscribes && request.rebalance_timeout_ms != -1 && request.topic_partitions.is_some()
}

/// What a client says that it has.
fn claimed(topics: &[TopicPartitions]) -> Partitions {
    let mut partitions = Partitions::new();
    for topic in topics.iter().filter(|topic| !topic.partitions.is_empty()) {
        partitions.entry(topic.topic_id).or_default().extend(&topic.partitions);
    }
    partitions
}

/// The member with what a heartbeat says of it; what it leaves out stays as it was.
fn updated(member: &Member, client: &Client, request: ConsumerGroupHeartbeatRequest) -> Member {
    let timeout = request.rebalance_timeout_ms;
    let before = member.clone();
    Member {
        instance_id: request.instance_id.or(before.instance_id),
        rack_id: request.rack_id.or(before.rack_id),
        rebalance_timeout_ms: if timeout == -1 { before.rebalance_timeout_ms } else { timeout },
        assignor: request.server_assignor.or(before.assignor),
        topics: request.subscribed_topic_names.map_or(before.topics, |names| names.into_iter().collect()),
        regex: request.subscribed_topic_regex.or(before.regex),
        client_id: client.id.clone(),
        client_host: client.host.clone(),
        classic: None,
        ..before
    }
}
