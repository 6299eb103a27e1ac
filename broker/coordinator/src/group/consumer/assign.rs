//! Assignments: when one may be made, what the pool is given for it, and what becomes of what it found. Heartbeats and
//! joins that need the new targets wait for them. Meanwhile the group lives on; members that went are left out of what
//! comes back, static ones that came back under another id get it under that.

use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};

use super::beat::Waiting;
use super::state::{Assigning, ConsumerGroup};
use super::{ConsumerTimer, Task, TaskResult, records};
use crate::event::Token;
use crate::group::Group;
use crate::group::assignor::{Assignor, GroupSpec, MemberSpec, Partitions};
use crate::machine::{GroupMachine, Outcome, Step, Timer, failure_code};
use crate::time::Now;
use crate::topics::Topics;

/// How long a heartbeat waits for an assignment before it is answered with what there is, in milliseconds. A pool that
/// needs longer is no reason for a client to take its coordinator for dead.
const ASSIGNMENT_WAIT_MS_MAX: i64 = 10_000;

/// An assignment to be worked out.
#[derive(Debug)]
pub(crate) struct AssignTask {
    pub(crate) group: GroupId,
    pub(crate) task: Token,
    /// The group epoch for which it is made.
    pub(crate) epoch: i32,
    pub(crate) assignor: Assignor,
    pub(crate) spec: GroupSpec,
}

/// What was worked out.
#[derive(Debug, Clone)]
pub(crate) struct Assigned {
    pub(crate) group: GroupId,
    pub(crate) task: Token,
    pub(crate) epoch: i32,
    pub(crate) targets: BTreeMap<CompactString, Partitions>,
}

impl AssignTask {
    pub(crate) fn run(self) -> TaskResult {
        let mut targets = self.assignor.assign(&self.spec);
        // Who gets nothing is told so: a target that is empty is another than none.
        for member in self.spec.members {
            targets.entry(member.id).or_default();
        }
        TaskResult::Assigned(Assigned { group: self.group, task: self.task, epoch: self.epoch, targets })
    }
}

impl GroupMachine {
    /// The name of the assignor of groups whose members do not choose.
    pub(crate) fn default_assignor(&self) -> &str {
        self.config.consumer.assignors.first().map_or(Assignor::Uniform.name(), CompactString::as_str)
    }

    /// Whether targets may be made now that the group is at this epoch.
    pub(crate) fn may_assign(&self, group: &ConsumerGroup, epoch: i32, now: Now) -> bool {
        let interval = self.config.consumer_assignment_interval(group.id.as_str()).as_millis();
        let interval = i64::try_from(interval).unwrap_or(i64::MAX);
        let last = group.assignment_timestamp_ms;
        group.assignment_epoch < epoch
            && (last == 0 || interval == 0 || now.wall_ms >= last.saturating_add(interval))
    }

    /// The records of a request are part of the state: it waits for the targets of the group's epoch, which are worked
    /// out if they are not being so already.
    pub(crate) fn assign_and_wait(
        &mut self,
        id: &GroupId,
        waiting: Waiting,
        outcome: Outcome,
        step: &mut Step,
    ) {
        let Some(Group::Consumer(group)) = self.groups.get(id) else {
            let code = outcome.map_or_else(failure_code, |()| ErrorCode::UNKNOWN_SERVER_ERROR);
            return waiting.refuse(code, step);
        };
        if let Err(failure) = outcome {
            return waiting.refuse(failure_code(failure), step);
        }
        let task = match &group.soft.assigning {
            Some(_) => None,
            None => Some(self.assign_task(group, waiting.token)),
        };
        let Some(Group::Consumer(group)) = self.groups.get_mut(id) else { return };
        group.soft.waiting.push(waiting);
        if let Some(task) = task {
            group.soft.assigning = Some(Assigning { task: task.task, renamed: Vec::new() });
            let timer = Timer::Consumer(id.clone(), ConsumerTimer::Assignment);
            self.timers.set(timer, step.now.after_ms(ASSIGNMENT_WAIT_MS_MAX));
            step.compute(Task::Assign(task));
        }
    }

    fn assign_task(&self, group: &ConsumerGroup, task: Token) -> AssignTask {
        let name = group.preferred_assignor(None);
        let name = name.as_deref().unwrap_or_else(|| self.default_assignor());
        AssignTask {
            group: group.id.clone(),
            task,
            epoch: group.epoch,
            assignor: Assignor::by_name(name).unwrap_or(Assignor::Uniform),
            spec: group.spec(&*self.topics),
        }
    }

    /// The pool has found targets.
    pub(crate) fn take_targets(&mut self, assigned: Assigned, step: &mut Step) {
        let Some(Group::Consumer(group)) = self.groups.get_mut(&assigned.group) else { return };
        let renamed = match group.soft.assigning.take_if(|assigning| assigning.task == assigned.task) {
            Some(assigning) => assigning.renamed,
            // It came too late: those who waited have been answered.
            None => return,
        };
        let waiting = std::mem::take(&mut group.soft.waiting);
        self.timers.cancel(&Timer::Consumer(assigned.group.clone(), ConsumerTimer::Assignment));
        let Some(Group::Consumer(group)) = self.groups.get(&assigned.group) else { return };
        let mut targets = assigned.targets;
        for (old, new) in renamed {
            if let Some(target) = targets.remove(&old) {
                targets.insert(new, target);
            }
        }
        targets.retain(|id, _| group.members.contains_key(id));
        for (id, target) in targets.iter().filter(|(id, target)| group.targets.get(*id) != Some(*target)) {
            step.records.push(records::target(&group.id, id, target));
        }
        step.records.push(records::target_epoch(&group.id, assigned.epoch, step.now.wall_ms));
        for waiting in waiting {
            let known = targets.get(&waiting.member);
            self.go_on(group, known, assigned.epoch, waiting, step);
        }
    }

    /// The pool takes long: who waits is answered with the targets of before, and asks again.
    pub(crate) fn assignment_is_late(&mut self, id: &GroupId, step: &mut Step) {
        let Some(Group::Consumer(group)) = self.groups.get_mut(id) else { return };
        group.soft.assigning = None;
        let waiting = std::mem::take(&mut group.soft.waiting);
        let Some(Group::Consumer(group)) = self.groups.get(id) else { return };
        for waiting in waiting {
            self.go_on(group, None, group.assignment_epoch, waiting, step);
        }
    }
}

impl ConsumerGroup {
    fn spec(&self, topics: &dyn Topics) -> GroupSpec {
        let members = self.members.values().map(|member| MemberSpec {
            id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            topics: self.topics_of(member, topics),
            owned: self.targets.get(&member.id).cloned().unwrap_or_default(),
        });
        let members: Vec<MemberSpec> = members.collect();
        let wanted = members.iter().flat_map(|member| &member.topics);
        let counts = wanted.filter_map(|id| topics.by_id(id).map(|topic| (*id, topic.partitions))).collect();
        GroupSpec {
            members,
            same_subscriptions: self.subscriptions(&[], None).are_the_same(),
            topics: counts,
        }
    }
}
