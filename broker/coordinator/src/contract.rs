//! What every machine has in common, so that one host serves each kind: how it is loaded, given events, told what became
//! of an append, and let go. What the events mean is each machine's own.

use std::fmt;

use bytes::Bytes;
use ottla_model::{ErrorCode, ProducerId};

use crate::effects::{Answer, AppendFailure, Effects, Leaves};
use crate::event::Token;
use crate::machine::{ReplayError, Replayed};
use crate::time::Now;

/// A state machine whose durable state is one partition of an internal topic.
///
/// A host makes one when it becomes the partition's leader, gives it every record of the log up to the end
/// ([`replay`](Self::replay), [`replay_end_of_transaction`](Self::replay_end_of_transaction)), says
/// [`loaded`](Self::loaded), and from then on gives it events, one at a time. An append that effects ask for is carried out
/// and settled before the next event.
pub trait Machine: fmt::Debug + Send + Sized + 'static {
    /// What can happen to it.
    type Event: fmt::Debug + Send;
    /// What it answers.
    type Reply: fmt::Debug + Send;
    /// Work that it has for others.
    type Work: fmt::Debug + Send;

    /// When its work may begin.
    const WORK_BEGINS: Leaves;

    /// Takes a record of the log into the state; the producer is that of its batch, if that is transactional.
    ///
    /// # Errors
    /// When the record is damaged or of an unknown version.
    fn replay(
        &mut self,
        key: Bytes,
        value: Option<Bytes>,
        transaction: Option<ProducerId>,
    ) -> Result<Replayed, ReplayError>;

    /// Takes the marker of a transaction into the state.
    fn replay_end_of_transaction(&mut self, producer_id: ProducerId, committed: bool);

    /// All records have been replayed: from now on there are events.
    fn loaded(&mut self, now: Now) -> Effects<Self::Reply, Self::Work>;

    /// What happens by this event. The token is whom to answer; an event that has no answer ignores it.
    fn handle(&mut self, event: Self::Event, token: Token, now: Now) -> Effects<Self::Reply, Self::Work>;

    /// What happens by the time: one thing that is due, if one is.
    fn tick(&mut self, now: Now) -> Effects<Self::Reply, Self::Work>;

    /// How the append went that the effects before asked for. Never asks for another.
    fn settle(&mut self, outcome: Result<(), AppendFailure>, now: Now) -> Effects<Self::Reply, Self::Work>;

    /// The partition is led elsewhere: everyone who waits is told so.
    fn unload(self) -> Vec<Answer<Self::Reply>>;

    /// The answer to this event where there is no machine to say more than an error; none where the event has no answer.
    fn refusal(event: &Self::Event, error: ErrorCode) -> Option<Self::Reply>;

    /// Makes an answer a refusal: what it told of was not written.
    fn refuse(reply: &mut Self::Reply, error: ErrorCode);
}
