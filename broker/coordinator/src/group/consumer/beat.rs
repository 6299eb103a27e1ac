//! The end of a heartbeat, or of a join of the classic protocol: the member takes its next step towards its target, and is
//! told where it stands. It may come at once, or when the targets are there for which it waited.

use compact_str::CompactString;
use ottla_model::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatResponse, TopicPartitions,
};

use super::classic_member::Join;
use super::member::{Member, Owned};
use super::reconcile::Reconcile;
use super::state::ConsumerGroup;
use super::{ConsumerAfter, Refusal, records};
use crate::event::Token;
use crate::group::assignor::Partitions;
use crate::machine::{After, GroupMachine, Step};
use crate::reply::{Reply, consumer_heartbeat_refused, join_refused};

/// A request that is as good as done, but for the member's step.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) token: Token,
    pub(crate) member: CompactString,
    /// What the member had before the request.
    pub(crate) before: Owned,
    /// What the client says that it has.
    pub(crate) claimed: Option<Partitions>,
    pub(crate) subscription_changed: bool,
    pub(crate) kind: Kind,
}

/// What is to be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// A heartbeat; `whole` if the answer says what the member has even where that is as before.
    Heartbeat { whole: bool },
    /// A join of the classic protocol.
    Join(Join),
}

impl Waiting {
    /// The request has failed after all.
    pub(crate) fn refuse(self, code: ErrorCode, step: &mut Step) {
        self.refuse_with(&Refusal::new(code, CompactString::default()), step);
    }

    fn refuse_with(self, refusal: &Refusal, step: &mut Step) {
        let reply = match self.kind {
            Kind::Heartbeat { .. } => refusal.heartbeat(),
            Kind::Join(join) => Reply::JoinGroup(join_refused(self.member, refusal.code, join.version)),
        };
        step.answer_at_once(self.token, reply);
    }
}

impl Refusal {
    /// As the answer to a heartbeat.
    pub(crate) fn heartbeat(&self) -> Reply {
        let message = Some(self.message.clone()).filter(|message| !message.is_empty());
        Reply::ConsumerGroupHeartbeat(consumer_heartbeat_refused(self.code, message))
    }
}

impl GroupMachine {
    /// A request goes on that has waited; its member may have changed meanwhile, or be gone.
    pub(super) fn go_on(
        &self,
        group: &ConsumerGroup,
        target: Option<&Partitions>,
        target_epoch: i32,
        waiting: Waiting,
        step: &mut Step,
    ) {
        let Some(member) = group.members.get(&waiting.member) else {
            return waiting.refuse(ErrorCode::UNKNOWN_MEMBER_ID, step);
        };
        let target = target.cloned().unwrap_or_else(|| group.target(member));
        if let Err(refusal) = self.advance(group, member, &target, target_epoch, &waiting, step) {
            waiting.refuse_with(&refusal, step);
        }
    }

    /// The member, who may have changed with this request, takes its next step.
    pub(super) fn advance(
        &self,
        group: &ConsumerGroup,
        member: &Member,
        target: &Partitions,
        target_epoch: i32,
        waiting: &Waiting,
        step: &mut Step,
    ) -> Result<(), Refusal> {
        let next = self.step_of(group, member, target, target_epoch, waiting, step)?;
        self.answer(group, &next, waiting, step);
        Ok(())
    }

    /// The member after its next step, whose record is written if it is one.
    pub(super) fn step_of(
        &self,
        group: &ConsumerGroup,
        member: &Member,
        target: &Partitions,
        target_epoch: i32,
        waiting: &Waiting,
        step: &mut Step,
    ) -> Result<Member, Refusal> {
        if !waiting.subscription_changed && member.is_reconciled_to(target_epoch) {
            return Ok(member.clone());
        }
        let reconcile = Reconcile {
            member,
            target_epoch,
            target,
            subscribed: &group.topics_of(member, &*self.topics),
            subscription_changed: waiting.subscription_changed,
            is_held: &|topic, partition| group.is_held(topic, partition),
            claimed: waiting.claimed.as_ref(),
        };
        let Ok(next) = reconcile.run() else {
            let message =
                "The member is in a state that is not known here: it must give up all partitions and rejoin.";
            return Err(Refusal::new(ErrorCode::FENCED_MEMBER_EPOCH, message));
        };
        if next != *member {
            step.records.push(records::current(&group.id, &next));
            let moved = ConsumerAfter::Moved { group: group.id.clone(), member: next.id.clone() };
            step.after.push(After::Consumer(moved));
        }
        Ok(next)
    }

    pub(super) fn answer(&self, group: &ConsumerGroup, member: &Member, waiting: &Waiting, step: &mut Step) {
        let whole = match waiting.kind {
            Kind::Heartbeat { whole } => whole,
            Kind::Join(join) => return Self::answer_join(&group.id, member, join, waiting.token, step),
        };
        let assignment = (whole || waiting.before != member.assigned).then(|| assignment(&member.assigned));
        let tells_nothing = assignment.is_none() && step.records.is_empty();
        let interval = self.config.consumer_heartbeat_interval(group.id.as_str()).as_millis();
        let reply = Reply::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatResponse {
            throttle_time_ms: 0,
            error_code: ErrorCode::NONE,
            error_message: None,
            member_id: Some(member.id.clone()),
            member_epoch: member.epoch,
            heartbeat_interval_ms: i32::try_from(interval).unwrap_or(i32::MAX),
            assignment,
        });
        if tells_nothing {
            step.answer_at_once(waiting.token, reply);
        } else {
            step.answer(waiting.token, reply);
        }
    }
}

fn assignment(owned: &Owned) -> Assignment {
    let topics = owned.iter().map(|(topic_id, partitions)| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.keys().copied().collect(),
    });
    Assignment { topic_partitions: topics.collect() }
}
