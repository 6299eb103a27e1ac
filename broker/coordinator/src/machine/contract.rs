//! The group machine as a host sees any machine.

use bytes::Bytes;
use ottla_model::{ErrorCode, ProducerId};

use super::{GroupMachine, ReplayError, Replayed};
use crate::compute::Compute;
use crate::contract::Machine;
use crate::effects::{Answer, AppendFailure, Effects, Leaves};
use crate::event::{Event, Token};
use crate::reply::{Reply, refusal};
use crate::time::Now;

impl Machine for GroupMachine {
    type Event = Event;
    type Reply = Reply;
    type Work = Compute;

    const WORK_BEGINS: Leaves = Leaves::AtOnce;

    fn replay(
        &mut self,
        key: Bytes,
        value: Option<Bytes>,
        transaction: Option<ProducerId>,
    ) -> Result<Replayed, ReplayError> {
        self.replay(key, value, transaction)
    }

    fn replay_end_of_transaction(&mut self, producer_id: ProducerId, committed: bool) {
        self.replay_end_of_transaction(producer_id, committed);
    }

    fn loaded(&mut self, now: Now) -> Effects {
        self.loaded(now)
    }

    fn handle(&mut self, event: Event, token: Token, now: Now) -> Effects {
        self.handle(event, token, now)
    }

    fn tick(&mut self, now: Now) -> Effects {
        self.tick(now)
    }

    fn settle(&mut self, outcome: Result<(), AppendFailure>, now: Now) -> Effects {
        self.settle(outcome, now)
    }

    fn unload(self) -> Vec<Answer> {
        self.unload()
    }

    fn refusal(event: &Event, error: ErrorCode) -> Option<Reply> {
        refusal(event, error)
    }

    fn refuse(reply: &mut Reply, error: ErrorCode) {
        reply.refuse(error);
    }
}
