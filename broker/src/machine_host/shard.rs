//! One machine behind its lock, with the partition that it lives in and those who wait for its answers.
//!
//! Life: loading → serving → gone. While it loads, news of the cluster is kept for it; requests are refused by those who
//! ask (`group.rs`). Gone is for good: who becomes leader again gets a new shard.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ottla_coordinator::{
    Answer, AppendFailure, Compute, Effects, Event, GroupMachine, Leaves, Now, Reply, Token, refusal,
};
use ottla_model::compression::Compression;
use ottla_model::{ErrorCode, LeaderEpoch, Offset};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::append::append;
use super::deadlines::NEVER;
use crate::partition::Partition;

/// So many things that are due are done at one go; then others get at the machine.
const TICKS_PER_TURN: usize = 256;

/// An answer on its way.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) reply: Reply,
    /// It may not leave before the high watermark is here; none if it may.
    pub(crate) after: Option<Uncommitted>,
}

/// What an answer waits for.
#[derive(Debug)]
pub(crate) struct Uncommitted {
    pub(crate) partition: Arc<Partition>,
    /// The log end when the answer was made.
    pub(crate) end: Offset,
}

/// What became of an event that asks something.
#[derive(Debug)]
pub(crate) enum Asked {
    /// The answer.
    Answered(Delivery),
    /// The answer will come; an error if it never does, since the broker stops.
    Parked(oneshot::Receiver<Delivery>),
}

/// What is to be done once the lock is let go.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Whoever asks now and is not parked yet, and the answer to it.
    asker: Option<Token>,
    own: Option<Delivery>,
    deliveries: Vec<(oneshot::Sender<Delivery>, Delivery)>,
    compute: Vec<Compute>,
}

impl Outbox {
    /// The answers to others with those who wait for them, and the work for the pool.
    pub(super) fn into_parts(self) -> (Vec<(oneshot::Sender<Delivery>, Delivery)>, Vec<Compute>) {
        (self.deliveries, self.compute)
    }
}

/// One partition's machine.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) partition: Arc<Partition>,
    /// The epoch in which this broker began to lead.
    pub(super) epoch: LeaderEpoch,
    compression: Compression,
    /// When something of the machine's is due.
    deadline_ms: AtomicI64,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Loading { news: Vec<Event> },
    Serving(Box<Serving>),
    Gone,
}

#[derive(Debug)]
struct Serving {
    machine: GroupMachine,
    waiting: HashMap<Token, oneshot::Sender<Delivery>>,
}

impl Shard {
    pub(super) fn loading(partition: Arc<Partition>, epoch: LeaderEpoch, compression: Compression) -> Self {
        Self {
            partition,
            epoch,
            compression,
            deadline_ms: AtomicI64::new(NEVER),
            state: Mutex::new(State::Loading { news: Vec::new() }),
        }
    }

    pub(super) fn deadline_ms(&self) -> i64 {
        self.deadline_ms.load(Ordering::SeqCst)
    }

    /// The machine is loaded: it serves from now on, unless the partition is gone meanwhile.
    pub(super) fn serve(&self, mut machine: GroupMachine, now: Now, outbox: &mut Outbox) {
        let mut state = self.state.lock();
        let State::Loading { news } = &mut *state else { return };
        let news = std::mem::take(news);
        let effects = machine.loaded(now);
        let mut serving = Box::new(Serving { machine, waiting: HashMap::new() });
        let mut kept = serving.carry_out(self, effects, now, outbox);
        for event in news {
            // Nobody waits for an answer to news, so the token is never used.
            let effects = serving.machine.handle(event, Token(0), now);
            kept = kept.and(serving.carry_out(self, effects, now, outbox));
        }
        *state = State::Serving(serving);
        if kept.is_err() {
            self.leave(&mut state, outbox);
        }
    }

    /// The partition could not be loaded, or is led elsewhere: everybody who waits is told, and so is who asks later.
    pub(super) fn unload(&self, outbox: &mut Outbox) {
        self.leave(&mut self.state.lock(), outbox);
    }

