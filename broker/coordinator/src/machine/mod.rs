//! The groups of one partition of `__consumer_offsets`. This file says how an event becomes effects and a record becomes
//! state; what the events mean stands in `group`.

mod contract;
mod dispatch;
mod replay;
mod step;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName};
use ottla_protocol::codec::EncodeError;

pub use replay::{ReplayError, Replayed};
pub(crate) use step::{After, EndOfTransaction, Outcome, Step};

use crate::config::GroupConfig;
use crate::effects::{Answer, Append, AppendFailure, Effects, Leaves};
use crate::event::{Event, Token};
use crate::group::Group;
use crate::group::classic::ClassicTimer;
use crate::group::consumer::{ConsumerTimer, TopicHashes};
use crate::group::offsets::{CommittedOffset, Offsets, Swept};
use crate::records;
use crate::time::Now;
use crate::timers::Timers;
use crate::topics::Topics;

/// The groups of one partition of `__consumer_offsets`.
///
/// A host makes one when it becomes the partition's leader, gives it every record of the log up to the end ([`replay`],
/// [`replay_end_of_transaction`]), says [`loaded`], and from then on gives it events, one at a time:
///
/// 1. [`handle`] (or [`tick`], when the deadline has come);
/// 2. if the effects have something to append: append it, then [`settle`] with how that went, and take its effects too;
/// 3. send the replies when they may leave; run what is to be computed.
///
/// When it loses the partition it calls [`unload`], which answers all who wait, and drops the machine.
///
/// [`handle`]: Self::handle
/// [`tick`]: Self::tick
/// [`settle`]: Self::settle
/// [`replay`]: Self::replay
/// [`replay_end_of_transaction`]: Self::replay_end_of_transaction
/// [`loaded`]: Self::loaded
/// [`unload`]: Self::unload
#[derive(Debug)]
pub struct GroupMachine {
    pub(crate) config: Arc<GroupConfig>,
    pub(crate) topics: Arc<dyn Topics>,
    /// Groups that are written and groups that are about to be.
    pub(crate) groups: HashMap<GroupId, Group>,
    /// Hashes of `topics`, as far as groups have asked for them.
    pub(crate) topic_hashes: TopicHashes,
    pub(crate) timers: Timers<Timer>,
    pub(crate) offsets: Offsets,
    /// Groups that the expiry under way has not looked at.
    pub(crate) to_expire: VecDeque<GroupId>,
    /// Offsets of deleted topics whose tombstones are not written.
    pub(crate) sweep: VecDeque<Swept>,
    /// All of the log has been replayed.
    pub(crate) serving: bool,
    /// The step whose append is under way.
    pending: Option<Step>,
}

/// What can be due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// Something of a classic group.
    Classic(GroupId, ClassicTimer),
    /// Something of a consumer group.
    Consumer(GroupId, ConsumerTimer),
    /// Every group is looked at for what is old.
    Expiry,
    /// The next groups are.
    ExpiryStep,
    /// The next offsets of deleted topics go.
    Sweep,
}

/// What the tombstones of one batch may take: a part of what Kafka's default lets a batch be (1 MiB).
pub(crate) const TOMBSTONE_BYTES_MAX: usize = 256 * 1024;

impl GroupMachine {
    /// A machine without groups. Its topics are told with [`Event::TopicsChanged`] when they change.
    #[must_use]
    pub fn new(config: Arc<GroupConfig>, topics: Arc<dyn Topics>) -> Self {
        Self {
            config,
            topics,
            groups: HashMap::new(),
            topic_hashes: TopicHashes::default(),
            timers: Timers::new(),
            offsets: Offsets::default(),
            to_expire: VecDeque::new(),
            sweep: VecDeque::new(),
            serving: false,
            pending: None,
        }
    }

    /// All records have been replayed: from now on there are events.
    pub fn loaded(&mut self, now: Now) -> Effects {
        let mut step = Step::new(now);
        self.serving = true;
        self.timers.set(Timer::Expiry, now.after(self.config.offsets.retention_check_interval));
        let groups: Vec<GroupId> = self.groups.keys().cloned().collect();
        for group in &groups {
            self.classic_begin(group, &mut step);
        }
        self.consumer_loaded(&mut step);
        self.finish(step)
    }

    /// What happens by this event. The token is whom to answer; an event that has no answer ignores it.
    ///
    /// # Panics
    /// When the outcome of the append before has not been told.
    pub fn handle(&mut self, event: Event, token: Token, now: Now) -> Effects {
        assert!(self.pending.is_none(), "settle comes before the next event");
        let mut step = Step::new(now);
        self.dispatch(event, token, &mut step);
        self.finish(step)
    }

    /// What happens by the time: one thing that is due, if one is. The host calls it again while the deadline is past.
    ///
    /// # Panics
    /// When the outcome of the append before has not been told.
    pub fn tick(&mut self, now: Now) -> Effects {
        assert!(self.pending.is_none(), "settle comes before the next event");
        let mut step = Step::new(now);
        if let Some(timer) = self.timers.pop(now.steady_ms) {
            self.due(timer, &mut step);
        }
        self.finish(step)
    }

