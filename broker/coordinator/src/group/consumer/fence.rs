//! The end of a membership: a member leaves, pauses, or was not heard from in time. The group's epoch moves on, and what
//! the member had is free for others with the next assignment.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
};

use super::heartbeat::{no_group, other_kind};
use super::member::{Member, Owned, PAUSED_EPOCH};
use super::speaker::{check_instance, unknown_instance, unknown_member};
use super::state::ConsumerGroup;
use super::{ConsumerAfter, ConsumerTimer, Refusal, records};
use crate::event::Token;
use crate::group::Group;
use crate::machine::{After, GroupMachine, Step, Timer};
use crate::reply::Reply;

impl GroupMachine {
    /// A heartbeat by which a member leaves, or a static one says that it will be back.
    pub(super) fn leave(
        &mut self,
        request: &ConsumerGroupHeartbeatRequest,
        token: Token,
        step: &mut Step,
    ) -> Result<(), Refusal> {
        let id = &request.group_id;
        let group = match self.groups.get(id) {
            Some(Group::Consumer(group)) => group,
            Some(Group::Classic(_)) => return Err(other_kind(id)),
            None => return Err(no_group(id)),
        };
        let member = member_of(group, &request.member_id, request.instance_id.as_deref())?;
        let member_id = member.id.clone();
        if request.member_epoch == PAUSED_EPOCH && request.instance_id.is_some() {
            step.records.push(records::current(id, &paused(member)));
        } else {
            self.fence(id, std::slice::from_ref(&member_id), None, step);
        }
        let reply = ConsumerGroupHeartbeatResponse {
            throttle_time_ms: 0,
            error_code: ErrorCode::NONE,
            error_message: None,
            member_id: Some(member_id),
            member_epoch: request.member_epoch,
            heartbeat_interval_ms: 0,
            assignment: None,
        };
        step.answer(token, Reply::ConsumerGroupHeartbeat(reply));
        Ok(())
    }

    /// Members are to go: they leave, or something was due. They are in the group.
    pub(super) fn fence(
        &mut self,
        id: &GroupId,
        members: &[CompactString],
        due: Option<ConsumerTimer>,
        step: &mut Step,
    ) {
        let Some(group) = self.consumer_group(id.as_str()) else { return };
        if members.is_empty() {
            return;
        }
        let fenced = ConsumerAfter::Fenced { group: id.clone(), members: members.to_vec(), due };
        let rest = group.members.keys().any(|member| !members.contains(member));
        if rest && self.is_classic_without(group, members) && self.downgrade(id, members, None, 0, step) {
            step.after.push(After::Consumer(fenced));
            return;
        }
        let Some(group) = self.consumer_group(id.as_str()) else { return };
        for member in members {
            step.records.extend(records::member_gone(id, member));
        }
        let gone: Vec<&str> = members.iter().map(CompactString::as_str).collect();
        let subscriptions = group.subscriptions(&gone, None);
        let mut regexes: Vec<&CompactString> =
            members.iter().filter_map(|member| group.members.get(member)?.regex()).collect();
        regexes.sort_unstable();
        regexes.dedup();
        for regex in regexes.into_iter().filter(|regex| !subscriptions.regexes.contains_key(*regex)) {
            step.records.push(records::regex_gone(id, regex));
        }
        let epoch = group.epoch + 1;
        step.records.push(records::epoch(id, epoch, subscriptions.hash(&*self.topics, &self.topic_hashes)));
        if subscriptions.members == 0 {
            step.records.push(records::target_epoch(id, epoch, 0));
        }
        step.after.push(After::Consumer(fenced));
    }

    /// Nothing of the member's is due any more.
    pub(super) fn cancel_member_timers(&mut self, id: &GroupId, member: &CompactString) {
        for timer in [
            ConsumerTimer::Session(member.clone()),
            ConsumerTimer::Rebalance(member.clone()),
            ConsumerTimer::Join(member.clone()),
            ConsumerTimer::Sync(member.clone()),
        ] {
            self.timers.cancel(&Timer::Consumer(id.clone(), timer));
        }
    }

    /// Members are gone: nothing of theirs is due any more, and none of their requests is answered with a place.
    pub(super) fn fenced(&mut self, id: &GroupId, members: &[CompactString], step: &mut Step) {
        for member in members {
            self.cancel_member_timers(id, member);
        }
        let Some(group) = self.consumer_group_mut(id.as_str()) else { return };
        let waiting = std::mem::take(&mut group.soft.waiting);
        let (gone, stay) = waiting.into_iter().partition(|waiting| members.contains(&waiting.member));
        group.soft.waiting = stay;
        for waiting in gone {
            waiting.refuse(ErrorCode::UNKNOWN_MEMBER_ID, step);
        }
    }
}

/// The member that speaks, by its id, or by its instance id if it is static.
pub(super) fn member_of<'a>(
    group: &'a ConsumerGroup,
    id: &str,
    instance: Option<&str>,
) -> Result<&'a Member, Refusal> {
    match instance {
        None => group.members.get(id).ok_or_else(|| unknown_member(group, id)),
        Some(instance) => {
            let member = group.static_member(Some(instance)).ok_or_else(|| unknown_instance(instance))?;
            check_instance(member, id, instance)?;
            Ok(member)
        }
    }
}

/// A static member that will be back: what it had stays its own, and what it had to give up it has.
fn paused(member: &Member) -> Member {
    let assigned: Owned = member
        .assigned
        .iter()
        .map(|(topic, partitions)| (*topic, partitions.keys().map(|partition| (*partition, 0)).collect()))
        .collect();
    Member { epoch: PAUSED_EPOCH, revoking: Owned::new(), assigned, ..member.clone() }
}
