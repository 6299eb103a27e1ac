//! A host in memory: it appends what a machine asks for, settles, keeps the answers, and can fail or die at any point.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use compact_str::CompactString;
use ottla_coordinator::{
    Append, AppendFailure, Client, Effects, Event, GroupConfig, GroupMachine, Now, Record, Reply, Token,
    TopicTable,
};
use ottla_model::{ErrorCode, GroupId, ProducerId};
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};

/// What lies in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Record { record: Record, transaction: Option<ProducerId> },
    Marker { producer: ProducerId, committed: bool },
}

/// The default of `max.message.bytes`: a log takes no larger batch.
const BATCH_BYTES_MAX: usize = 1_048_588;

pub(crate) struct Host {
    pub(crate) machine: GroupMachine,
    pub(crate) log: Vec<Entry>,
    pub(crate) now_ms: i64,
    /// What every append answers, if not success.
    pub(crate) failure: Option<AppendFailure>,
    pub(crate) config: GroupConfig,
    pub(crate) topics: TopicTable,
    answers: BTreeMap<Token, Reply>,
    /// How many requests there were: what new members' ids are drawn from.
    pub(crate) asked: u64,
    deadline: Option<i64>,
}

impl Host {
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self::with_topics(config, TopicTable::default())
    }

    pub(crate) fn with_topics(config: GroupConfig, topics: TopicTable) -> Self {
        let machine = GroupMachine::new(Arc::new(config.clone()), Arc::new(topics.clone()));
        let mut host = Self {
            machine,
            log: Vec::new(),
            now_ms: 1_000_000,
            failure: None,
            config,
            topics,
            answers: BTreeMap::new(),
            asked: 0,
            deadline: None,
        };
        host.load();
        host
    }

    fn now(&self) -> Now {
        Now::same(self.now_ms)
    }

    /// What is in the log becomes a machine.
    pub(crate) fn replayed(&self, entries: &[Entry]) -> GroupMachine {
        let mut machine = GroupMachine::new(Arc::new(self.config.clone()), Arc::new(self.topics.clone()));
        for entry in entries {
            match entry {
                Entry::Record { record, transaction } => {
                    machine
                        .replay(record.key.clone(), record.value.clone(), *transaction)
                        .expect("what was written can be read");
                }
                Entry::Marker { producer, committed } => {
                    machine.replay_end_of_transaction(*producer, *committed);
                }
            }
        }
        machine
    }

    fn load(&mut self) {
        self.machine = self.replayed(&self.log);
        let effects = self.machine.loaded(self.now());
        self.carry_out(effects);
    }

    /// The process dies and another one starts; nobody who waited hears of it.
    pub(crate) fn restart(&mut self) {
        self.load();
    }

    /// The partition moves: those who wait are told so.
    pub(crate) fn unload(&mut self) -> Vec<(Token, Reply)> {
        let fresh = GroupMachine::new(Arc::new(self.config.clone()), Arc::new(self.topics.clone()));
        let machine = std::mem::replace(&mut self.machine, fresh);
        machine.unload().into_iter().map(|answer| (answer.token, answer.reply)).collect()
    }

    pub(crate) fn send(&mut self, event: Event) -> Token {
        self.asked += 1;
        let token = Token(self.asked);
        let effects = self.machine.handle(event, token, self.now());
        self.carry_out(effects);
        token
    }

    fn carry_out(&mut self, effects: Effects) {
        let appends = !effects.append.is_nothing();
        let append = effects.append.clone();
        self.take(effects);
        if appends {
            let outcome = self.failure.map_or(Ok(()), Err);
            if outcome.is_ok() {
                self.append(append);
            }
            let effects = self.machine.settle(outcome, self.now());
            assert!(effects.append.is_nothing(), "settling asks for no append");
            self.take(effects);
        }
    }

    fn append(&mut self, append: Append) {
        match append {
            Append::Nothing => {}
            Append::Records { records, transaction } => {
                let size =
                    |record: &Record| record.key.len() + record.value.as_ref().map_or(0, |value| value.len());
                let bytes: usize = records.iter().map(size).sum();
                assert!(bytes < BATCH_BYTES_MAX, "{bytes} bytes in one batch");
                let transaction = transaction.map(|(producer, _)| producer);
                self.log.extend(records.into_iter().map(|record| Entry::Record { record, transaction }));
            }
            Append::Marker { producer_id, committed, .. } => {
                self.log.push(Entry::Marker { producer: producer_id, committed });
            }
        }
    }

    fn take(&mut self, effects: Effects) {
        for answer in effects.replies {
            let before = self.answers.insert(answer.token, answer.reply);
            assert!(before.is_none(), "{:?} is answered once", answer.token);
        }
        let machines: Vec<_> = effects.compute.into_iter().map(ottla_coordinator::Compute::run).collect();
        self.deadline = effects.deadline;
        for computed in machines {
            self.send(Event::Computed(computed));
        }
    }

    /// Lets time pass, doing on the way what is due.
    pub(crate) fn advance(&mut self, ms: i64) {
        let end = self.now_ms + ms;
        while let Some(due) = self.deadline.filter(|due| *due <= end) {
            self.now_ms = self.now_ms.max(due);
            let effects = self.machine.tick(self.now());
            self.carry_out(effects);
        }
        self.now_ms = end;
    }

    /// The answer, once.
    pub(crate) fn answer(&mut self, token: Token) -> Option<Reply> {
        self.answers.remove(&token)
    }

    pub(crate) fn ask(&mut self, event: Event) -> Reply {
        let token = self.send(event);
        self.answer(token).expect("it is answered at once")
    }

    pub(crate) fn joined(&mut self, token: Token) -> JoinGroupResponse {
        match self.answer(token) {
            Some(Reply::JoinGroup(response)) => response,
            other => panic!("an answer to JoinGroup, not {other:?}"),
        }
    }

    pub(crate) fn synced(&mut self, token: Token) -> SyncGroupResponse {
        match self.answer(token) {
            Some(Reply::SyncGroup(response)) => response,
            other => panic!("an answer to SyncGroup, not {other:?}"),
        }
    }

    pub(crate) fn waits(&self, token: Token) -> bool {
        !self.answers.contains_key(&token)
    }

    pub(crate) fn join(&mut self, join: Join) -> Token {
        let random = u128::from(self.asked + 1).to_be_bytes();
        self.send(Event::JoinGroup { client: client(join.version), request: join.request(), random })
    }

    pub(crate) fn sync(&mut self, member: &str, generation: i32, assignments: &[(&str, &str)]) -> Token {
        let assignments = assignments.iter().map(|(member, bytes)| SyncGroupRequestAssignment {
            member_id: (*member).into(),
            assignment: Bytes::copy_from_slice(bytes.as_bytes()),
        });
        let request = SyncGroupRequest {
            group_id: GROUP.into(),
            generation_id: generation,
            member_id: member.into(),
            group_instance_id: None,
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            assignments: assignments.collect(),
        };
        self.send(Event::SyncGroup { client: client(5), request })
    }

    pub(crate) fn heartbeat(&mut self, member: &str, instance: Option<&str>, generation: i32) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: GROUP.into(),
            generation_id: generation,
            member_id: member.into(),
            group_instance_id: instance.map(CompactString::from),
        };
        match self.ask(Event::Heartbeat { client: client(4), request }) {
            Reply::Heartbeat(response) => response.error_code,
            other => panic!("an answer to Heartbeat, not {other:?}"),
        }
    }

    pub(crate) fn leave(&mut self, members: &[(&str, Option<&str>)]) -> LeaveGroupResponse {
        let members = members.iter().map(|(member, instance)| MemberIdentity {
            member_id: (*member).into(),
            group_instance_id: instance.map(CompactString::from),
            reason: None,
        });
        let request = LeaveGroupRequest {
            group_id: GROUP.into(),
            member_id: CompactString::default(),
            members: members.collect(),
        };
        match self.ask(Event::LeaveGroup { client: client(5), request }) {
            Reply::LeaveGroup(response) => response,
            other => panic!("an answer to LeaveGroup, not {other:?}"),
        }
    }

    /// The state of the group as tools see it.
    pub(crate) fn state(&self) -> &'static str {
        let id = GroupId::from(GROUP);
        self.machine.groups().find(|group| *group.id == id).map_or("Dead", |group| group.state)
    }

    /// Joins as a new dynamic member would: asks for an id, then comes back with it.
    pub(crate) fn join_anew(&mut self) -> (CompactString, Token) {
        let token = self.join(Join::new());
        let id = self.joined(token).member_id;
        let token = self.join(Join { member: id.clone(), ..Join::new() });
        (id, token)
    }

    /// A stable group of so many members, the first one leading; each is assigned its number.
    pub(crate) fn stable(&mut self, members: usize) -> (Vec<CompactString>, i32) {
        let joins: Vec<_> = (0..members).map(|_| self.join_anew()).collect();
        while joins.iter().any(|(_, token)| self.waits(*token)) {
            self.advance(100);
        }
        let ids: Vec<CompactString> = joins.iter().map(|(id, _)| id.clone()).collect();
        let joined: Vec<_> = joins.iter().map(|(_, token)| self.joined(*token)).collect();
        let generation = joined[0].generation_id;
        let leader = joined[0].leader.clone();
        self.sync_all(&ids, &leader, generation);
        assert_eq!(self.state(), "Stable");
        (ids, generation)
    }

    pub(crate) fn sync_all(&mut self, ids: &[CompactString], leader: &str, generation: i32) {
        let numbers: Vec<String> = (0..ids.len()).map(|number| number.to_string()).collect();
        let assignments: Vec<_> =
            ids.iter().zip(&numbers).map(|(id, number)| (id.as_str(), number.as_str())).collect();
        let followers: Vec<_> =
            ids.iter().filter(|id| *id != leader).map(|id| self.sync(id, generation, &[])).collect();
        let token = self.sync(leader, generation, &assignments);
        assert!(self.synced(token).error_code.is_none());
        for token in followers {
            assert!(self.synced(token).error_code.is_none());
        }
    }
}

