//! ConsumerGroupHeartbeat: what a member says is checked and taken down, and the group's epoch moves on if that changes
//! who wants what, or if the topics have changed. The rest of the way: `assign` and `beat`.

use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, Uuid};
use ottla_protocol::messages::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, TopicPartitions};

use super::beat::{Kind, Waiting};
use super::member::{LEAVING_EPOCH, Member, PAUSED_EPOCH, is_within};
use super::regex::{self, Resolved, Search};
use super::state::ConsumerGroup;
use super::{ConsumerAfter, ConsumerTimer, Refusal, records};
use crate::event::{Client, Token, TopicFilter};
use crate::group::Group;
use crate::group::assignor::Partitions;
use crate::machine::{After, GroupMachine, Step, Timer};

/// How soon after a look at the topics a group's expressions are looked at again at the soonest, in milliseconds.
const REGEX_PAUSE_MS_MIN: i64 = 10_000;

/// What a look at the topics has found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) group: GroupId,
    pub(crate) task: Token,
    pub(crate) regexes: BTreeMap<CompactString, Resolved>,
}

/// What a change of a member's expression means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegexChange {
    None,
    /// It has another, whose topics are not known yet.
    Changed,
    /// It has another, or none, and what that matches is known.
    Known,
}

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
        let epoch = request.member_epoch;
        let invalid = |message: &str| Err(Refusal::new(ErrorCode::INVALID_REQUEST, message));
        let is_blank = |text: Option<&str>| text.is_some_and(|text| text.trim().is_empty());
        if (version >= 1 || epoch > 0 || epoch == LEAVING_EPOCH) && is_blank(Some(&request.member_id)) {
            return invalid("MemberId can't be empty.");
        }
        if is_blank(Some(request.group_id.as_str())) {
            return invalid("GroupId can't be empty.");
        }
        if is_blank(request.instance_id.as_deref()) {
            return invalid("InstanceId can't be empty.");
        }
        if is_blank(request.rack_id.as_deref()) {
            return invalid("RackId can't be empty.");
        }
        match epoch {
            0 if request.rebalance_timeout_ms == -1 => {
                return invalid("RebalanceTimeoutMs must be provided in first request.");
            }
            0 if request.topic_partitions.as_ref().is_none_or(|partitions| !partitions.is_empty()) => {
                return invalid("TopicPartitions must be empty when (re-)joining.");
            }
            0 if request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() => {
                return invalid(
                    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
                );
            }
            PAUSED_EPOCH if request.instance_id.is_none() => return invalid("InstanceId can't be null."),
            ..PAUSED_EPOCH => return invalid("MemberEpoch is invalid."),
            _ => {}
        }
        let assignors = &self.config.consumer.assignors;
        match &request.server_assignor {
            Some(name) if !assignors.contains(name) => {
                let known = assignors.join(", ");
                let message =
                    format!("ServerAssignor {name} is not supported. Supported assignors: {known}.");
                Err(Refusal::new(ErrorCode::UNSUPPORTED_ASSIGNOR, message))
            }
            _ => Ok(()),
        }
    }

    fn beat(
        &mut self,
        caller: &Caller,
        request: ConsumerGroupHeartbeatRequest,
        random: [u8; 16],
        step: &mut Step,
    ) -> Result<(), Refusal> {
        let joins = request.member_epoch == 0;
        let made;
        let group = match self.groups.get(&request.group_id) {
            Some(Group::Consumer(group)) => group,
            Some(Group::Classic(classic)) if joins => {
                made = self.taken_over(classic, step)?;
                &made
            }
            None if joins => {
                made = ConsumerGroup::new(request.group_id.clone());
                &made
            }
            Some(Group::Classic(_)) => return Err(not_a_consumer_group(&request.group_id)),
            None => {
                let message = format!("Consumer group {} not found.", request.group_id);
                return Err(Refusal::new(ErrorCode::GROUP_ID_NOT_FOUND, message));
            }
        };
        let id = match request.member_id.as_str() {
            "" => new_member_id(random),
            _ => request.member_id.clone(),
        };
        self.check_room(group, &id, request.instance_id.as_deref())?;
        let claimed = request.topic_partitions.as_deref().map(claimed);
        let member = match &request.instance_id {
            None => dynamic_member(group, &id, request.member_epoch, claimed.as_ref())?,
            Some(instance) => {
                static_member(group, &id, instance, request.member_epoch, claimed.as_ref(), step)?
            }
        };
        let whole = joins
            || request.rebalance_timeout_ms != -1
                && (request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some())
                && claimed.is_some();
        let updated = updated(&member, &caller.client, request);
        let waiting = Waiting {
            token: caller.token,
            member: id.clone(),
            before: member.assigned.clone(),
            claimed,
            subscription_changed: false,
            kind: Kind::Heartbeat { whole },
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

    /// The records of what a member says anew, and the epoch of the group with them.
    pub(super) fn change_member(
        &self,
        group: &ConsumerGroup,
        member: &Member,
        updated: &Member,
        caller: &Caller,
        step: &mut Step,
    ) -> Result<(i32, bool), Refusal> {
        if updated != member {
            step.records.push(records::member(&group.id, updated));
        }
        let topics_changed = updated.topics != member.topics;
        let regex = self.change_regex(group, member, updated, caller, step)?;
        let assignor_changed = updated.assignor != member.assignor && {
            let before = group.preferred_assignor(None);
            let after = group.preferred_assignor(Some(updated));
            before.as_deref().unwrap_or(self.default_assignor())
                != after.as_deref().unwrap_or(self.default_assignor())
        };
        let is_join = updated.is_classic();
        let regex_counts = regex == RegexChange::Known || is_join && regex == RegexChange::Changed;
        let moves_on = topics_changed || regex_counts || assignor_changed && !is_join;
        let mut epoch = group.epoch;
        if moves_on || group.soft.topics_stale {
            epoch = self.refresh(group, updated, moves_on, step);
        }
        Ok((epoch, topics_changed || regex != RegexChange::None))
    }

    /// Looks at the topics that the group subscribes to; the group's epoch afterwards.
    fn refresh(&self, group: &ConsumerGroup, updated: &Member, moves_on: bool, step: &mut Step) -> i32 {
        let replaced = group.static_member(updated.instance_id.as_deref()).map(|before| before.id.as_str());
        let gone: Vec<&str> = replaced.into_iter().filter(|before| *before != updated.id).collect();
        let hash = group.subscriptions(&gone, Some(updated)).hash(&*self.topics, &self.topic_hashes);
        let mut epoch = group.epoch;
        if moves_on || hash != group.metadata_hash {
            epoch += 1;
            step.records.push(records::epoch(&group.id, epoch, hash));
        }
        step.after.push(After::Consumer(ConsumerAfter::Refreshed { group: group.id.clone() }));
        if group.has_topics_record {
            step.records.push(records::topics_gone(&group.id));
        }
        epoch
    }

    /// What a change of a member's expression leads to, and a look at the topics if one is due.
    fn change_regex(
        &self,
        group: &ConsumerGroup,
        member: &Member,
        updated: &Member,
        caller: &Caller,
        step: &mut Step,
    ) -> Result<RegexChange, Refusal> {
        let (old, new) = (member.regex(), updated.regex());
        let mut change = RegexChange::None;
        let mut is_new = false;
        if member.regex != updated.regex {
            change = RegexChange::Changed;
            if let Some(old) = old.filter(|old| group.subscribers_of(old) == 1) {
                step.records.push(records::regex_gone(&group.id, old));
            }
            match new {
                Some(new) if group.subscribers_of(new) == 0 => {
                    regex::check(new)?;
                    is_new = true;
                }
                Some(new) if group.regexes.contains_key(new) => change = RegexChange::Known,
                None if old.is_some() => change = RegexChange::Known,
                _ => {}
            }
        }
        if new.is_none() && old.is_none() && group.regexes.is_empty() {
            return Ok(change);
        }
        self.search_if_due(group, updated, is_new, caller, step);
        Ok(change)
    }

    fn search_if_due(
        &self,
        group: &ConsumerGroup,
        updated: &Member,
        is_new: bool,
        caller: &Caller,
        step: &mut Step,
    ) {
        let last = group.regexes.values().map(|resolved| resolved.timestamp_ms).max();
        let since = |pause: i64| last.is_none_or(|last| step.now.wall_ms > last.saturating_add(pause));
        if group.soft.resolving.is_some() || !since(REGEX_PAUSE_MS_MIN) {
            return;
        }
        let patterns: Vec<CompactString> =
            group.subscriptions(&[], Some(updated)).regexes.into_keys().collect();
        let interval = self.config.consumer.regex_refresh_interval.as_millis();
        let is_due = is_new
            || patterns.len() != group.regexes.len()
            || group.soft.regexes_stale
            || since(i64::try_from(interval).unwrap_or(i64::MAX));
        if is_due && !patterns.is_empty() {
            let search = Search {
                patterns,
                topics: self.topics.clone(),
                may_describe: caller.may_describe.clone(),
                now_ms: step.now.wall_ms,
            };
            let after = ConsumerAfter::Search { group: group.id.clone(), search, task: caller.token };
            step.after.push(After::Consumer(after));
        }
    }

    /// The pool has looked at the topics.
    pub(super) fn found(&mut self, found: Found, step: &mut Step) {
        let Some(group) = self.consumer_group_mut(found.group.as_str()) else { return };
        if group.soft.resolving.take_if(|task| *task == found.task).is_none() {
            return;
        }
        let Some(group) = self.consumer_group(found.group.as_str()) else { return };
        let mut subscriptions = group.subscriptions(&[], None);
        let mut moves_on = false;
        for (pattern, resolved) in &found.regexes {
            if !subscriptions.regexes.contains_key(pattern) {
                continue;
            }
            let before = group.regexes.get(pattern).map(|before| &before.topics);
            if before.map_or(!resolved.topics.is_empty(), |before| *before != resolved.topics) {
                moves_on = true;
                for name in before.into_iter().flatten() {
                    if let Some(wanted) = subscriptions.topics.get_mut(name) {
                        wanted.by_regex -= 1;
                    }
                }
                for name in &resolved.topics {
                    subscriptions.topics.entry(name.clone()).or_default().by_regex += 1;
                }
                subscriptions.topics.retain(|_, wanted| wanted.by_name + wanted.by_regex > 0);
            }
            step.records.push(records::regex(&group.id, pattern, resolved));
        }
        let hash = subscriptions.hash(&*self.topics, &self.topic_hashes);
        if moves_on || hash != group.metadata_hash {
            step.records.push(records::epoch(&group.id, group.epoch + 1, hash));
            step.after.push(After::Consumer(ConsumerAfter::Refreshed { group: group.id.clone() }));
        }
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
        let message = format!("The consumer group has reached its maximum capacity of {max} members.");
        Err(Refusal::new(ErrorCode::GROUP_MAX_SIZE_REACHED, message))
    }
}

fn not_a_consumer_group(id: &GroupId) -> Refusal {
    Refusal::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} is not a consumer group."))
}

