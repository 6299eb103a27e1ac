//! Heartbeats, leaving, and what happens when a member is not heard from.

use compact_str::CompactString;
use ottla_model::ErrorCode;
use ottla_protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ottla_protocol::messages::leave_group::{
    LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse,
};

use super::{ClassicGroup, ClassicTimer, Scope, State};
use crate::event::{Client, Token};
use crate::group::Group;
use crate::machine::{GroupMachine, Step};
use crate::reply::Reply;

/// From this version on, LeaveGroup names several members.
const SEVERAL_LEAVE_VERSION_MIN: i16 = 3;

impl GroupMachine {
    /// Heartbeat of the classic protocol.
    pub(crate) fn classic_heartbeat(
        &mut self,
        client: Client,
        request: HeartbeatRequest,
        token: Token,
        step: &mut Step,
    ) {
        let checked = if request.group_id.is_empty() {
            Err(ErrorCode::INVALID_GROUP_ID)
        } else if let Some(Group::Consumer(_)) = self.groups.get(&request.group_id) {
            return self.consumer_classic_heartbeat(client, request, token, step);
        } else {
            match self.classic(request.group_id.as_str(), step) {
                Some((group, mut scope)) => group.heartbeat(&request, &mut scope),
                None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            }
        };
        let error_code = checked.err().unwrap_or(ErrorCode::NONE);
        let response = HeartbeatResponse { throttle_time_ms: 0, error_code };
        step.answer_at_once(token, Reply::Heartbeat(response));
    }

    /// LeaveGroup.
    pub(crate) fn classic_leave(
        &mut self,
        client: Client,
        mut request: LeaveGroupRequest,
        token: Token,
        step: &mut Step,
    ) {
        if request.group_id.is_empty() {
            let response = LeaveGroupResponse {
                throttle_time_ms: 0,
                error_code: ErrorCode::INVALID_GROUP_ID,
                members: Vec::new(),
            };
            return step.answer_at_once(token, Reply::LeaveGroup(response));
        }
        if client.version < SEVERAL_LEAVE_VERSION_MIN {
            let member_id = std::mem::take(&mut request.member_id);
            request.members = vec![MemberIdentity { member_id, group_instance_id: None, reason: None }];
        }
        if let Some(Group::Consumer(_)) = self.groups.get(&request.group_id) {
            return self.consumer_classic_leave(client, request, token, step);
        }
        let members = match self.classic(request.group_id.as_str(), step) {
            Some((group, mut scope)) => group.leave(&request.members, &mut scope),
            None => request.members.iter().map(|member| left(member, ErrorCode::UNKNOWN_MEMBER_ID)).collect(),
        };
        step.answer(token, Reply::LeaveGroup(leave_response(members, client.version)));
    }
}

/// An answer for these members. The old versions have one member and its error on top.
pub(crate) fn leave_response(members: Vec<MemberResponse>, version: i16) -> LeaveGroupResponse {
    if version >= SEVERAL_LEAVE_VERSION_MIN {
        return LeaveGroupResponse { throttle_time_ms: 0, error_code: ErrorCode::NONE, members };
    }
    let error_code = members.first().map_or(ErrorCode::NONE, |member| member.error_code);
    LeaveGroupResponse { throttle_time_ms: 0, error_code, members: Vec::new() }
}

/// What became of one member's leaving.
pub(crate) fn left(member: &MemberIdentity, error_code: ErrorCode) -> MemberResponse {
    MemberResponse {
        member_id: member.member_id.clone(),
        group_instance_id: member.group_instance_id.clone(),
        error_code,
    }
}

impl ClassicGroup {
    fn heartbeat(&mut self, request: &HeartbeatRequest, scope: &mut Scope<'_>) -> Result<(), ErrorCode> {
        self.check_member(&request.member_id, request.group_instance_id.as_deref())?;
        if request.generation_id != self.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        self.reset_session(&request.member_id, scope);
        match self.state {
            State::Empty => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            State::PreparingRebalance => Err(ErrorCode::REBALANCE_IN_PROGRESS),
            State::CompletingRebalance | State::Stable => Ok(()),
        }
    }