/// The group of most tests.
pub(crate) const GROUP: &str = "g";

pub(crate) fn client(version: i16) -> Client {
    Client { id: "c".into(), host: "/127.0.0.1".into(), version }
}

/// A JoinGroup; the defaults are a new dynamic member's.
#[derive(Debug, Clone)]
pub(crate) struct Join {
    pub(crate) version: i16,
    pub(crate) member: CompactString,
    pub(crate) instance: Option<CompactString>,
    pub(crate) kind: CompactString,
    pub(crate) protocols: Vec<(&'static str, &'static str)>,
    pub(crate) session_ms: i32,
    pub(crate) rebalance_ms: i32,
}

impl Join {
    pub(crate) fn new() -> Self {
        Self {
            version: 9,
            member: CompactString::default(),
            instance: None,
            kind: "consumer".into(),
            protocols: vec![("range", "m")],
            session_ms: 10_000,
            rebalance_ms: 60_000,
        }
    }

    fn request(self) -> JoinGroupRequest {
        let protocols = self.protocols.iter().map(|(name, metadata)| JoinGroupRequestProtocol {
            name: (*name).into(),
            metadata: Bytes::from_static(metadata.as_bytes()),
        });
        JoinGroupRequest {
            group_id: GROUP.into(),
            session_timeout_ms: self.session_ms,
            rebalance_timeout_ms: self.rebalance_ms,
            member_id: self.member,
            group_instance_id: self.instance,
            protocol_type: self.kind,
            protocols: protocols.collect(),
            reason: None,
        }
    }
}

/// Kafka's defaults.
pub(crate) fn defaults() -> GroupConfig {
    GroupConfig::default()
}