/// A member id as Kafka draws it: 22 characters, the first no dash.
pub(super) fn new_member_id(mut random: [u8; 16]) -> CompactString {
    if let Some(first) = random.first_mut() {
        *first &= 0x7f;
    }
    Uuid::from_random(random).unwrap_or(Uuid::ONE).to_string().into()
}

/// What a client says that it has.
fn claimed(topics: &[TopicPartitions]) -> Partitions {
    let mut partitions = Partitions::new();
    for topic in topics.iter().filter(|topic| !topic.partitions.is_empty()) {
        partitions.entry(topic.topic_id).or_default().extend(&topic.partitions);
    }
    partitions
}

fn unknown_member(group: &ConsumerGroup, id: &str) -> Refusal {
    Refusal::new(ErrorCode::UNKNOWN_MEMBER_ID, format!("Member {id} is not a member of group {}.", group.id))
}

fn dynamic_member(
    group: &ConsumerGroup,
    id: &CompactString,
    epoch: i32,
    claimed: Option<&Partitions>,
) -> Result<Member, Refusal> {
    match group.members.get(id) {
        Some(member) => check_epoch(member, epoch, claimed).map(|()| member.clone()),
        None if epoch == 0 => Ok(Member::new(id.clone())),
        None => Err(unknown_member(group, id)),
    }
}

