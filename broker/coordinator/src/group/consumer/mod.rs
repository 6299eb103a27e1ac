//! Groups of the newer protocol (KIP-848). Their functions are the machine's, so that they see its settings, topics and
//! timers; each decides into a [`Step`] and changes no durable state, which only [`GroupMachine::consumer_replay`] does.
//!
//! A heartbeat goes `heartbeat` (what the member says, and by `speaker` who it is) → `subscribe` (the group's epoch) →
//! `assign` (new targets, if they are due) → `beat` (the member's step, `reconcile`, and the answer). Who leaves or falls silent goes by `fence`. Members of the
//! classic protocol that live in such a group: `classic_member`.

mod assign;
mod beat;
mod classic_member;
mod describe;
mod fence;
mod hash;
mod heartbeat;
mod member;
mod migrate;
mod reconcile;
mod records;
mod regex;
mod replay;
mod speaker;
mod state;
mod subscribe;
mod validate;

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, TopicName};

pub(crate) use hash::TopicHashes;
pub(crate) use regex::whole_match;
pub(crate) use state::ConsumerGroup;
pub(crate) use validate::CommitGate;

use crate::effects::AppendFailure;
use crate::event::Token;
use crate::group::Group;
use crate::machine::{After, GroupMachine, Outcome, Step, Timer};
use assign::{AssignTask, Assigned};
use beat::Waiting;
use member::{MemberState, PAUSED_EPOCH};
use migrate::Downgrade;
use regex::Search;

/// How long after a member could not be written off it is tried again, in milliseconds; as long as in Kafka.
const FENCE_RETRY_MS: i64 = 500;

/// Work for the pool.
#[derive(Debug)]
pub(crate) enum Task {
    /// Who shall have what.
    Assign(AssignTask),
    /// Which topics match the expressions of a group.
    Search { group: GroupId, task: Token, search: Search },
}

/// What work of the pool has found.
#[derive(Debug, Clone)]
pub(crate) enum TaskResult {
    Assigned(Assigned),
    Found(subscribe::Found),
}

impl Task {
    /// Works it out.
    pub(crate) fn run(self) -> TaskResult {
        match self {
            Self::Assign(task) => task.run(),
            Self::Search { group, task, search } => {
                TaskResult::Found(subscribe::Found { group, task, regexes: search.run() })
            }
        }
    }
}

/// What in a consumer group can be due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ConsumerTimer {
    /// A member was not heard from.
    Session(CompactString),
    /// A member has not given up what it has to.
    Rebalance(CompactString),
    /// A member of the classic protocol has not joined although it was told to.
    Join(CompactString),
    /// A member of the classic protocol has joined and not synced.
    Sync(CompactString),
    /// The pool takes long over an assignment.
    Assignment,
}

/// What is to be done after the records of an event were appended and replayed, or were not.
#[derive(Debug)]
pub(crate) enum ConsumerAfter {
    /// A request waits for the targets of the group's epoch.
    Assign { group: GroupId, waiting: Waiting },
    /// The group's hash is that of its topics.
    Refreshed { group: GroupId },
    /// Topics are to be matched.
    Search { group: GroupId, search: Search, task: Token },
    /// A member has made a step.
    Moved { group: GroupId, member: CompactString },
    /// Members are gone; if they went because something was due, what.
    Fenced { group: GroupId, members: Vec<CompactString>, due: Option<ConsumerTimer> },
    /// A static member is back under another id.
    Renamed { group: GroupId, old: CompactString, new: CompactString },
    /// A classic group is of the newer protocol now.
    Upgraded { group: GroupId },
    /// The group is to be classic.
    Downgraded(Downgrade),
    /// A member has joined by the classic protocol.
    Joined { group: GroupId, member: CompactString },
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    /// For the client's log; empty if the code says it all.
    pub(crate) message: CompactString,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, message: impl Into<CompactString>) -> Self {
        Self { code, message: message.into() }
    }
}

impl GroupMachine {
    /// The group, if it is one of the newer protocol.
    pub(crate) fn consumer_group(&self, id: &str) -> Option<&ConsumerGroup> {
        match self.groups.get(id) {
            Some(Group::Consumer(group)) => Some(group),
            _ => None,
        }
    }

    fn consumer_group_mut(&mut self, id: &str) -> Option<&mut ConsumerGroup> {
        match self.groups.get_mut(id) {
            Some(Group::Consumer(group)) => Some(group),
            _ => None,
        }
    }

    /// The cluster's topics are others; `self.topics` holds them already.
    pub(crate) fn consumer_topics_changed(&mut self, changed: &[TopicName], _step: &mut Step) {
        self.topic_hashes.forget(changed);
        for group in self.groups.values_mut() {
            if let Group::Consumer(group) = group {
                group.soft.topics_stale |= changed.iter().any(|name| group.is_subscribed_to(name));
                group.soft.regexes_stale = true;
            }
        }
    }

    /// The pool has found something.
    pub(crate) fn consumer_computed(&mut self, result: TaskResult, step: &mut Step) {
        match result {
            TaskResult::Assigned(assigned) => self.take_targets(assigned, step),
            TaskResult::Found(found) => self.found(found, step),
        }
    }

