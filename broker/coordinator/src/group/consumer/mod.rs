//! Groups of the newer protocol (KIP-848). Their functions are the machine's, so that they see its settings, topics and
//! timers; each decides into a [`Step`] and changes no durable state, which only [`GroupMachine::consumer_replay`] does.

use ottla_model::{ErrorCode, GroupId, PartitionIndex, TopicName, Uuid};
use ottla_protocol::internal::ConsumerOffsetsRecord;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::sync_group::SyncGroupRequest;

use crate::event::{Client, Event, Token, TopicFilter};
use crate::machine::{GroupMachine, Outcome, Step};
use crate::reply::{Reply, consumer_described_refused, consumer_heartbeat_refused, refusal};

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

/// Which partitions a commit may be of.
#[derive(Debug)]
pub(crate) enum CommitGate<'a> {
    /// Any.
    Open,
    /// Only some of this group's.
    Of(&'a ConsumerGroup),
}

impl CommitGate<'_> {
    /// Whether the partition may be committed; if one may not, none is.
    pub(crate) fn check(&self, _topic: &Uuid, _partition: PartitionIndex) -> Result<(), ErrorCode> {
        Ok(())
    }
}

impl ConsumerGroup {
    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    /// How many members it has.
    pub(crate) fn member_count(&self) -> usize {
        0
    }

    /// Kafka's name of its state.
    pub(crate) fn state(&self) -> &'static str {
        "Empty"
    }

    /// Whether a member subscribes to the topic.
    pub(crate) fn is_subscribed_to(&self, _topic: &TopicName) -> bool {
        false
    }

    /// The records that take the group away.
    pub(crate) fn tombstones(&self, _records: &mut Vec<ConsumerOffsetsRecord>) {}

    /// Whether the member may commit, and what.
    pub(crate) fn validate_commit(
        &self,
        _member_id: &str,
        _instance_id: Option<&str>,
        _epoch: i32,
        _transactional: bool,
        _version: i16,
    ) -> Result<CommitGate<'_>, ErrorCode> {
        Ok(CommitGate::Of(self))
    }

    /// Whether the member may fetch offsets.
    pub(crate) fn validate_fetch(&self, _member_id: Option<&str>, _epoch: i32) -> Result<(), ErrorCode> {
        Ok(())
    }
}

impl GroupMachine {
    /// JoinGroup to a consumer group with members; group id and session timeout are checked.
    pub(crate) fn consumer_classic_join(
        &mut self,
        client: Client,
        request: JoinGroupRequest,
        random: [u8; 16],
        token: Token,
        step: &mut Step,
    ) {
        refuse(&Event::JoinGroup { client, request, random }, token, step);
    }

    /// SyncGroup to a consumer group.
    pub(crate) fn consumer_classic_sync(
        &mut self,
        client: Client,
        request: SyncGroupRequest,
        token: Token,
        step: &mut Step,
    ) {
        refuse(&Event::SyncGroup { client, request }, token, step);
    }

    /// Heartbeat to a consumer group.
    pub(crate) fn consumer_classic_heartbeat(
        &mut self,
        client: Client,
        request: HeartbeatRequest,
        token: Token,
        step: &mut Step,
    ) {
        refuse(&Event::Heartbeat { client, request }, token, step);
    }

    /// LeaveGroup to a consumer group; an old version's one member stands in the list.
    pub(crate) fn consumer_classic_leave(
        &mut self,
        client: Client,
        request: LeaveGroupRequest,
        token: Token,
        step: &mut Step,
    ) {
        refuse(&Event::LeaveGroup { client, request }, token, step);
    }

    /// The machine is unloaded: whoever waits is told.
    pub(crate) fn consumer_release(&mut self, _step: &mut Step) {}

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

fn refuse(event: &Event, token: Token, step: &mut Step) {
    if let Some(reply) = refusal(event, ErrorCode::COORDINATOR_NOT_AVAILABLE) {
        step.answer_at_once(token, reply);
    }
}
