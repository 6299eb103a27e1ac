//! A machine with a log, topics and a clock: what a host does, in memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use ottla_coordinator::{
    Append, AppendFailure, Client, Compute, ConsumerConfig, Effects, Event, GroupConfig, GroupMachine,
    Leaves, Now, Record, Reply, Token, TopicTable, Topics as _,
};
use ottla_model::{ErrorCode, PartitionIndex, TopicName, Uuid};
use ottla_protocol::internal::ConsumerOffsetsRecord;
use ottla_protocol::messages::consumer_group_describe::DescribedGroup;
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};

/// Partitions by topic, as a client keeps them.
pub(crate) type Has = BTreeMap<Uuid, BTreeSet<i32>>;

pub(crate) const GROUP: &str = "g";

/// A host in memory. Work for the pool waits until [`World::compute`], unless `eager`.
pub(crate) struct World {
    pub(crate) machine: GroupMachine,
    pub(crate) config: GroupConfig,
    pub(crate) topics: TopicTable,
    pub(crate) now_ms: i64,
    /// What was appended, a batch an entry.
    pub(crate) log: Vec<Vec<Record>>,
    pub(crate) work: VecDeque<Compute>,
    pub(crate) eager: bool,
    /// How the next appends fail.
    pub(crate) failures: VecDeque<Option<AppendFailure>>,
    pub(crate) answers: BTreeMap<Token, (Reply, Leaves)>,
    pub(crate) asked: BTreeSet<Token>,
    pub(crate) deadline: Option<i64>,
    next: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(GroupConfig {
            consumer: ConsumerConfig { assignment_interval: Duration::ZERO, ..ConsumerConfig::default() },
            ..GroupConfig::default()
        })
    }

    pub(crate) fn with(config: GroupConfig) -> Self {
        let topics = TopicTable::default();
        let machine = GroupMachine::new(Arc::new(config.clone()), Arc::new(topics.clone()));
        let mut world = Self {
            machine,
            config,
            topics,
            now_ms: 1_000_000,
            log: Vec::new(),
            work: VecDeque::new(),
            eager: true,
            failures: VecDeque::new(),
            answers: BTreeMap::new(),
            asked: BTreeSet::new(),
            deadline: None,
            next: 0,
        };
        let effects = world.machine.loaded(world.now());
        world.carry_out(effects);
        world
    }

    pub(crate) fn now(&self) -> Now {
        Now::same(self.now_ms)
    }

    pub(crate) fn event(&mut self, event: Event) -> Token {
        self.next += 1;
        let token = Token(self.next);
        if !matches!(event, Event::TopicsChanged { .. } | Event::ConfigChanged { .. } | Event::Computed(_)) {
            self.asked.insert(token);
        }
        let effects = self.machine.handle(event, token, self.now());
        self.carry_out(effects);
        token
    }

    fn carry_out(&mut self, effects: Effects) {
        let mut effects = effects;
        let append = std::mem::take(&mut effects.append);
        self.take(effects);
        if let Append::Records { records, transaction } = append {
            assert_eq!(transaction, None);
            let outcome = match self.failures.pop_front().flatten() {
                Some(failure) => Err(failure),
                None => {
                    self.log.push(records);
                    Ok(())
                }
            };
            let effects = self.machine.settle(outcome, self.now());
            assert!(effects.append.is_nothing(), "an outcome asks for no append");
            self.take(effects);
        }
        if self.eager {
            self.compute();
        }
    }

    fn take(&mut self, effects: Effects) {
        for answer in effects.replies {
            assert!(self.asked.contains(&answer.token), "an answer that nobody waits for: {answer:?}");
            let before = self.answers.insert(answer.token, (answer.reply, answer.leaves));
            assert_eq!(before, None, "a second answer");
        }
        self.work.extend(effects.compute);
        self.deadline = effects.deadline;
    }

    /// The pool does what it has.
    pub(crate) fn compute(&mut self) {
        while let Some(work) = self.work.pop_front() {
            self.event(Event::Computed(work.run()));
        }
    }

    /// Time passes, and what is due happens when it is due.
    pub(crate) fn pass(&mut self, ms: i64) {
        let end = self.now_ms + ms;
        while let Some(due) = self.deadline.filter(|due| *due <= end) {
            self.now_ms = self.now_ms.max(due);
            let effects = self.machine.tick(self.now());
            self.carry_out(effects);
        }
        self.now_ms = end;
    }

    pub(crate) fn topic(&mut self, name: &str, partitions: i32) -> Uuid {
        self.next += 1;
        let id = Uuid::from_bytes((u128::from(self.next) + 1000).to_be_bytes());
        self.topics.insert(name, id, partitions);
        self.topics_changed(name);
        id
    }

    pub(crate) fn grow(&mut self, name: &str, id: Uuid, partitions: i32) {
        self.topics.insert(name, id, partitions);
        self.topics_changed(name);
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.topics.remove(name);
        self.topics_changed(name);
    }

    fn topics_changed(&mut self, name: &str) {
        let topics = Arc::new(self.topics.clone());
        self.event(Event::TopicsChanged { topics, changed: [TopicName::from(name)].into() });
    }

    pub(crate) fn configure(&mut self, change: impl FnOnce(&mut GroupConfig)) {
        change(&mut self.config);
        self.event(Event::ConfigChanged { config: Arc::new(self.config.clone()) });
    }

    /// The broker starts anew on the same log.
    pub(crate) fn restart(&mut self) {
        self.machine = self.replayed(self.log.len());
        self.work.clear();
        self.answers.extend(std::iter::empty());
        self.asked.retain(|token| self.answers.contains_key(token));
        let effects = self.machine.loaded(self.now());
        self.carry_out(effects);
    }

    /// A machine that was given the first batches of the log.
    pub(crate) fn replayed(&self, batches: usize) -> GroupMachine {
        let mut machine = GroupMachine::new(Arc::new(self.config.clone()), Arc::new(self.topics.clone()));
        for record in self.log.iter().take(batches).flatten() {
            machine
                .replay(record.key.clone(), record.value.clone(), None)
                .expect("our own records can be read");
        }
        machine
    }

    /// Sixteen bytes that no other call gives.
    pub(crate) fn random(&mut self) -> [u8; 16] {
        self.next += 1;
        let mut random = [0; 16];
        random[..8].copy_from_slice(&self.next.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        random
    }

    pub(crate) fn topic_id(&self, name: &TopicName) -> Option<Uuid> {
        self.topics.by_name(name.as_str()).map(|topic| topic.id)
    }

    pub(crate) fn topics_by_id(&self, id: &Uuid) -> Option<TopicName> {
        self.topics.by_id(id).map(|topic| topic.name)
    }

    pub(crate) fn send(&mut self, request: ConsumerGroupHeartbeatRequest, version: i16) -> Token {
        let client = Client { id: "client".into(), host: "/127.0.0.1".into(), version };
        let random = self.random();
        self.event(Event::ConsumerGroupHeartbeat { client, request, random, may_describe: None })
    }

    pub(crate) fn answer(&self, token: Token) -> &ConsumerGroupHeartbeatResponse {
        match self.answers.get(&token) {
            Some((Reply::ConsumerGroupHeartbeat(response), _)) => response,
            other => panic!("{token:?} has the answer {other:?}"),
        }
    }

    pub(crate) fn heartbeat(
        &mut self,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse {
        let token = self.send(request, 1);
        self.answer(token).clone()
    }

    pub(crate) fn describe(&mut self) -> DescribedGroup {
        let client = Client { version: 1, ..Client::default() };
        let token = self.event(Event::ConsumerGroupDescribe { client, groups: vec![GROUP.into()] });
        match self.answers.remove(&token) {
            Some((Reply::ConsumerGroupDescribe(mut groups), _)) => groups.pop().expect("one group"),
            other => panic!("{other:?}"),
        }
    }

    /// The types of the records of the last batches, a tombstone with a minus.
    pub(crate) fn types(&self, from: usize) -> Vec<Vec<i16>> {
        let kind = |record: &Record| {
            let kind = i16::from_be_bytes([record.key[0], record.key[1]]);
            if record.value.is_some() { kind } else { -kind }
        };
        self.log.iter().skip(from).map(|batch| batch.iter().map(kind).collect()).collect()
    }

    pub(crate) fn record(&self, batch: usize, place: usize) -> ConsumerOffsetsRecord {
        let record = &self.log[batch][place];
        ConsumerOffsetsRecord::decode(record.key.clone(), record.value.clone()).expect("our own record")
    }
}

/// A member as its client keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Consumer {
    pub(crate) id: CompactString,
    pub(crate) instance: Option<CompactString>,
    pub(crate) epoch: i32,
    pub(crate) topics: Vec<TopicName>,
    pub(crate) regex: Option<CompactString>,
    pub(crate) has: Has,
}

