//! Groups of the newer protocol (KIP-848). Their functions are the machine's, so that they see its settings, topics and
//! timers; each decides into a [`Step`] and changes no durable state, which only [`GroupMachine::consumer_replay`] does.

use ottla_model::{ErrorCode, GroupId, TopicName};
use ottla_protocol::internal::ConsumerOffsetsRecord;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use crate::event::{Client, Token, TopicFilter};
use crate::machine::{GroupMachine, Outcome, Step};
use crate::reply::{Reply, consumer_described_refused, consumer_heartbeat_refused};

/// A group of the newer protocol.
#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    /// Its name.
    pub(crate) id: GroupId,
}

/// Work for the pool. There is none yet.
#[derive(Debug)]
pub(crate) enum Task {}

/// What work of the pool has found.
#[derive(Debug, Clone)]
pub(crate) enum TaskResult {}

impl Task {
    /// Works it out.
    pub(crate) fn run(self) -> TaskResult {
        match self {}
    }
}

/// What in a consumer group can be due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ConsumerTimer {}

/// What is to be done after the records of an event were appended and replayed, or were not.
#[derive(Debug)]
pub(crate) enum ConsumerAfter {}

impl GroupMachine {
    /// ConsumerGroupHeartbeat.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        _client: Client,
        _request: ConsumerGroupHeartbeatRequest,
        _random: [u8; 16],
        _may_describe: Option<TopicFilter>,
        token: Token,
        step: &mut Step,
    ) {
        let refused = consumer_heartbeat_refused(ErrorCode::COORDINATOR_NOT_AVAILABLE, None);
        step.answer_at_once(token, Reply::ConsumerGroupHeartbeat(refused));
    }

    /// ConsumerGroupDescribe.
    pub(crate) fn consumer_describe(
        &mut self,
        _client: &Client,
        groups: &[GroupId],
        token: Token,
        step: &mut Step,
    ) {
        let refused = |group| consumer_described_refused(group, ErrorCode::COORDINATOR_NOT_AVAILABLE, None);
        step.answer(token, Reply::ConsumerGroupDescribe(groups.iter().map(refused).collect()));
    }

    /// The cluster's topics are others; `self.topics` holds them already.
    pub(crate) fn consumer_topics_changed(&mut self, _changed: &[TopicName], _step: &mut Step) {}

    /// The pool has found something.
    pub(crate) fn consumer_computed(&mut self, result: TaskResult, _step: &mut Step) {
        match result {}
    }

    /// Something is due.
    pub(crate) fn consumer_due(&mut self, _group: GroupId, timer: ConsumerTimer, _step: &mut Step) {
        match timer {}
    }

    /// The outcome of an append is known.
    pub(crate) fn consumer_after(&mut self, after: ConsumerAfter, _outcome: Outcome, _step: &mut Step) {
        match after {}
    }

    /// All records have been replayed: timers begin.
    pub(crate) fn consumer_loaded(&mut self, _step: &mut Step) {}

    /// Takes a record of a consumer group into the state; false if it is none.
    pub(crate) fn consumer_replay(&mut self, _record: ConsumerOffsetsRecord) -> bool {
        false
    }
}
