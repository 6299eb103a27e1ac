//! Groups of the classic protocol. Members join a round and wait for each other; one of them, the leader, assigns, and
//! the coordinator passes on what it says without reading it. This file is what a group is; what happens to it stands in
//! `join`, `round`, `sync` and `presence`.
//!
//! Durable is what the log has: the members and assignments of the last round that was synced, or that nobody is left.
//! A round under way is soft: after a restart the members of the last one find an unknown generation and join anew.

mod join;
mod member;
mod presence;
mod record;
mod round;
mod sync;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, TopicName};

pub(crate) use member::{Member, Waiter};
pub(crate) use presence::{leave_response, left};
pub(crate) use round::ClassicAfter;

use crate::config::ClassicConfig;
use crate::machine::{GroupMachine, Step, Timer};
use crate::timers::Timers;

/// The protocol type of consumers, whose subscriptions the coordinator reads.
pub(crate) const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

/// Ids that were handed out and have not come back, in one group. A client that asks again and again without using what
/// it gets is refused then, as from a full group.
pub(crate) const PENDING_MEMBERS_MAX: usize = 10_000;

/// Where a group is in its round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// No members; perhaps offsets.
    Empty,
    /// Members are joining.
    PreparingRebalance,
    /// All have joined; the leader's assignments are awaited.
    CompletingRebalance,
    /// Every member has its assignment, or can have it.
    Stable,
}

impl State {
    /// The name that tools see.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// What in a classic group can be due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClassicTimer {
    /// A member, or an id handed out, was not heard from.
    Session(CompactString),
    /// The joining of a round ends.
    Join,
    /// The members that have not synced are too late.
    Sync,
}

/// A group of the classic protocol, or one that only commits offsets.
#[derive(Debug)]
pub(crate) struct ClassicGroup {
    pub(crate) id: GroupId,
    pub(crate) state: State,
    /// The round that is being prepared is the first one of an empty group.
    initial: bool,
    /// While the first members gather: how long the present delay is and how much of the rebalance timeout is left
    /// after it, both in milliseconds.
    gathering: Option<(i64, i64)>,
    /// Somebody came during the present delay.
    newcomer: bool,
    /// Since when it is in its state, on the wall clock.
    pub(crate) state_since_ms: Option<i64>,
    /// None for a group that only commits offsets.
    pub(crate) protocol_type: Option<CompactString>,
    pub(crate) protocol: Option<CompactString>,
    pub(crate) generation: i32,
    pub(crate) leader: Option<CompactString>,
    members: BTreeMap<CompactString, Member>,
    /// Static members' ids by instance id.
    statics: HashMap<CompactString, CompactString>,
    /// Ids that were handed out and have not come back.
    pending: BTreeSet<CompactString>,
    /// Members that have joined the round and not synced yet.
    pending_sync: BTreeSet<CompactString>,
    /// How many members speak a protocol.
    spoken: HashMap<CompactString, usize>,
    /// The topics that members subscribe to, where that can be read.
    subscribed: Option<BTreeSet<TopicName>>,
}

/// What a group's functions need of the machine.
pub(crate) struct Scope<'a> {
    pub(crate) timers: &'a mut Timers<Timer>,
    pub(crate) config: &'a ClassicConfig,
    pub(crate) step: &'a mut Step,
}

impl ClassicGroup {
    /// A group without members and without a protocol.
    pub(crate) fn new(id: GroupId, now_ms: i64) -> Self {
        Self {
            id,
            state: State::Empty,
            initial: false,
            gathering: None,
            newcomer: false,
            state_since_ms: Some(now_ms),
            protocol_type: None,
            protocol: None,
            generation: 0,
            leader: None,
            members: BTreeMap::new(),
            statics: HashMap::new(),
            pending: BTreeSet::new(),
            pending_sync: BTreeSet::new(),
            spoken: HashMap::new(),
            subscribed: None,
        }
    }

    /// The members by id.
    pub(crate) fn members(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.members.values()
    }