impl Consumer {
    pub(crate) fn new(id: &str, topics: &[&str]) -> Self {
        Self {
            id: id.into(),
            instance: None,
            epoch: 0,
            topics: topics.iter().map(|name| TopicName::from(*name)).collect(),
            regex: None,
            has: Has::new(),
        }
    }

    pub(crate) fn fixed(id: &str, instance: &str, topics: &[&str]) -> Self {
        Self { instance: Some(instance.into()), ..Self::new(id, topics) }
    }

    pub(crate) fn matching(id: &str, regex: &str) -> Self {
        Self { regex: Some(regex.into()), ..Self::new(id, &[]) }
    }

    /// What it sends to join, or to say everything anew.
    pub(crate) fn whole(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest {
            group_id: GROUP.into(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            instance_id: self.instance.clone(),
            rack_id: None,
            rebalance_timeout_ms: 60_000,
            subscribed_topic_names: Some(self.topics.clone()),
            subscribed_topic_regex: self.regex.clone(),
            server_assignor: None,
            topic_partitions: Some(wire(&self.has)),
        }
    }

    /// What it sends to stay.
    pub(crate) fn alive(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest {
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            topic_partitions: None,
            ..self.whole()
        }
    }

    /// What it sends once it has given up or taken up partitions.
    pub(crate) fn owning(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest { topic_partitions: Some(wire(&self.has)), ..self.alive() }
    }

    /// Takes an answer as a client does: it has what it is told, at once.
    pub(crate) fn take(&mut self, answer: &ConsumerGroupHeartbeatResponse) {
        assert_eq!(answer.error_code, ErrorCode::NONE, "{answer:?}");
        self.epoch = answer.member_epoch;
        if let Some(assignment) = &answer.assignment {
            self.has = has(&assignment.topic_partitions);
        }
    }

    /// One heartbeat that says what it has; whether the answer changed anything.
    pub(crate) fn beat(&mut self, world: &mut World) -> bool {
        let request = if self.epoch == 0 { self.whole() } else { self.owning() };
        let answer = world.heartbeat(request);
        let before = (self.epoch, self.has.clone());
        self.take(&answer);
        before != (self.epoch, self.has.clone())
    }

    pub(crate) fn numbers(&self, topic: Uuid) -> Vec<i32> {
        self.has.get(&topic).into_iter().flatten().copied().collect()
    }
}

pub(crate) fn has(topics: &[TopicPartitions]) -> Has {
    let topics = topics
        .iter()
        .map(|topic| (topic.topic_id, topic.partitions.iter().map(|partition| partition.get()).collect()));
    topics.collect()
}

fn wire(has: &Has) -> Vec<TopicPartitions> {
    let topics = has.iter().map(|(topic_id, numbers)| TopicPartitions {
        topic_id: *topic_id,
        partitions: numbers.iter().copied().map(PartitionIndex::new).collect(),
    });
    topics.collect()
}

/// Everybody heartbeats until nothing changes.
pub(crate) fn settle(world: &mut World, members: &mut [&mut Consumer]) {
    for _ in 0..20 {
        let mut changed = false;
        for member in members.iter_mut() {
            changed |= member.beat(world);
        }
        if !changed {
            return;
        }
    }
    panic!("the group does not come to rest");
}
