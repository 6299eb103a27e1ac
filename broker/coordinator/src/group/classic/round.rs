//! A round: members are told to join, those who come wait for the others, one protocol is chosen, the leader is told who
//! is there. An empty group's first round waits a little for more members than the first; a later one ends when
//! everybody is there or the slowest may not take longer.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::messages::join_group::{JoinGroupResponse, JoinGroupResponseMember};
use ottla_protocol::messages::sync_group::SyncGroupResponse;

use super::join::StaticReplaced;
use super::{ClassicGroup, ClassicTimer, Scope, State};
use crate::machine::{GroupMachine, Outcome, Step, failure_code};
use crate::reply::sync_refused;

/// What is to be done after the records of an event were appended, or were not.
#[derive(Debug)]
pub(crate) enum ClassicAfter {
    /// The group was new, or took the place of an empty one of the other kind.
    Created(super::join::Created),
    /// A static member has a new id.
    StaticReplaced(Box<StaticReplaced>),
    /// The leader has assigned.
    Assigned {
        /// The group.
        group: GroupId,
        /// The round.
        generation: i32,
    },
}

impl ClassicGroup {
    /// Whether the state allows a round to begin. Otherwise one is being prepared already.
    const fn can_rebalance(&self) -> bool {
        !matches!(self.state, State::PreparingRebalance)
    }

    /// A round begins, or the one under way may be able to end.
    pub(super) fn rebalance_or_complete(&mut self, scope: &mut Scope<'_>) {
        if self.can_rebalance() { self.prepare_rebalance(scope) } else { self.complete_if_all_joined(scope) }
    }

    /// A round begins.
    pub(crate) fn prepare_rebalance(&mut self, scope: &mut Scope<'_>) {
        if self.state == State::CompletingRebalance {
            self.refuse_assignments(ErrorCode::REBALANCE_IN_PROGRESS, scope);
        }
        self.clear_pending_sync(scope);
        let initial = self.is_empty();
        self.transition(State::PreparingRebalance, scope.step.now.wall_ms);
        tracing::info!(group = %self.id, generation = self.generation, "a rebalance begins");
        if initial {
            let delay = i64::try_from(scope.config.initial_rebalance_delay.as_millis()).unwrap_or(i64::MAX);
            self.gather(delay, (self.rebalance_timeout_ms() - delay).max(0), scope);
        } else if self.has_all_joined() {
            self.complete_join(scope);
        } else {
            let at = scope.step.now.after_ms(self.rebalance_timeout_ms());
            scope.timers.set(self.timer(ClassicTimer::Join), at);
        }
    }

    /// Ends the joining if nobody is missing; the first round of a group waits for its delay in any case.
    pub(super) fn complete_if_all_joined(&mut self, scope: &mut Scope<'_>) {
        if self.state == State::PreparingRebalance && !self.initial && self.has_all_joined() {
            self.complete_join(scope);
        }
    }

    fn gather(&mut self, delay_ms: i64, left_ms: i64, scope: &mut Scope<'_>) {
        self.gathering = Some((delay_ms, left_ms));
        scope.timers.set(self.timer(ClassicTimer::Join), scope.step.now.after_ms(delay_ms));
    }

    /// The joining is due to end: at once, or after another delay if the group is new and somebody has just come.
    fn join_due(&mut self, scope: &mut Scope<'_>) {
        match self.gathering {
            Some((delay, left)) if self.newcomer && left > 0 => {
                self.newcomer = false;
                let full =
                    i64::try_from(scope.config.initial_rebalance_delay.as_millis()).unwrap_or(i64::MAX);
                self.gather(full.min(left), (left - delay).max(0), scope);
            }
            _ => self.complete_join(scope),
        }
    }

    /// Ends the joining: who is missing and not static is out, and the rest is the next generation.
    pub(super) fn complete_join(&mut self, scope: &mut Scope<'_>) {
        scope.timers.cancel(&self.timer(ClassicTimer::Join));
        self.gathering = None;
        self.newcomer = false;
        self.expel_missing(scope);
        if !self.members.is_empty() && !self.elect_leader() {
            // Only static members are left and none has come: until their sessions end there is nothing to do.
            tracing::warn!(group = %self.id, "no member has joined the round");
            let at = scope.step.now.after_ms(self.rebalance_timeout_ms());
            scope.timers.set(self.timer(ClassicTimer::Join), at);
            return;
        }
        self.generation = self.generation.wrapping_add(1).max(0);
        self.pending_sync.clear();
        let now_ms = scope.step.now.wall_ms;
        if self.members.is_empty() {
            self.protocol = None;
            self.subscribed = self.read_subscriptions();
            self.transition(State::Empty, now_ms);
            scope.step.records.push(self.record());
            return;
        }
        self.protocol = self.choose_protocol();
        self.subscribed = self.read_subscriptions();
        self.transition(State::CompletingRebalance, now_ms);
        tracing::info!(group = %self.id, generation = self.generation, members = self.members.len(), "a generation");
        self.answer_joins(scope);
        let at = scope.step.now.after_ms(self.rebalance_timeout_ms());
        scope.timers.set(self.timer(ClassicTimer::Sync), at);
    }

    fn expel_missing(&mut self, scope: &mut Scope<'_>) {
        let missing = |member: &&super::Member| member.join.is_none() && member.instance.is_none();
        let missing: Vec<_> = self.members.values().filter(missing).map(|member| member.id.clone()).collect();
        for id in missing {
            tracing::info!(group = %self.id, member = %id, "has not joined in time");
            self.remove(&id);
            scope.timers.cancel(&self.timer(ClassicTimer::Session(id)));
        }
    }

