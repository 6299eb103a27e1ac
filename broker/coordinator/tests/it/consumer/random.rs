//! Random lives of groups, beside what the protocol promises: no partition is held by two members, whoever is in the group
//! has no more than the coordinator knows, the log is the state, every request is answered, and in the end, when all
//! heartbeat, every partition of every topic that somebody wants is somebody's. Seeds are printed by what fails.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use compact_str::CompactString;
use ottla_coordinator::{
    AppendFailure, Client, Event, GroupConfig, GroupMachine, MigrationPolicy, Now, Reply, Token,
};
use ottla_model::{ErrorCode, TopicName, Uuid};
use ottla_protocol::messages::consumer_group_describe::{Assignment, DescribedGroup};
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use super::classic::ClassicConsumer;
use super::world::{Consumer, GROUP, Has, World, has};

const TOPICS: [&str; 4] = ["a-1", "a-2", "b-1", "b-2"];
const REGEXES: [&str; 3] = ["a-.*", ".*-1", "nothing"];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(bits).expect("31 bits") % end
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Clients and what they believe.
struct Life {
    random: Random,
    world: World,
    consumers: Vec<Consumer>,
    classics: Vec<ClassicConsumer>,
    /// Those whose last request was not answered, or not with success: they say everything anew, as clients do.
    unheard: BTreeSet<usize>,
    topics: BTreeMap<&'static str, (Uuid, i32)>,
    ids: usize,
    steps: usize,
    context: String,
}

impl Life {
    fn new(seed: u64, mixed: bool) -> Self {
        let mut config = GroupConfig::default();
        config.classic.initial_rebalance_delay = Duration::ZERO;
        config.consumer.migration = MigrationPolicy::Upgrade;
        config.consumer.assignment_interval =
            Duration::from_millis(if seed.is_multiple_of(3) { 1000 } else { 0 });
        let world = World::with(config);
        let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let classics = if mixed { 2 } else { 0 };
        let mut life = Self {
            random,
            world,
            consumers: Vec::new(),
            classics: (0..classics).map(|_| ClassicConsumer::new(&["a-1", "b-1"])).collect(),
            unheard: BTreeSet::new(),
            topics: BTreeMap::new(),
            ids: 0,
            steps: 0,
            context: format!("seed {seed}, mixed {mixed}"),
        };
        for place in 0..4 {
            let consumer = life.newcomer(place);
            life.consumers.push(consumer);
        }
        life
    }

    fn newcomer(&mut self, place: usize) -> Consumer {
        self.ids += 1;
        let id = format!("m{}", self.ids);
        let topics = self.subscription();
        let mut consumer = Consumer::new(&id, &topics);
        if place == 0 {
            consumer.instance = Some("one".into());
        }
        if self.random.one_in(4) {
            consumer.regex = Some((*self.random.pick(&REGEXES)).into());
        }
        consumer
    }