    /// Something is due.
    pub(crate) fn consumer_due(&mut self, id: GroupId, timer: ConsumerTimer, step: &mut Step) {
        let Some(group) = self.consumer_group(id.as_str()) else { return };
        match timer {
            ConsumerTimer::Assignment => self.assignment_is_late(&id, step),
            ConsumerTimer::Rebalance(ref member) => {
                let late = group.members.get(member).is_some_and(|member| {
                    member.state == MemberState::Unrevoked && member.epoch != PAUSED_EPOCH
                });
                if late {
                    let member = member.clone();
                    self.fence(&id, &[member], Some(timer), step);
                }
            }
            ConsumerTimer::Session(ref member)
            | ConsumerTimer::Join(ref member)
            | ConsumerTimer::Sync(ref member) => {
                if group.members.contains_key(member) {
                    let member = member.clone();
                    self.fence(&id, &[member], Some(timer), step);
                }
            }
        }
    }

    /// The outcome of an append is known.
    pub(crate) fn consumer_after(&mut self, after: ConsumerAfter, outcome: Outcome, step: &mut Step) {
        match after {
            ConsumerAfter::Assign { group, waiting } => self.assign_and_wait(&group, waiting, outcome, step),
            ConsumerAfter::Search { group, search, task } if outcome.is_ok() => {
                if let Some(state) = self.consumer_group_mut(group.as_str()) {
                    state.soft.resolving = Some(task);
                    // What changes from now on makes it stale again.
                    state.soft.regexes_stale = false;
                    step.compute(Task::Search { group, task, search });
                }
            }
            ConsumerAfter::Refreshed { group } if outcome.is_ok() => {
                if let Some(group) = self.consumer_group_mut(group.as_str()) {
                    group.soft.topics_stale = false;
                }
            }
            ConsumerAfter::Moved { group, member } if outcome.is_ok() => self.moved(group, member, step),
            ConsumerAfter::Fenced { group, members, .. } if outcome.is_ok() => {
                self.fenced(&group, &members, step);
            }
            ConsumerAfter::Fenced { group, due: Some(timer), .. } => {
                self.timers.set(Timer::Consumer(group, timer), step.now.after_ms(FENCE_RETRY_MS));
            }
            ConsumerAfter::Renamed { group, old, new } if outcome.is_ok() => self.renamed(&group, old, new),
            ConsumerAfter::Upgraded { group } if outcome.is_ok() => self.upgraded(&group, step),
            ConsumerAfter::Downgraded(downgrade) => self.downgraded(downgrade, outcome, step),
            ConsumerAfter::Joined { group, member } if outcome.is_ok() => self.joined(group, member, step),
            ConsumerAfter::Search { .. }
            | ConsumerAfter::Refreshed { .. }
            | ConsumerAfter::Moved { .. }
            | ConsumerAfter::Fenced { .. }
            | ConsumerAfter::Renamed { .. }
            | ConsumerAfter::Upgraded { .. }
            | ConsumerAfter::Joined { .. } => {}
        }
    }

    /// Whoever waits for an assignment is answered with an error: the groups go elsewhere.
    pub(crate) fn consumer_release(&mut self, step: &mut Step) {
        for after in std::mem::take(&mut step.after) {
            match after {
                After::Consumer(ConsumerAfter::Assign { waiting, .. }) => {
                    waiting.refuse(ErrorCode::NOT_COORDINATOR, step);
                }
                After::Consumer(ConsumerAfter::Downgraded(downgrade)) => {
                    self.downgraded(downgrade, Err(AppendFailure::NotLeader), step);
                }
                other => step.after.push(other),
            }
        }
        for group in self.groups.values_mut() {
            if let Group::Consumer(group) = group {
                for waiting in std::mem::take(&mut group.soft.waiting) {
                    waiting.refuse(ErrorCode::NOT_COORDINATOR, step);
                }
            }
        }
    }

    /// All records have been replayed: timers begin. Every member gets a whole session to be heard from.
    pub(crate) fn consumer_loaded(&mut self, step: &mut Step) {
        let mut due = Vec::new();
        for group in self.groups.values() {
            let Group::Consumer(group) = group else { continue };
            let session = step.now.after(self.config.consumer_session_timeout(group.id.as_str()));
            for member in group.members.values() {
                due.push((group.id.clone(), ConsumerTimer::Session(member.id.clone()), session));
                if member.state == MemberState::Unrevoked && member.epoch != PAUSED_EPOCH {
                    let end = step.now.after_ms(member.rebalance_timeout_ms.into());
                    due.push((group.id.clone(), ConsumerTimer::Rebalance(member.id.clone()), end));
                }
            }
        }
        for (group, timer, at) in due {
            self.timers.set(Timer::Consumer(group, timer), at);
        }
    }

    /// The time that a member has to give partitions up begins, or does not run any more.
    fn moved(&mut self, id: GroupId, member_id: CompactString, step: &Step) {
        let member = self.consumer_group(id.as_str()).and_then(|group| group.members.get(&member_id));
        let end = member
            .filter(|member| member.state == MemberState::Unrevoked && !member.is_classic())
            .map(|member| step.now.after_ms(member.rebalance_timeout_ms.into()));
        let timer = Timer::Consumer(id, ConsumerTimer::Rebalance(member_id));
        match end {
            Some(end) => self.timers.set(timer, end),
            None => self.timers.cancel(&timer),
        }
    }

    fn renamed(&mut self, id: &GroupId, old: CompactString, new: CompactString) {
        if let Some(assigning) =
            self.consumer_group_mut(id.as_str()).and_then(|group| group.soft.assigning.as_mut())
        {
            assigning.renamed.push((old, new));
        }
    }
}
