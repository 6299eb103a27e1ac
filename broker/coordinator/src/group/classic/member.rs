//! One member of a classic group, and the requests of its that wait.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::ErrorCode;
use ottla_protocol::messages::describe_groups::DescribedGroupMember;
use ottla_protocol::messages::join_group::{JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::messages::sync_group::SyncGroupResponse;

use crate::event::Token;
use crate::machine::Step;
use crate::reply::{Reply, join_refused, sync_refused};

/// A request that is answered later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) token: Token,
    /// The version of the request.
    pub(crate) version: i16,
}

/// A member. What it waits for and when it was heard from are soft; the rest is written with the group.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) id: CompactString,
    pub(crate) instance: Option<CompactString>,
    pub(crate) client_id: CompactString,
    pub(crate) client_host: CompactString,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) session_timeout_ms: i32,
    /// What it speaks, the best first. After loading, only what the group had chosen.
    pub(crate) protocols: Vec<JoinGroupRequestProtocol>,
    pub(crate) assignment: Bytes,
    /// It has joined for the first time and its round has not ended: its session is a long one, and waiting does not
    /// count as being heard from, since a client that gave up would wait for ever.
    pub(crate) is_new: bool,
    pub(crate) join: Option<Waiter>,
    pub(crate) sync: Option<Waiter>,
    /// Until when it has to be heard from.
    pub(crate) session_due: i64,
    /// When the timer of its session fires, which may be earlier than the session ends: a heartbeat then costs no timer.
    pub(crate) session_timer: Option<i64>,
}

impl Member {
    /// What it says of itself in this protocol.
    pub(crate) fn metadata(&self, protocol: &str) -> Bytes {
        let spoken = self.protocols.iter().find(|spoken| spoken.name == protocol);
        spoken.map(|spoken| spoken.metadata.clone()).unwrap_or_default()
    }

    /// Its favourite among these protocols.
    pub(crate) fn vote<'a>(&'a self, candidates: &[&str]) -> Option<&'a str> {
        self.protocols.iter().map(|spoken| spoken.name.as_str()).find(|name| candidates.contains(name))
    }

    /// Whether waiting stands for a heartbeat.
    pub(crate) const fn is_heard_from(&self) -> bool {
        !self.is_new && (self.join.is_some() || self.sync.is_some())
    }

    /// Ends a waiting join.
    pub(crate) fn answer_join(&mut self, response: impl FnOnce(i16) -> JoinGroupResponse, step: &mut Step) {
        if let Some(waiter) = self.join.take() {
            step.answer_at_once(waiter.token, Reply::JoinGroup(response(waiter.version)));
        }
    }

    /// Ends a waiting join with an error, and names this member in it.
    pub(crate) fn refuse_join(&mut self, member_id: CompactString, error: ErrorCode, step: &mut Step) {
        self.answer_join(|version| join_refused(member_id, error, version), step);
    }

    /// Ends a waiting sync with an error.
    pub(crate) fn refuse_sync(&mut self, error: ErrorCode, step: &mut Step) {
        if let Some(waiter) = self.sync.take() {
            step.answer_at_once(waiter.token, Reply::SyncGroup(sync_refused(error)));
        }
    }

    /// Ends a waiting sync; true if one waited.
    pub(crate) fn answer_sync(&mut self, response: SyncGroupResponse, step: &mut Step) -> bool {
        let Some(waiter) = self.sync.take() else { return false };
        step.answer(waiter.token, Reply::SyncGroup(response));
        true
    }

    /// The member as tools see it; what it says of itself is told only of a group that has chosen a protocol.
    pub(crate) fn describe(&self, protocol: Option<&str>) -> DescribedGroupMember {
        DescribedGroupMember {
            member_id: self.id.clone(),
            group_instance_id: self.instance.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            member_metadata: protocol.map(|protocol| self.metadata(protocol)).unwrap_or_default(),
            member_assignment: self.assignment.clone(),
        }
    }
}