    /// Gives the machine an event that asks something.
    pub(super) fn ask(&self, event: Event, token: Token, now: Now, outbox: &mut Outbox) -> Asked {
        let mut state = self.state.lock();
        let serving = match &mut *state {
            State::Serving(_) if self.partition.check_writable().is_err() => {
                self.leave(&mut state, outbox);
                return refused(&event, ErrorCode::NOT_COORDINATOR);
            }
            State::Serving(serving) => serving,
            State::Loading { .. } => return refused(&event, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
            State::Gone => return refused(&event, ErrorCode::NOT_COORDINATOR),
        };
        let effects = serving.machine.handle(event, token, now);
        outbox.asker = Some(token);
        let kept = serving.carry_out(self, effects, now, outbox);
        let asked = match outbox.own.take() {
            Some(delivery) => Asked::Answered(delivery),
            None => {
                let (sender, receiver) = oneshot::channel();
                serving.waiting.insert(token, sender);
                Asked::Parked(receiver)
            }
        };
        if kept.is_err() {
            self.leave(&mut state, outbox);
        }
        asked
    }

    /// Gives the machine an event that has no answer.
    pub(super) fn tell(&self, event: Event, now: Now, outbox: &mut Outbox) {
        let mut state = self.state.lock();
        match &mut *state {
            State::Serving(serving) => {
                let effects = serving.machine.handle(event, Token(0), now);
                if serving.carry_out(self, effects, now, outbox).is_err() {
                    self.leave(&mut state, outbox);
                }
            }
            State::Loading { news } => news.push(event),
            State::Gone => {}
        }
    }

    /// Does what is due. A partition that cannot be written any more is given up.
    pub(super) fn tick(&self, now: impl Fn() -> Now, outbox: &mut Outbox) {
        let mut state = self.state.lock();
        let State::Serving(serving) = &mut *state else { return };
        let mut kept = self.partition.check_writable().map_err(|_| AppendFailure::NotLeader);
        for _ in 0..TICKS_PER_TURN {
            let now = now();
            if kept.is_err() || self.deadline_ms() > now.steady_ms {
                break;
            }
            let effects = serving.machine.tick(now);
            kept = serving.carry_out(self, effects, now, outbox);
        }
        if kept.is_err() {
            self.leave(&mut state, outbox);
        }
    }

    fn leave(&self, state: &mut State, outbox: &mut Outbox) {
        let State::Serving(serving) = std::mem::replace(state, State::Gone) else { return };
        let Serving { machine, mut waiting } = *serving;
        self.deadline_ms.store(NEVER, Ordering::SeqCst);
        for Answer { token, reply, .. } in machine.unload() {
            if let Some(sender) = waiting.remove(&token) {
                outbox.deliveries.push((sender, Delivery { reply, after: None }));
            }
        }
    }
}

impl Serving {
    /// Does what the machine wants done: the append first, then the answers. Fails when the partition cannot be kept.
    fn carry_out(
        &mut self,
        shard: &Shard,
        effects: Effects,
        now: Now,
        outbox: &mut Outbox,
    ) -> Result<(), AppendFailure> {
        let Effects { append: wanted, mut replies, mut compute, mut deadline } = effects;
        let mut kept = Ok(());
        if !wanted.is_nothing() {
            let appended = append(&shard.partition, &wanted, shard.compression, now.wall_ms);
            if appended == Err(AppendFailure::NotLeader) {
                kept = appended;
            }
            let settled = self.machine.settle(appended, now);
            replies.extend(settled.replies);
            compute.extend(settled.compute);
            deadline = settled.deadline;
        }
        shard.deadline_ms.store(deadline.unwrap_or(NEVER), Ordering::SeqCst);
        outbox.compute.append(&mut compute);
        let positions = shard.partition.positions();
        for Answer { token, reply, leaves } in replies {
            let waits = leaves == Leaves::WhenCommitted && positions.high_watermark < positions.log_end;
            let after = waits
                .then(|| Uncommitted { partition: Arc::clone(&shard.partition), end: positions.log_end });
            let delivery = Delivery { reply, after };
            if outbox.asker == Some(token) {
                outbox.own = Some(delivery);
            } else if let Some(sender) = self.waiting.remove(&token) {
                outbox.deliveries.push((sender, delivery));
            }
        }
        kept
    }
}

fn refused(event: &Event, code: ErrorCode) -> Asked {
    let reply = refusal(event, code).expect("an event that asks something has an answer");
    Asked::Answered(Delivery { reply, after: None })
}