/// A static member; where it comes back under another id, the records that give it the place of the one before.
fn static_member(
    group: &ConsumerGroup,
    id: &CompactString,
    instance: &str,
    epoch: i32,
    claimed: Option<&Partitions>,
    step: &mut Step,
) -> Result<Member, Refusal> {
    let existing = group.static_member(Some(instance));
    if epoch != 0 {
        let member = existing.ok_or_else(|| unknown_instance(instance))?;
        check_instance(member, id, instance)?;
        return check_epoch(member, epoch, claimed).map(|()| member.clone());
    }
    let Some(existing) = existing else {
        return Ok(group.members.get(id).cloned().unwrap_or_else(|| Member::new(id.clone())));
    };
    if existing.epoch != PAUSED_EPOCH && !existing.is_classic() {
        let message = format!(
            "Static member {id} with instance id {instance} cannot join the group because the instance id is owned by {} member.",
            existing.id
        );
        return Err(Refusal::new(ErrorCode::UNRELEASED_INSTANCE_ID, message));
    }
    Ok(replace(group, existing, id, step))
}

/// A member takes the place of another with the same instance id.
pub(super) fn replace(
    group: &ConsumerGroup,
    existing: &Member,
    id: &CompactString,
    step: &mut Step,
) -> Member {
    let member = Member { id: id.clone(), epoch: 0, previous_epoch: 0, ..existing.clone() };
    let target = group.targets.get(&existing.id).cloned().unwrap_or_default();
    step.records.extend(records::member_gone(&group.id, &existing.id));
    step.records.push(records::member(&group.id, &member));
    step.records.push(records::target(&group.id, id, &target));
    step.records.push(records::current(&group.id, &member));
    let renamed =
        ConsumerAfter::Renamed { group: group.id.clone(), old: existing.id.clone(), new: id.clone() };
    step.after.push(After::Consumer(renamed));
    member
}