    pub(crate) fn member(&self, id: &str) -> Option<&Member> {
        self.members.get(id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state == State::Empty
    }

    pub(crate) fn is_leader(&self, member: &str) -> bool {
        self.leader.as_deref() == Some(member)
    }

    /// Whether the members are consumers.
    pub(crate) fn has_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE)
    }

    /// Whether somebody consumes the topic. Of consumers whose subscriptions cannot be read everything counts as
    /// consumed, of other groups nothing.
    pub(crate) fn is_subscribed_to(&self, topic: &TopicName) -> bool {
        self.subscribed.as_ref().map_or_else(|| self.has_consumers(), |topics| topics.contains(topic))
    }

    /// Whether what the members subscribe to is known.
    pub(crate) fn knows_subscriptions(&self) -> bool {
        self.subscribed.is_some()
    }

    /// Whether a request may speak for the member.
    ///
    /// # Errors
    /// `FENCED_INSTANCE_ID` when the instance has another member by now, `UNKNOWN_MEMBER_ID` when there is none.
    pub(crate) fn check_member(&self, id: &str, instance: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            match self.statics.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(present) if present != id => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        if self.members.contains_key(id) { Ok(()) } else { Err(ErrorCode::UNKNOWN_MEMBER_ID) }
    }

    /// Whether the member may commit offsets.
    ///
    /// # Errors
    /// With the code that the client is told.
    pub(crate) fn check_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        generation: i32,
        in_transaction: bool,
    ) -> Result<(), ErrorCode> {
        if generation < 0 && self.is_empty() {
            return Ok(());
        }
        if generation >= 0 || !member.is_empty() || instance.is_some() {
            self.check_member(member, instance)?;
            if generation != self.generation {
                return Err(ErrorCode::ILLEGAL_GENERATION);
            }
        } else if !in_transaction {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        if !in_transaction && self.state == State::CompletingRebalance {
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        Ok(())
    }

    /// Whether offsets may be deleted, topics that are consumed aside.
    ///
    /// # Errors
    /// `NON_EMPTY_GROUP` when somebody might consume and nobody can say what.
    pub(crate) fn check_offset_delete(&self) -> Result<(), ErrorCode> {
        if self.is_empty() || self.has_consumers() { Ok(()) } else { Err(ErrorCode::NON_EMPTY_GROUP) }
    }

    fn transition(&mut self, state: State, now_ms: i64) {
        self.initial = state == State::PreparingRebalance && self.state == State::Empty;
        self.state = state;
        self.state_since_ms = Some(now_ms);
    }

    /// Adds a member that is not there.
    fn add(&mut self, member: Member, protocol_type: &CompactString) {
        if self.members.is_empty() {
            self.protocol_type = Some(protocol_type.clone());
        }
        if let Some(instance) = &member.instance {
            self.statics.insert(instance.clone(), member.id.clone());
        }
        self.leader.get_or_insert_with(|| member.id.clone());
        self.count_spoken(&member, true);
        self.pending.remove(&member.id);
        self.members.insert(member.id.clone(), member);
    }

    /// Takes a member, or an id that was handed out, away. Its timer is the caller's.
    fn remove(&mut self, id: &str) -> Option<Member> {
        let removed = self.members.remove(id);
        if let Some(member) = &removed {
            self.count_spoken(member, false);
            if let Some(instance) = &member.instance {
                self.statics.remove(instance);
            }
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        self.pending.remove(id);
        self.pending_sync.remove(id);
        removed
    }

    /// Counts what a member speaks, each protocol once however often it names it.
    fn count_spoken(&mut self, member: &Member, there: bool) {
        let names: BTreeSet<_> = member.protocols.iter().map(|spoken| &spoken.name).collect();
        for name in names {
            if there {
                *self.spoken.entry(name.clone()).or_default() += 1;
            } else if let Some(count) = self.spoken.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.spoken.remove(name);
                }
            }
        }
    }

    fn joined(&self) -> usize {
        self.members.values().filter(|member| member.join.is_some()).count()
    }

    fn has_all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(|member| member.join.is_some())
    }

    /// The longest that a member may take to join anew.
    fn rebalance_timeout_ms(&self) -> i64 {
        self.members.values().map(|member| i64::from(member.rebalance_timeout_ms)).max().unwrap_or(0).max(0)
    }

    fn set_assignments(&mut self, assignment: impl Fn(&str) -> Bytes) {
        for member in self.members.values_mut() {
            member.assignment = assignment(&member.id);
        }
    }

    /// Answers everyone who waits with this error, as when the group ends here.
    pub(crate) fn release(&mut self, error: ErrorCode, step: &mut Step) {
        for member in self.members.values_mut() {
            member.refuse_join(member.id.clone(), error, step);
            member.refuse_sync(error, step);
        }
    }

    /// Nothing of the group is due any more.
    pub(crate) fn cancel_timers(&self, timers: &mut Timers<Timer>) {
        for id in self.members.keys().chain(&self.pending) {
            timers.cancel(&self.timer(ClassicTimer::Session(id.clone())));
        }
        timers.cancel(&self.timer(ClassicTimer::Join));
        timers.cancel(&self.timer(ClassicTimer::Sync));
    }

    fn timer(&self, timer: ClassicTimer) -> Timer {
        Timer::Classic(self.id.clone(), timer)
    }
}

impl GroupMachine {
    /// The classic group of this name, and what its functions need.
    pub(crate) fn classic<'a>(
        &'a mut self,
        id: &str,
        step: &'a mut Step,
    ) -> Option<(&'a mut ClassicGroup, Scope<'a>)> {
        let group = match self.groups.get_mut(id)? {
            super::Group::Classic(group) => group,
            super::Group::Consumer(_) => return None,
        };
        Some((group, Scope { timers: &mut self.timers, config: &self.config.classic, step }))
    }
}