    fn subscription(&mut self) -> Vec<&'static str> {
        TOPICS.into_iter().filter(|_| !self.random.one_in(3)).collect()
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0 => self.change_topics(),
            1 => self.world.failures.push_back(Some(AppendFailure::Unavailable)),
            2 => self.world.restart(),
            3 => {
                let ms = [100, 1_000, 11_000, 44_000][self.random.below(4)];
                self.world.pass(ms);
            }
            4 => self.world.eager = !self.world.eager,
            5 => self.world.compute(),
            6 => self.leave(),
            7 => self.change_subscription(),
            8..=11 if !self.classics.is_empty() => self.classic(),
            _ => self.beat(),
        }
        self.check();
    }

    fn change_topics(&mut self) {
        let name = *self.random.pick(&TOPICS);
        match self.topics.get(name).copied() {
            None => {
                let count = 1 + i32::try_from(self.random.below(4)).expect("small");
                let id = self.world.topic(name, count);
                self.topics.insert(name, (id, count));
            }
            Some((id, count)) if count < 8 && !self.random.one_in(3) => {
                self.world.grow(name, id, count + 1);
                self.topics.insert(name, (id, count + 1));
            }
            Some(_) => {
                self.world.delete(name);
                self.topics.remove(name);
            }
        }
    }

    fn beat(&mut self) {
        let place = self.random.below(self.consumers.len());
        let mut consumer = self.consumers[place].clone();
        let request = match consumer.epoch {
            0 => consumer.whole(),
            _ if self.unheard.contains(&place) => consumer.whole(),
            _ if self.random.one_in(3) => consumer.alive(),
            _ => consumer.owning(),
        };
        let token = self.world.send(request, 1);
        self.unheard.insert(place);
        let Some(answer) = self.reply(token) else { return };
        // An answer may be lost on its way.
        if !self.random.one_in(8) {
            self.take(&mut consumer, place, &answer);
        }
    }

    fn take(
        &mut self,
        consumer: &mut Consumer,
        place: usize,
        answer: &ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse,
    ) {
        match answer.error_code {
            ErrorCode::NONE => {
                self.unheard.remove(&place);
                consumer.epoch = answer.member_epoch;
                if let Some(assignment) = &answer.assignment {
                    consumer.has = has(&assignment.topic_partitions);
                }
            }
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::GROUP_ID_NOT_FOUND => {
                consumer.epoch = 0;
                consumer.has.clear();
            }
            ErrorCode::COORDINATOR_NOT_AVAILABLE => {}
            // Its join has counted, and the answer was lost: it comes back as another when it has paused.
            ErrorCode::UNRELEASED_INSTANCE_ID | ErrorCode::FENCED_INSTANCE_ID => {
                *consumer = self.newcomer(place);
            }
            other => panic!("{}: {other}", self.context),
        }
        self.consumers[place] = consumer.clone();
    }

    /// The answer, or none while it waits for the pool; then its client hears nothing.
    fn reply(
        &self,
        token: Token,
    ) -> Option<ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse> {
        match self.world.answers.get(&token) {
            Some((Reply::ConsumerGroupHeartbeat(response), _)) => Some(response.clone()),
            Some(other) => panic!("{}: {other:?}", self.context),
            None => None,
        }
    }

    fn leave(&mut self) {
        let place = self.random.below(self.consumers.len());
        let consumer = self.consumers[place].clone();
        if consumer.epoch <= 0 {
            return;
        }
        let epoch = if consumer.instance.is_some() && !self.random.one_in(3) { -2 } else { -1 };
        let request = ConsumerGroupHeartbeatRequest { member_epoch: epoch, ..consumer.alive() };
        let token = self.world.send(request, 1);
        let left = self.reply(token).is_some_and(|answer| answer.error_code == ErrorCode::NONE);
        if left {
            let newcomer = self.newcomer(place);
            self.consumers[place] = newcomer;
        }
    }

    fn change_subscription(&mut self) {
        let place = self.random.below(self.consumers.len());
        let topics = self.subscription();
        let regex = match self.random.below(3) {
            0 => Some(CompactString::from(*self.random.pick(&REGEXES))),
            _ => Some(CompactString::default()),
        };
        let mut consumer = self.consumers[place].clone();
        if consumer.epoch <= 0 {
            return;
        }
        consumer.topics = topics.into_iter().map(TopicName::from).collect();
        consumer.regex = regex;
        self.consumers[place] = consumer.clone();
        let token = self.world.send(consumer.whole(), 1);
        self.unheard.insert(place);
        if let Some(answer) = self.reply(token) {
            self.take(&mut consumer, place, &answer);
        }
    }

    fn classic(&mut self) {
        // Its requests are answered at once, so that the client's walk is one.
        self.world.eager = true;
        self.world.compute();
        let place = self.random.below(self.classics.len());
        let in_consumer_group = self.describe(None).error_code == ErrorCode::NONE;
        let mut classic = self.classics[place].clone();
        if in_consumer_group && !self.describe(None).members.is_empty() {
            classic.live(&mut self.world);
            self.classics[place] = classic;
        }
    }

    /// The group as the machine tells it, or another one.
    fn describe(&mut self, other: Option<GroupMachine>) -> DescribedGroup {
        let client = Client { version: 1, ..Client::default() };
        let event = Event::ConsumerGroupDescribe { client, groups: vec![GROUP.into()] };
        let now = Now::same(self.world.now_ms);
        let effects = match other {
            Some(mut machine) => machine.handle(event, Token(u64::MAX), now),
            None => self.world.machine.handle(event, Token(u64::MAX), now),
        };
        match effects.replies.into_iter().next().map(|answer| answer.reply) {
            Some(Reply::ConsumerGroupDescribe(mut groups)) => groups.pop().expect("one group"),
            other => panic!("{other:?}"),
        }
    }

    fn check(&mut self) {
        let group = self.describe(None);
        let mut holders: BTreeMap<(Uuid, i32), CompactString> = BTreeMap::new();
        for member in &group.members {
            for partition in partitions(&member.assignment) {
                let before = holders.insert(partition, member.member_id.clone());
                assert_eq!(before, None, "{}: {partition:?} is held twice: {group:?}", self.context);
            }
        }
        for consumer in &self.consumers {
            let member = group.members.iter().find(|member| member.member_id == consumer.id);
            // Who has not heard that it was fenced finds out by its epoch.
            let Some(member) = member.filter(|member| consumer.epoch == member.member_epoch) else {
                continue;
            };
            let held: BTreeSet<_> = partitions(&member.assignment).collect();
            for partition in all(&consumer.has).filter(|(topic, _)| self.exists(topic)) {
                assert!(
                    held.contains(&partition),
                    "{}: {} has {partition:?}, {group:?}",
                    self.context,
                    consumer.id
                );
            }
        }
        // Replaying is most of the work here: every few steps will do.
        self.steps += 1;
        if !self.steps.is_multiple_of(8) {
            return;
        }
        let replayed = self.world.replayed(self.world.log.len());
        assert_eq!(self.describe(Some(replayed)), group, "{}: the log is not the state", self.context);
    }

    fn exists(&self, topic: &Uuid) -> bool {
        self.topics.values().any(|(id, _)| id == topic)
    }

    /// All heartbeat in good order: everything is somebody's in the end.
    fn end(&mut self) {
        self.world.eager = true;
        self.world.failures.clear();
        self.world.compute();
        for round in 0..60 {
            for place in 0..self.consumers.len() {
                let mut consumer = self.consumers[place].clone();
                let is_whole = consumer.epoch <= 0 || self.unheard.contains(&place);
                let request = if is_whole { consumer.whole() } else { consumer.owning() };
                let token = self.world.send(request, 1);
                let answer = self.reply(token).expect("an answer at once");
                self.take(&mut consumer, place, &answer);
            }
            for place in 0..self.classics.len() {
                let mut classic = self.classics[place].clone();
                classic.live(&mut self.world);
                self.classics[place] = classic;
            }
            self.check();
            self.world.pass(if round % 2 == 0 { 1_000 } else { 4_000 });
        }
        let group = self.describe(None);
        assert_eq!(group.group_state, "Stable", "{}: {group:?}", self.context);
        let mut owned: BTreeMap<(Uuid, i32), usize> = BTreeMap::new();
        let classics = self.classics.iter().flat_map(|classic| all(&classic.has));
        for partition in self.consumers.iter().flat_map(|consumer| all(&consumer.has)).chain(classics) {
            *owned.entry(partition).or_default() += 1;
        }
        let wanted: BTreeSet<(Uuid, i32)> = self
            .topics
            .iter()
            .filter(|(name, _)| self.is_wanted(name))
            .flat_map(|(_, (id, count))| (0..*count).map(|number| (*id, number)))
            .collect();
        let expected: BTreeMap<(Uuid, i32), usize> =
            wanted.into_iter().map(|partition| (partition, 1)).collect();
        assert_eq!(owned, expected, "{}: {group:?}", self.context);
        for token in &self.world.asked {
            assert!(self.world.answers.contains_key(token), "{}: {token:?} has no answer", self.context);
        }
    }

    fn is_wanted(&self, name: &str) -> bool {
        let matches = |regex: &str| match regex {
            "a-.*" => name.starts_with("a-"),
            ".*-1" => name.ends_with("-1"),
            _ => false,
        };
        let by_name = |topics: &[TopicName]| topics.iter().any(|topic| topic.as_str() == name);
        self.consumers
            .iter()
            .any(|consumer| by_name(&consumer.topics) || consumer.regex.as_deref().is_some_and(matches))
            || self.classics.iter().any(|classic| by_name(&classic.topics))
    }
}