pub(super) fn unknown_instance(instance: &str) -> Refusal {
    Refusal::new(ErrorCode::UNKNOWN_MEMBER_ID, format!("Instance id {instance} is unknown."))
}

/// Another has come under the instance id.
pub(super) fn check_instance(member: &Member, id: &str, instance: &str) -> Result<(), Refusal> {
    if member.id == id {
        return Ok(());
    }
    let message =
        format!("Static member {id} with instance id {instance} was fenced by member {}.", member.id);
    Err(Refusal::new(ErrorCode::FENCED_INSTANCE_ID, message))
}

/// The epoch that a client tells is the member's; or the one before, if the answer that told the new one was lost: then
/// the client has nothing that was not given to it.
fn check_epoch(member: &Member, told: i32, claimed: Option<&Partitions>) -> Result<(), Refusal> {
    let is_before = || {
        told == member.previous_epoch && claimed.is_some_and(|claimed| is_within(claimed, &member.assigned))
    };
    if told == 0 || told == member.epoch || told < member.epoch && is_before() {
        return Ok(());
    }
    let size = if told > member.epoch { "greater" } else { "smaller" };
    let message = format!(
        "The consumer group member has a {size} member epoch ({told}) than the one known by the group coordinator ({}). The member must abandon all its partitions and rejoin.",
        member.epoch
    );
    Err(Refusal::new(ErrorCode::FENCED_MEMBER_EPOCH, message))
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
