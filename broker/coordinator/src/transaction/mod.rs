//! The transactions of one partition of `__transaction_state`. This file says how an event becomes effects and a record
//! becomes state; what the events mean stands beside: `init.rs`, `add.rs`, `end.rs`, `marking.rs`, `overdue.rs`, `tell.rs`.
//!
//! The same contract as the group machine's: nothing but appended records changes durable state. What a restart forgets is
//! which markers of a prepared transaction are written already (they are asked for again, and whoever writes them sees in
//! the partition what is there), and the epoch that an idempotent retry of InitProducerId is known by.

mod add;
mod config;
mod end;
mod event;
mod init;
mod marking;
mod overdue;
mod records;
mod replay;
mod reply;
mod state;
mod step;
mod tell;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use ottla_model::{ErrorCode, LeaderEpoch, TransactionalId};

pub use config::TransactionConfig;
pub use event::{Identity, ListFilter, PatternError, TransactionEvent, TransactionPattern};
pub use marking::{MarkerOrder, MarkerOutcome};
pub use replay::TransactionRecordError;
pub use reply::{Begun, TransactionReply};
pub use state::{Partitions, Transaction, TransactionState};

use crate::effects::{Answer, Append, AppendFailure, Effects, Leaves};
use crate::event::Token;
use crate::machine::failure_code;
use crate::time::Now;
use crate::timers::Timers;
use marking::Marking;
use step::{After, Step};

/// What a transaction machine wants done.
pub type TransactionEffects = Effects<TransactionReply, MarkerOrder>;

/// The transactions of one partition of `__transaction_state`. How a host treats it, [`Machine`] says.
///
/// [`Machine`]: crate::Machine
#[derive(Debug)]
pub struct TransactionMachine {
    config: Arc<TransactionConfig>,
    /// The partition's leader epoch, which markers carry: a coordinator that was replaced writes none.
    coordinator_epoch: LeaderEpoch,
    transactions: HashMap<TransactionalId, Transaction>,
    /// The open ones, by the time on the wall clock at which they are aborted.
    open: BTreeSet<(i64, TransactionalId)>,
    /// What is known of the markers of those that end.
    marking: HashMap<TransactionalId, Marking>,
    /// Ids that the expiry under way has not looked at.
    to_expire: VecDeque<TransactionalId>,
    timers: Timers<Timer>,
    /// All of the log has been replayed.
    serving: bool,
    /// The step whose append is under way.
    pending: Option<Step>,
}

/// What can be due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Timer {
    /// Open transactions are looked at for those that have taken too long.
    Overdue,
    /// The next one of those is aborted.
    OverdueStep,
    /// All ids are looked at for those that are not used any more.
    Expiry,
    /// The next of those are forgotten.
    ExpiryStep,
    /// Markers that could not be written are asked for again, or the end of a transaction is.
    Marking(TransactionalId),
}

impl TransactionMachine {
    /// A machine without transactions, for a partition that is led here since this epoch.
    #[must_use]
    pub fn new(config: Arc<TransactionConfig>, coordinator_epoch: LeaderEpoch) -> Self {
        Self {
            config,
            coordinator_epoch,
            transactions: HashMap::new(),
            open: BTreeSet::new(),
            marking: HashMap::new(),
            to_expire: VecDeque::new(),
            timers: Timers::new(),
            serving: false,
            pending: None,
        }
    }

    /// All records have been replayed: from now on there are events. Prepared transactions are ended first of all.
    pub fn loaded(&mut self, now: Now) -> TransactionEffects {
        let mut step = Step::new(now);
        self.serving = true;
        self.timers.set(Timer::Overdue, now.after(self.config.overdue_check_interval));
        self.timers.set(Timer::Expiry, now.after(self.config.expiry_check_interval));
        self.resume_marking(&mut step);
        self.finish(step)
    }

    /// What happens by this event. The token is whom to answer; an event that has no answer ignores it.
    ///
    /// # Panics
    /// When the outcome of the append before has not been told.
    pub fn handle(&mut self, event: TransactionEvent, token: Token, now: Now) -> TransactionEffects {
        assert!(self.pending.is_none(), "settle comes before the next event");
        let mut step = Step::new(now);
        self.dispatch(event, token, &mut step);
        self.finish(step)
    }

    /// What happens by the time: one thing that is due, if one is. The host calls it again while the deadline is past.
    ///
    /// # Panics
    /// When the outcome of the append before has not been told.
    pub fn tick(&mut self, now: Now) -> TransactionEffects {
        assert!(self.pending.is_none(), "settle comes before the next event");
        let mut step = Step::new(now);
        match self.timers.pop(now.steady_ms) {
            Some(Timer::Overdue) => self.begin_overdue(&step),
            Some(Timer::OverdueStep) => self.abort_one_overdue(&mut step),
            Some(Timer::Expiry) => self.begin_expiry(&step),
            Some(Timer::ExpiryStep) => self.expire_some(&mut step),
            Some(Timer::Marking(id)) => self.go_on_marking(&id, &mut step),
            None => {}
        }
        self.finish(step)
    }