    /// Makes sure that the leader is one who has come; false if nobody has.
    fn elect_leader(&mut self) -> bool {
        let present = |id: &CompactString| self.members.get(id).is_some_and(|member| member.join.is_some());
        if self.leader.as_ref().is_some_and(present) {
            return true;
        }
        let Some(member) = self.members.values().find(|member| member.join.is_some()) else { return false };
        self.leader = Some(member.id.clone());
        true
    }

    /// The protocol that most members like best, of those that all speak.
    pub(super) fn choose_protocol(&self) -> Option<CompactString> {
        let mut candidates: Vec<&str> = self
            .spoken
            .iter()
            .filter(|(_, speakers)| **speakers == self.members.len())
            .map(|(name, _)| name.as_str())
            .collect();
        candidates.sort_unstable_by_key(|name| (java_bucket(name), *name));
        let votes: Vec<&str> = self.members.values().filter_map(|member| member.vote(&candidates)).collect();
        let count = |name: &str| votes.iter().filter(|vote| **vote == name).count();
        // Of equals the first one, which max_by_key would not give.
        let best = candidates.iter().map(|name| count(name)).max()?;
        candidates.iter().find(|name| count(name) == best).map(|name| CompactString::from(*name))
    }

    fn answer_joins(&mut self, scope: &mut Scope<'_>) {
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let response = self.join_response(&id);
            if let Some(member) = self.members.get_mut(&id) {
                member.answer_join(|_| response, scope.step);
                member.is_new = false;
            }
            self.reset_session(&id, scope);
            self.pending_sync.insert(id);
        }
    }

    /// The present generation as this member is told of it.
    pub(super) fn join_response(&self, id: &CompactString) -> JoinGroupResponse {
        JoinGroupResponse {
            throttle_time_ms: 0,
            error_code: ErrorCode::NONE,
            generation_id: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            skip_assignment: false,
            member_id: id.clone(),
            members: if self.is_leader(id) { self.for_leader() } else { Vec::new() },
        }
    }

    /// All members, for the one that assigns.
    pub(super) fn for_leader(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let tell = |member: &super::Member| JoinGroupResponseMember {
            member_id: member.id.clone(),
            group_instance_id: member.instance.clone(),
            metadata: member.metadata(protocol),
        };
        self.members.values().map(tell).collect()
    }

    pub(super) fn clear_pending_sync(&mut self, scope: &mut Scope<'_>) {
        self.pending_sync.clear();
        scope.timers.cancel(&self.timer(ClassicTimer::Sync));
    }

    /// Nothing is assigned, and who waits for an assignment is told why.
    pub(super) fn refuse_assignments(&mut self, error: ErrorCode, scope: &mut Scope<'_>) {
        self.set_assignments(|_| Bytes::new());
        self.answer_syncs(|_| sync_refused(error), scope);
    }

    /// Answers those who wait for their assignment; they have been heard from.
    pub(super) fn answer_syncs(
        &mut self,
        response: impl Fn(&super::Member) -> SyncGroupResponse,
        scope: &mut Scope<'_>,
    ) {
        let mut answered = Vec::new();
        for member in self.members.values_mut() {
            let response = response(member);
            if member.answer_sync(response, scope.step) {
                answered.push(member.id.clone());
            }
        }
        for id in answered {
            self.reset_session(&id, scope);
        }
    }

    /// The leader or somebody else has not synced in time: they are out, and there is another round.
    fn sync_due(&mut self, scope: &mut Scope<'_>) {
        if !matches!(self.state, State::CompletingRebalance | State::Stable) || self.pending_sync.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.pending_sync) {
            tracing::info!(group = %self.id, member = %id, "has not synced in time");
            self.remove(&id);
            scope.timers.cancel(&self.timer(ClassicTimer::Session(id)));
        }
        self.prepare_rebalance(scope);
    }
}

impl GroupMachine {
    /// Something of a classic group is due.
    pub(crate) fn classic_due(&mut self, group: &GroupId, timer: ClassicTimer, step: &mut Step) {
        let Some((group, mut scope)) = self.classic(group.as_str(), step) else { return };
        match timer {
            ClassicTimer::Session(member) => group.session_due(&member, &mut scope),
            ClassicTimer::Join => group.join_due(&mut scope),
            ClassicTimer::Sync => group.sync_due(&mut scope),
        }
    }

    /// The outcome of an append is known.
    pub(crate) fn classic_after(&mut self, after: ClassicAfter, outcome: Outcome, step: &mut Step) {
        match after {
            ClassicAfter::Created(created) => {
                if let Err(failure) = outcome {
                    self.undo_creation(created, failure_code(failure), step);
                }
            }
            ClassicAfter::StaticReplaced(replaced) => self.static_replaced(*replaced, outcome, step),
            ClassicAfter::Assigned { group, generation } => self.assigned(&group, generation, outcome, step),
        }
    }

    fn assigned(&mut self, group: &GroupId, generation: i32, outcome: Outcome, step: &mut Step) {
        let Some((group, mut scope)) = self.classic(group.as_str(), step) else { return };
        if group.generation != generation {
            return;
        }
        match outcome {
            Ok(()) => group.tell_assignments(&mut scope),
            Err(failure) => {
                group.refuse_assignments(failure_code(failure), &mut scope);
                group.rebalance_or_complete(&mut scope);
            }
        }
    }
}

/// Where Java's hash map of up to twelve entries keeps a name. Kafka takes the first of equally liked protocols in that
/// order.
fn java_bucket(name: &str) -> u32 {
    let hash =
        name.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ (hash >> 16)) & 15
}
