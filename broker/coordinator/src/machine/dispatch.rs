//! Which part of the machine an event, a timer and a follow-up belong to.

use ottla_model::ErrorCode;

use super::{After, GroupMachine, Outcome, Step, Timer};
use crate::event::{Event, Token};
use crate::reply::refusal;

impl GroupMachine {
    pub(super) fn dispatch(&mut self, event: Event, token: Token, step: &mut Step) {
        match event {
            Event::ConsumerGroupHeartbeat { client, request, random, may_describe } => {
                self.consumer_heartbeat(client, request, random, may_describe, token, step);
            }
            Event::ConsumerGroupDescribe { client, groups } => {
                self.consumer_describe(&client, &groups, token, step);
            }
            Event::TopicsChanged { topics, changed } => {
                self.topics = topics;
                self.consumer_topics_changed(&changed, step);
            }
            Event::ConfigChanged { config } => self.config = config,
            Event::Computed(computed) => self.consumer_computed(computed.0, step),
            // The rest has no state here yet: the client asks again, as of a coordinator that is not ready.
            other => {
                if let Some(reply) = refusal(&other, ErrorCode::COORDINATOR_NOT_AVAILABLE) {
                    step.answer_at_once(token, reply);
                }
            }
        }
    }

    pub(super) fn due(&mut self, timer: Timer, step: &mut Step) {
        match timer {
            Timer::Consumer(group, timer) => self.consumer_due(group, timer, step),
        }
    }

    pub(super) fn run_after(&mut self, step: &mut Step, outcome: Outcome) {
        for after in std::mem::take(&mut step.after) {
            match after {
                After::Classic(after) => match after {},
                After::Consumer(after) => self.consumer_after(after, outcome, step),
            }
        }
    }

    pub(super) fn release_waiters(&mut self, step: &mut Step) {
        let _ = step;
    }
}
