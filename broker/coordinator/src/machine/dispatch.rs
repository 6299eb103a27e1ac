//! Which part of the machine an event, a timer and a follow-up belong to.

use ottla_model::ErrorCode;

use super::{After, EndOfTransaction, GroupMachine, Outcome, Step, Timer};
use crate::event::{Event, Token};
use crate::group::Group;
use crate::reply::Reply;

impl GroupMachine {
    pub(super) fn dispatch(&mut self, event: Event, token: Token, step: &mut Step) {
        match event {
            Event::JoinGroup { client, request, random } => {
                self.classic_join(client, request, random, token, step);
            }
            Event::SyncGroup { client, request } => self.classic_sync(client, request, token, step),
            Event::Heartbeat { client, request } => self.classic_heartbeat(client, request, token, step),
            Event::LeaveGroup { client, request } => self.classic_leave(client, request, token, step),
            Event::ConsumerGroupHeartbeat { client, request, random, may_describe } => {
                self.consumer_heartbeat(client, request, random, may_describe, token, step);
            }
            Event::OffsetCommit { client, request } => self.commit_offsets(&client, request, token, step),
            Event::TxnOffsetCommit { request, .. } => {
                self.commit_offsets_in_transaction(request, token, step);
            }
            Event::OffsetFetch { request, require_stable, .. } => {
                self.fetch_offsets(request, require_stable, token, step);
            }
            Event::OffsetDelete { request } => self.delete_offsets(request, token, step),
            Event::DescribeGroups { client, groups } => self.describe_groups(&client, &groups, token, step),
            Event::ConsumerGroupDescribe { client, groups } => {
                self.consumer_describe(&client, &groups, token, step);
            }
            Event::ListGroups { states, types } => self.list_groups(&states, &types, token, step),
            Event::DeleteGroups { groups } => self.delete_groups(groups, token, step),
            Event::EndTransaction {
                producer_id,
                producer_epoch,
                coordinator_epoch,
                committed,
                epoch_raised,
            } => {
                step.marker = Some(EndOfTransaction {
                    producer_id,
                    producer_epoch,
                    coordinator_epoch,
                    committed,
                    epoch_raised,
                });
                step.answer(token, Reply::EndTransaction(ErrorCode::NONE));
            }
            Event::TopicsChanged { topics, changed } => {
                self.topics = topics;
                self.consumer_topics_changed(&changed, step);
            }
            Event::TopicsDeleted { topics } => self.topics_deleted(&topics, step),
            Event::ConfigChanged { config } => self.config = config,
            Event::Computed(computed) => self.consumer_computed(computed.0, step),
        }
    }

    pub(super) fn due(&mut self, timer: Timer, step: &mut Step) {
        match timer {
            Timer::Classic(group, timer) => self.classic_due(&group, timer, step),
            Timer::Consumer(group, timer) => self.consumer_due(group, timer, step),
            Timer::Expiry => self.begin_expiry(step),
            Timer::ExpiryStep => self.expire_some(step),
            Timer::Sweep => self.sweep_some(step),
        }
    }

    pub(super) fn run_after(&mut self, step: &mut Step, outcome: Outcome) {
        for after in std::mem::take(&mut step.after) {
            match after {
                After::Classic(after) => self.classic_after(after, outcome, step),
                After::Consumer(after) => self.consumer_after(after, outcome, step),
            }
        }
    }

    pub(super) fn release_waiters(&mut self, step: &mut Step) {
        for group in self.groups.values_mut() {
            if let Group::Classic(group) = group {
                group.release(ErrorCode::NOT_COORDINATOR, step);
            }
        }
        self.consumer_release(step);
    }
}
