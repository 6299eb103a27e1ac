//! SyncGroup: the leader says what each member is assigned, which is written; the others wait for it.

use std::collections::HashMap;

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::ErrorCode;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};

use super::{ClassicAfter, ClassicGroup, ClassicTimer, Member, Scope, State, Waiter};
use crate::event::{Client, Token};
use crate::group::Group;
use crate::machine::{After, GroupMachine, Step};
use crate::reply::{Reply, sync_refused};

/// From this version on, a member must say which type and protocol it believes in.
const PROTOCOL_VERSION_MIN: i16 = 5;

impl GroupMachine {
    /// SyncGroup.
    pub(crate) fn classic_sync(
        &mut self,
        client: Client,
        request: SyncGroupRequest,
        token: Token,
        step: &mut Step,
    ) {
        let refusal = if client.version >= PROTOCOL_VERSION_MIN
            && (request.protocol_type.is_none() || request.protocol_name.is_none())
        {
            Some(ErrorCode::INCONSISTENT_GROUP_PROTOCOL)
        } else if request.group_id.is_empty() {
            Some(ErrorCode::INVALID_GROUP_ID)
        } else {
            None
        };
        if let Some(error) = refusal {
            return step.answer_at_once(token, Reply::SyncGroup(sync_refused(error)));
        }
        if let Some(Group::Consumer(_)) = self.groups.get(&request.group_id) {
            return self.consumer_classic_sync(client, request, token, step);
        }
        match self.classic(request.group_id.as_str(), step) {
            Some((group, mut scope)) => group.sync(&client, request, token, &mut scope),
            None => {
                step.answer_at_once(token, Reply::SyncGroup(sync_refused(ErrorCode::UNKNOWN_MEMBER_ID)));
            }
        }
    }
}

impl ClassicGroup {
    fn sync(&mut self, client: &Client, request: SyncGroupRequest, token: Token, scope: &mut Scope<'_>) {
        if let Err(error) = self.check_sync(&request) {
            return scope.step.answer_at_once(token, Reply::SyncGroup(sync_refused(error)));
        }
        let waiter = Waiter { token, version: client.version };
        if self.state == State::Stable {
            self.synced(&request.member_id, scope);
            let response = self.members.get(&request.member_id).map(|member| self.sync_response(member));
            let response = response.unwrap_or_else(|| sync_refused(ErrorCode::UNKNOWN_MEMBER_ID));
            return scope.step.answer(token, Reply::SyncGroup(response));
        }
        self.wait_for_assignment(&request.member_id, waiter, scope);
        if self.is_leader(&request.member_id) {
            self.assign(request.assignments, scope);
        }
    }

    fn check_sync(&self, request: &SyncGroupRequest) -> Result<(), ErrorCode> {
        if self.is_empty() {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        self.check_member(&request.member_id, request.group_instance_id.as_deref())?;
        if request.generation_id != self.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        if differ(request.protocol_type.as_ref(), self.protocol_type.as_ref())
            || differ(request.protocol_name.as_ref(), self.protocol.as_ref())
        {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        if self.state == State::PreparingRebalance {
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        Ok(())
    }

    /// Parks the request. One that waits already is of a client that has given it up; it is answered, since every
    /// request is.
    fn wait_for_assignment(&mut self, id: &CompactString, waiter: Waiter, scope: &mut Scope<'_>) {
        if let Some(member) = self.members.get_mut(id) {
            member.refuse_sync(ErrorCode::REBALANCE_IN_PROGRESS, scope.step);
            member.sync = Some(waiter);
        }
        self.synced(id, scope);
    }

    /// The member has synced; when nobody is missing there is nothing left to be late for.
    fn synced(&mut self, id: &str, scope: &mut Scope<'_>) {
        self.pending_sync.remove(id);
        if self.pending_sync.is_empty() {
            scope.timers.cancel(&self.timer(ClassicTimer::Sync));
        }
    }

    /// Writes what the leader says; a member that it leaves out has nothing.
    fn assign(&mut self, assignments: Vec<SyncGroupRequestAssignment>, scope: &mut Scope<'_>) {
        let assignments: HashMap<CompactString, Bytes> =
            assignments.into_iter().map(|assigned| (assigned.member_id, assigned.assignment)).collect();
        let record = self.record_with(|id| assignments.get(id).cloned().unwrap_or_default());
        scope.step.records.push(record);
        let after = ClassicAfter::Assigned { group: self.id.clone(), generation: self.generation };
        scope.step.after.push(After::Classic(after));
    }

    /// The assignments are written: who waits for them gets them.
    pub(super) fn tell_assignments(&mut self, scope: &mut Scope<'_>) {
        let (kind, protocol) = (self.protocol_type.clone(), self.protocol.clone());
        let tell = |member: &Member| sync_response(kind.clone(), protocol.clone(), member);
        self.answer_syncs(tell, scope);
    }

    fn sync_response(&self, member: &Member) -> SyncGroupResponse {
        sync_response(self.protocol_type.clone(), self.protocol.clone(), member)
    }
}

fn sync_response(
    kind: Option<CompactString>,
    protocol: Option<CompactString>,
    member: &Member,
) -> SyncGroupResponse {
    SyncGroupResponse {
        throttle_time_ms: 0,
        error_code: ErrorCode::NONE,
        protocol_type: kind,
        protocol_name: protocol,
        assignment: member.assignment.clone(),
    }
}

/// Whether both are told and are not the same.
fn differ(said: Option<&CompactString>, known: Option<&CompactString>) -> bool {
    said.zip(known).is_some_and(|(said, known)| said != known)
}