fn partitions(assignment: &Assignment) -> impl Iterator<Item = (Uuid, i32)> + '_ {
    assignment
        .topic_partitions
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(move |partition| (topic.topic_id, partition.get())))
}

fn all(has: &Has) -> impl Iterator<Item = (Uuid, i32)> + '_ {
    has.iter().flat_map(|(topic, numbers)| numbers.iter().map(move |number| (*topic, *number)))
}

#[test]
fn whatever_happens_to_a_group_no_partition_has_two_owners_and_in_the_end_each_has_one() {
    for seed in 1..=36 {
        let mut life = Life::new(seed, false);
        for _ in 0..120 {
            life.step();
        }
        life.end();
    }
}

#[test]
fn the_same_holds_where_members_of_both_protocols_are_in_the_group() {
    for seed in 1..=24 {
        let mut life = Life::new(seed, true);
        for _ in 0..120 {
            life.step();
        }
        life.end();
    }
}

#[test]
fn a_log_that_ends_at_any_record_makes_a_group_that_comes_to_rest() {
    let mut life = Life::new(7, false);
    for _ in 0..80 {
        life.step();
    }
    let records: Vec<_> = life.world.log.iter().flatten().cloned().collect();
    for end in 0..=records.len() {
        let mut again = Life::new(7, false);
        again.topics = life.topics.clone();
        for (name, (id, count)) in &life.topics {
            again.world.topics.insert(*name, *id, *count);
        }
        // A torn batch is no batch for a real log; here each record stands alone, which is worse.
        again.world.log = records[..end].iter().map(|record| vec![record.clone()]).collect();
        again.world.restart();
        again.consumers = (0..3).map(|place| again.newcomer(place + 1)).collect();
        for consumer in &mut again.consumers {
            consumer.id = format!("late-{}", consumer.id).into();
        }
        again.context = format!("cut at record {end}");
        // Whoever was in the group has gone: a session and a rebalance later only the new ones are.
        again.world.pass(120_000);
        again.end();
    }
}

#[test]
fn after_a_crash_at_each_batch_members_find_back_to_where_every_partition_has_one_owner() {
    for (seed, mixed) in [(3, false), (5, false), (11, true)] {
        let mut life = Life::new(seed, mixed);
        let mut moments = Vec::new();
        for _ in 0..80 {
            life.step();
            let clients = (life.consumers.clone(), life.classics.clone(), life.unheard.clone());
            moments.push((life.world.log.len(), clients, life.topics.clone(), life.world.now_ms));
        }
        for end in 0..=life.world.log.len() {
            // Clients know what they had been told when the log was so long, or of no group at all.
            let Some((_, clients, topics, now_ms)) = moments.iter().rev().find(|moment| moment.0 <= end)
            else {
                continue;
            };
            let mut again = Life::new(seed, mixed);
            again.ids = life.ids;
            again.topics = topics.clone();
            for (name, (id, count)) in topics {
                again.world.topics.insert(*name, *id, *count);
            }
            again.world.now_ms = *now_ms;
            again.world.log = life.world.log[..end].to_vec();
            again.world.restart();
            (again.consumers, again.classics, again.unheard) = clients.clone();
            again.context = format!("seed {seed}, crash at batch {end} of {}", life.world.log.len());
            again.end();
        }
    }
}