    /// How the append went that the effects before asked for. Never asks for another.
    ///
    /// # Panics
    /// When none was asked for.
    pub fn settle(&mut self, outcome: Result<(), AppendFailure>, now: Now) -> Effects {
        let mut step = self.pending.take().expect("an append is settled that was asked for");
        step.now = now;
        match outcome {
            Ok(()) => self.apply(&mut step),
            Err(failure) => {
                step.records.clear();
                step.marker = None;
                for answer in &mut step.answers {
                    answer.reply.refuse(failure_code(failure));
                }
            }
        }
        self.run_after(&mut step, outcome);
        self.effects(step, Append::Nothing)
    }

    /// The partition is led elsewhere: everyone who waits is told so. The machine is of no more use.
    #[must_use]
    pub fn unload(mut self) -> Vec<Answer> {
        let mut step = self.pending.take().unwrap_or_else(|| Step::new(Now::same(0)));
        for answer in &mut step.answers {
            answer.reply.refuse(ErrorCode::NOT_COORDINATOR);
        }
        self.release_waiters(&mut step);
        let mut answers = step.answers;
        for answer in &mut answers {
            answer.leaves = Leaves::AtOnce;
        }
        answers
    }

    /// The groups, for metrics: id, kind and state as tools see them, and how many members.
    pub fn groups(&self) -> impl Iterator<Item = GroupView<'_>> {
        self.groups.iter().map(|(id, group)| GroupView {
            id,
            kind: group.type_name(),
            state: group.state_name(),
            members: group.member_count(),
        })
    }

    /// What a group has committed, by topic and partition.
    pub fn offsets(
        &self,
        group: &GroupId,
    ) -> impl Iterator<Item = (&TopicName, PartitionIndex, &CommittedOffset)> {
        self.offsets.of_group(group)
    }

    /// How many offsets are committed in all groups.
    #[must_use]
    pub fn offset_count(&self) -> usize {
        self.offsets.len()
    }

    /// Either asks for the append that the step needs, or ends the step.
    fn finish(&mut self, mut step: Step) -> Effects {
        let append = match Self::append_of(&mut step) {
            Ok(append) => append,
            Err(error) => {
                // A text that no length field can hold came over the wire, where it had to fit: not seen in practice.
                tracing::error!(%error, "a group's records cannot be written");
                let now = step.now;
                self.pending = Some(step);
                return self.settle(Err(AppendFailure::Other), now);
            }
        };
        if append.is_nothing() {
            self.run_after(&mut step, Ok(()));
            return self.effects(step, append);
        }
        let (at_once, later) =
            std::mem::take(&mut step.answers).into_iter().partition(|answer| answer.leaves == Leaves::AtOnce);
        let first =
            Step { answers: at_once, compute: std::mem::take(&mut step.compute), ..Step::new(step.now) };
        step.answers = later;
        self.pending = Some(step);
        self.effects(first, append)
    }

    fn append_of(step: &mut Step) -> Result<Append, EncodeError> {
        if let Some(end) = step.marker {
            debug_assert!(step.records.is_empty(), "a marker is a batch of its own");
            return Ok(Append::Marker {
                producer_id: end.producer_id,
                producer_epoch: end.producer_epoch,
                coordinator_epoch: end.coordinator_epoch,
                committed: end.committed,
                epoch_raised: end.epoch_raised,
            });
        }
        if step.records.is_empty() {
            return Ok(Append::Nothing);
        }
        let records = step.records.iter().map(records::encode).collect::<Result<_, _>>()?;
        Ok(Append::Records { records, transaction: step.transaction })
    }

    /// Replays what was appended.
    fn apply(&mut self, step: &mut Step) {
        let producer = step.transaction.map(|(id, _)| id);
        for record in std::mem::take(&mut step.records) {
            self.replay_record(record, producer);
        }
        if let Some(end) = step.marker.take() {
            self.replay_end_of_transaction(end.producer_id, end.committed);
        }
    }

    fn effects(&mut self, step: Step, append: Append) -> Effects {
        debug_assert!(step.records.is_empty() && step.marker.is_none() || !append.is_nothing());
        Effects { append, replies: step.answers, compute: step.compute, deadline: self.timers.next() }
    }
}

/// A group as metrics see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupView<'a> {
    /// Its name.
    pub id: &'a GroupId,
    /// `Classic` or `Consumer`.
    pub kind: &'static str,
    /// Its state.
    pub state: &'static str,
    /// How many members it has.
    pub members: usize,
}

/// What a client is told when a batch could not be appended.
pub(crate) const fn failure_code(failure: AppendFailure) -> ErrorCode {
    match failure {
        AppendFailure::Unavailable => ErrorCode::COORDINATOR_NOT_AVAILABLE,
        AppendFailure::NotLeader => ErrorCode::NOT_COORDINATOR,
        AppendFailure::ProducerFenced => ErrorCode::INVALID_PRODUCER_EPOCH,
        AppendFailure::NotInTransaction => ErrorCode::INVALID_TXN_STATE,
        AppendFailure::CoordinatorFenced => ErrorCode::TRANSACTION_COORDINATOR_FENCED,
        AppendFailure::TooLarge | AppendFailure::Other => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}