    /// How the append went that the effects before asked for. Never asks for another.
    ///
    /// # Panics
    /// When none was asked for.
    pub fn settle(&mut self, outcome: Result<(), AppendFailure>, now: Now) -> TransactionEffects {
        let mut step = self.pending.take().expect("an append is settled that was asked for");
        step.now = now;
        match outcome {
            Ok(()) => self.apply(&mut step),
            Err(failure) => {
                step.changes.clear();
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
    pub fn unload(self) -> Vec<Answer<TransactionReply>> {
        let mut answers = self.pending.map(|step| step.answers).unwrap_or_default();
        for answer in &mut answers {
            answer.reply.refuse(ErrorCode::NOT_COORDINATOR);
            answer.leaves = Leaves::AtOnce;
        }
        answers
    }

    /// A transaction as it stands.
    #[must_use]
    pub fn transaction(&self, id: &TransactionalId) -> Option<&Transaction> {
        self.transactions.get(id)
    }

    /// All transactions, in no order.
    pub fn transactions(&self) -> impl Iterator<Item = (&TransactionalId, &Transaction)> {
        self.transactions.iter()
    }

    fn dispatch(&mut self, event: TransactionEvent, token: Token, step: &mut Step) {
        match event {
            TransactionEvent::InitProducerId { id, timeout_ms, expected, fresh } => {
                self.init(id, timeout_ms, expected, fresh, token, step);
            }
            TransactionEvent::AddPartitions { by, partitions, client_version } => {
                self.add_partitions(by, partitions, client_version, token, step);
            }
            TransactionEvent::Verify { by, partitions } => self.verify(&by, partitions, token, step),
            TransactionEvent::End { by, committed, client_version, fresh } => {
                self.end(by, committed, client_version, fresh, token, step);
            }
            TransactionEvent::Describe { ids } => self.describe(ids, token, step),
            TransactionEvent::List { filter } => self.list(&filter, token, step),
            TransactionEvent::Marked(outcome) => self.marked(outcome, step),
            TransactionEvent::ConfigChanged { config } => self.config = config,
        }
    }

    /// Either asks for the append that the step needs, or ends the step.
    fn finish(&mut self, mut step: Step) -> TransactionEffects {
        if step.changes.is_empty() {
            self.run_after(&mut step, Ok(()));
            return self.effects(step, Append::Nothing);
        }
        let version = records::value_version(self.config.transaction_version);
        let encoded = step.changes.iter().map(|(id, after)| records::encode(id, after.as_ref(), version));
        match encoded.collect::<Result<Vec<_>, _>>() {
            Ok(records) => {
                self.pending = Some(step);
                let first = Step::new(self.pending.as_ref().map_or(Now::same(0), |step| step.now));
                self.effects(first, Append::Records { records, transaction: None })
            }
            Err(error) => {
                // A text that no length field can hold came over the wire, where it had to fit: not seen in practice.
                tracing::error!(%error, "a transaction's record cannot be written");
                let now = step.now;
                self.pending = Some(step);
                self.settle(Err(AppendFailure::Other), now)
            }
        }
    }

    /// Takes over what was appended, and has ended what it prepares.
    fn apply(&mut self, step: &mut Step) {
        for (id, after) in std::mem::take(&mut step.changes) {
            let is_prepared = after.as_ref().is_some_and(|after| after.state.is_prepared());
            self.put(id.clone(), after);
            if is_prepared {
                self.begin_marking(&id, false, step);
            }
        }
    }

    /// The one place in which a transaction changes; no value is the end of an id.
    fn put(&mut self, id: TransactionalId, after: Option<Transaction>) {
        if let Some(before) = self.transactions.get(&id)
            && let Some(deadline) = before.deadline_ms()
        {
            self.open.remove(&(deadline, id.clone()));
        }
        self.marking.remove(&id);
        self.timers.cancel(&Timer::Marking(id.clone()));
        let Some(after) = after else {
            self.transactions.remove(&id);
            return;
        };
        if let Some(deadline) = after.deadline_ms() {
            self.open.insert((deadline, id.clone()));
        }
        self.transactions.insert(id, after);
    }

    fn run_after(&mut self, step: &mut Step, outcome: Result<(), AppendFailure>) {
        for after in std::mem::take(&mut step.after) {
            match after {
                After::Overdue => self.after_overdue(outcome, step),
                After::Expiry => self.after_expiry(outcome, step),
                After::Completed(id) => self.after_completion(&id, outcome, step),
            }
        }
    }

    fn effects(&mut self, step: Step, append: Append) -> TransactionEffects {
        debug_assert!(step.changes.is_empty() || !append.is_nothing(), "changes are appended");
        Effects { append, replies: step.answers, compute: step.orders, deadline: self.timers.next() }
    }
}