    /// The member was heard from: it has its whole session again.
    pub(crate) fn reset_session(&mut self, id: &CompactString, scope: &mut Scope<'_>) {
        let timeout_ms = self.members.get(id).map_or(0, |member| i64::from(member.session_timeout_ms));
        self.give_session(id, timeout_ms, scope);
    }

    /// The member has so long to be heard from. The timer is moved only if it fires too late, or not at all.
    pub(super) fn give_session(&mut self, id: &CompactString, timeout_ms: i64, scope: &mut Scope<'_>) {
        let Some(member) = self.members.get_mut(id) else { return };
        let due = scope.step.now.after_ms(timeout_ms);
        member.session_due = due;
        if member.session_timer.is_none_or(|fires| fires > due) {
            member.session_timer = Some(due);
            scope.timers.set(self.timer(ClassicTimer::Session(id.clone())), due);
        }
    }

    /// A member's timer has fired, or that of an id which was handed out.
    pub(super) fn session_due(&mut self, id: &CompactString, scope: &mut Scope<'_>) {
        if self.pending.remove(id) {
            tracing::info!(group = %self.id, member = %id, "has not come back with its id");
            return self.complete_if_all_joined(scope);
        }
        let key = self.timer(ClassicTimer::Session(id.clone()));
        let Some(member) = self.members.get_mut(id) else { return };
        member.session_timer = None;
        if member.session_due > scope.step.now.steady_ms {
            member.session_timer = Some(member.session_due);
            return scope.timers.set(key, member.session_due);
        }
        if member.is_heard_from() {
            return;
        }
        tracing::info!(group = %self.id, member = %id, "was not heard from in its session");
        self.expel(id, scope);
        self.after_departure(scope);
    }

    /// Takes a member out; a request of its that waits is told so.
    fn expel(&mut self, id: &CompactString, scope: &mut Scope<'_>) {
        scope.timers.cancel(&self.timer(ClassicTimer::Session(id.clone())));
        if let Some(mut member) = self.remove(id) {
            member.refuse_join(CompactString::default(), ErrorCode::UNKNOWN_MEMBER_ID, scope.step);
            member.refuse_sync(ErrorCode::UNKNOWN_MEMBER_ID, scope.step);
        }
    }

    /// Somebody is gone: those who stay share anew, or need not wait any longer.
    fn after_departure(&mut self, scope: &mut Scope<'_>) {
        match self.state {
            State::Empty => {}
            State::PreparingRebalance => self.complete_if_all_joined(scope),
            State::CompletingRebalance | State::Stable => self.prepare_rebalance(scope),
        }
    }

    fn leave(&mut self, members: &[MemberIdentity], scope: &mut Scope<'_>) -> Vec<MemberResponse> {
        let mut pending_only = true;
        let mut gone = false;
        let responses = members
            .iter()
            .map(|member| match self.leave_one(member, scope) {
                Ok(was_member) => {
                    gone = true;
                    pending_only &= !was_member;
                    left(member, ErrorCode::NONE)
                }
                Err(error) => left(member, error),
            })
            .collect();
        if gone && (!pending_only || self.state == State::PreparingRebalance) {
            self.after_departure(scope);
        }
        responses
    }

    /// Takes one out; true if it was a member and not only an id.
    fn leave_one(&mut self, member: &MemberIdentity, scope: &mut Scope<'_>) -> Result<bool, ErrorCode> {
        let instance = member.group_instance_id.as_deref();
        if member.member_id.is_empty() {
            let id = instance.and_then(|instance| self.statics.get(instance)).cloned();
            self.expel(&id.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?, scope);
            return Ok(true);
        }
        if self.pending.remove(&member.member_id) {
            scope.timers.cancel(&self.timer(ClassicTimer::Session(member.member_id.clone())));
            return Ok(false);
        }
        self.check_member(&member.member_id, instance)?;
        self.expel(&member.member_id, scope);
        Ok(true)
    }
}
