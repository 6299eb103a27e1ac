//! Consumer groups, as each foreign client forms them: three members join and split the partitions, one is killed, one
//! leaves, one is added, all the while records are written; static members come back without anybody noticing. Every
//! partition is somebody's in the end, no record is lost, and none comes again after its commit was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::compat::peers::{Launch, Program};
use crate::compat::session::Session;
use crate::process;

const PARTITIONS: u32 = 6;
/// A killed member is noticed after its session time-out; the new protocol's default is 45 s, so the broker is given less.
const PROPERTIES: &[(&str, &str)] = &[
    ("group.initial.rebalance.delay.ms", "500"),
    ("group.consumer.min.session.timeout.ms", "5000"),
    ("group.consumer.session.timeout.ms", "6000"),
    ("group.consumer.min.heartbeat.interval.ms", "500"),
    ("group.consumer.heartbeat.interval.ms", "500"),
    ("offsets.topic.num.partitions", "5"),
    ("offsets.topic.replication.factor", "1"),
];
/// Far above what any step takes, the slowest client on a busy machine included.
const STEP_TIME_MAX: Duration = Duration::from_secs(120);
/// Most of the time is spent waiting for time-outs, so several clients go at once.
const VARIANTS_AT_ONCE: usize = 3;

/// A client and a group protocol.
struct Variant {
    name: &'static str,
    program: Program,
    protocol: &'static str,
    has_static_members: bool,
}

const fn classic(name: &'static str, program: Program, has_static_members: bool) -> Variant {
    Variant { name, program, protocol: "classic", has_static_members }
}

const fn consumer(name: &'static str, program: Program) -> Variant {
    Variant { name, program, protocol: "consumer", has_static_members: true }
}

const VARIANTS: &[Variant] = &[
    classic("java-classic", Program::Java("GroupMember"), true),
    classic("librdkafka-classic", Program::Python("member.py"), true),
    classic("kafkajs-classic", Program::Node("member.mjs"), false),
    consumer("java-consumer", Program::Java("GroupMember")),
    consumer("librdkafka-consumer", Program::Python("member.py")),
    classic("kafka-python-classic", Program::Python("member_kafka_python.py"), false),
    classic("franz-go-classic", Program::Go("member"), true),
    consumer("franz-go-consumer", Program::Go("member")),
    classic("aiokafka-classic", Program::Python("member_aiokafka.py"), false),
];

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let mut node = session.start("broker", PROPERTIES)?;
    for variants in VARIANTS.chunks(VARIANTS_AT_ONCE) {
        let mut walks = Vec::new();
        for variant in variants {
            session.create_topic(&node, variant.name, PARTITIONS, &[])?;
            walks.push(Walk {
                variant,
                address: node.address(),
                member: session.peers.launch(variant.program),
                feeder: session.peers.launch(Program::Python("feeder.py")),
                steps: Vec::new(),
                records: 0,
            });
        }
        std::thread::scope(|scope| {
            let running: Vec<_> = walks.iter_mut().map(|walk| scope.spawn(|| walk.run())).collect();
            running.into_iter().try_for_each(|walk| walk.join().expect("a walk does not panic"))
        })?;
        for walk in walks {
            session.records += walk.records;
            session.answer(walk.variant.name, &walk.steps.join("\n"));
        }
    }
    node.stop()
}

/// One client's way through the steps.
struct Walk {
    variant: &'static Variant,
    address: String,
    member: Launch,
    feeder: Launch,
    steps: Vec<String>,
    records: u64,
}

impl Walk {
    fn run(&mut self) -> Result<()> {
        self.members_come_and_go()
            .with_context(|| format!("{}, as members come and go", self.variant.name))?;
        if self.variant.has_static_members {
            self.static_member_returns()
                .with_context(|| format!("{}, as a static member returns", self.variant.name))?;
        }
        Ok(())
    }

    fn members_come_and_go(&mut self) -> Result<()> {
        let seen = Seen::shared();
        let feeder = self.start_feeder()?;
        let first = self.start("first", "group", None, &seen)?;
        self.step("one joins", &seen, &[("first", 6)])?;
        let second = self.start("second", "group", None, &seen)?;
        let third = self.start("third", "group", None, &seen)?;
        self.step("three share", &seen, &[("first", 2), ("second", 2), ("third", 2)])?;
        third.kill()?;
        self.step("one is killed", &seen, &[("first", 3), ("second", 3)])?;
        second.leave()?;
        self.step("one leaves", &seen, &[("first", 6)])?;
        let fourth = self.start("fourth", "group", None, &seen)?;
        self.step("one is added", &seen, &[("first", 3), ("fourth", 3)])?;
        let written = feeder.finish()?;
        let done = || Ok(lock(&seen).committed == written);
        if !process::wait_until(STEP_TIME_MAX, done)? {
            bail!("written {written:?}, committed only {:?}", lock(&seen).committed);
        }
        first.leave()?;
        fourth.leave()?;
        let seen = lock(&seen);
        let lost: u64 = written.iter().map(|(partition, count)| count - seen.distinct(*partition)).sum();
        self.records += written.values().sum::<u64>();
        self.steps.push(format!("lost: {lost}"));
        self.steps.push(format!("again after their commit: {}", seen.again));
        Ok(())
    }

    /// A member with an instance id ends and comes back: it has what it had, and the other one never noticed.
    fn static_member_returns(&mut self) -> Result<()> {
        let seen = Seen::shared();
        let one = self.start("one", "static", Some("one"), &seen)?;
        let two = self.start("two", "static", Some("two"), &seen)?;
        let halves = [("one", 3), ("two", 3)];
        self.step("two static members share", &seen, &halves)?;
        let before = lock(&seen).forget("one", "two");
        one.leave()?;
        // Some clients tell that they have nothing left.
        lock(&seen).forget("one", "two");
        let one = self.start("one", "static", Some("one"), &seen)?;
        self.step("one of them returns", &seen, &halves)?;
        let after = lock(&seen).forget("one", "two");
        self.steps.push(format!("it has what it had, unnoticed: {}", before == after));
        one.leave()?;
        two.leave()
    }

    /// Waits until these members, and they alone, have so many partitions each, and together each partition once.
    fn step(&mut self, name: &str, seen: &Arc<Mutex<Seen>>, wanted: &[(&str, usize)]) -> Result<()> {
        let members: BTreeSet<&str> = wanted.iter().map(|(member, _)| *member).collect();
        let mut last = Vec::new();
        let settled = process::wait_until(STEP_TIME_MAX, || {
            let seen = lock(seen);
            let has: Vec<&BTreeSet<u32>> =
                members.iter().map(|member| seen.has.get(*member)).collect::<Option<_>>().unwrap_or_default();
            let all: BTreeSet<u32> = has.iter().flat_map(|owned| owned.iter().copied()).collect();
            last = has.iter().map(|owned| owned.len()).collect();
            let mut counts: Vec<usize> = wanted.iter().map(|(_, count)| *count).collect();
            let mut found = last.clone();
            counts.sort_unstable();
            found.sort_unstable();
            Ok(found == counts && all.len() == PARTITIONS as usize)
        })?;
        if !settled {
            bail!("`{name}` never came about; partitions of {members:?} at last: {last:?}");
        }
        let counts: Vec<String> = wanted.iter().map(|(_, count)| count.to_string()).collect();
        self.steps.push(format!("{name}: {}", counts.join(" ")));
        Ok(())
    }

    fn start(
        &self,
        name: &'static str,
        group: &str,
        instance: Option<&str>,
        seen: &Arc<Mutex<Seen>>,
    ) -> Result<Member> {
        let mut command = self.member.command();
        command
            .arg(&self.address)
            .arg(format!("{}-{group}", self.variant.name))
            .args([self.variant.name, self.variant.protocol])
            .args(instance)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("member {name} does not start"))?;
        let stdout = child.stdout.take().context("a piped stdout")?;
        let stderr = child.stderr.take().context("a piped stderr")?;
        let stdin = child.stdin.take();
        let seen = Arc::clone(seen);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
                lock(&seen).note(name, &line);
            }
        });
        let complaints = std::thread::spawn(move || {
            let mut text = String::new();
            // What cannot be read is no complaint.
            let _ = BufReader::new(stderr).read_to_string(&mut text);
            text
        });
        Ok(Member { name, child, stdin, reader: Some(reader), complaints: Some(complaints) })
    }

    fn start_feeder(&self) -> Result<Feeder> {
        let mut command = self.feeder.command();
        command.args([&self.address, self.variant.name, &PARTITIONS.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("feeder.py does not start")?;
        let stdin = child.stdin.take();
        Ok(Feeder { child, stdin })
    }
}

/// What the members of a group have said, in the order in which it was read.
#[derive(Debug, Default)]
struct Seen {
    has: BTreeMap<&'static str, BTreeSet<u32>>,
    /// How often a member's partitions became others.
    changes: BTreeMap<&'static str, u32>,
    got: BTreeMap<u32, BTreeSet<u64>>,
    /// Up to where a commit of a partition was acknowledged.
    committed: BTreeMap<u32, u64>,
    /// How many records came below their partition's commit.
    again: u64,
}

impl Seen {
    fn shared() -> Arc<Mutex<Self>> {
        Arc::default()
    }

    fn note(&mut self, member: &'static str, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let partition = number(1).and_then(|partition| u32::try_from(partition).ok());
        match (words.first().copied(), partition, number(2)) {
            (Some("has"), ..) => {
                let list = words.get(1).copied().unwrap_or_default();
                let owned: BTreeSet<u32> = list.split(',').filter_map(|word| word.parse().ok()).collect();
                if self.has.get(member) != Some(&owned) {
                    *self.changes.entry(member).or_default() += 1;
                }
                self.has.insert(member, owned);
            }
            (Some("got"), Some(partition), Some(offset)) => {
                self.got.entry(partition).or_default().insert(offset);
                self.again += u64::from(self.committed.get(&partition).is_some_and(|next| offset < *next));
            }
            (Some("committed"), Some(partition), Some(next)) => {
                let committed = self.committed.entry(partition).or_default();
                *committed = next.max(*committed);
            }
            _ => {}
        }
    }

    /// Forgets what a member has; tells it, and how often the other one's partitions have changed.
    fn forget(&mut self, member: &str, other: &str) -> (Option<BTreeSet<u32>>, Option<u32>) {
        (self.has.remove(member), self.changes.get(other).copied())
    }

    /// How many of a partition's records somebody got.
    fn distinct(&self, partition: u32) -> u64 {
        self.got.get(&partition).map_or(0, |offsets| offsets.len() as u64)
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running member.
struct Member {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    complaints: Option<JoinHandle<String>>,
}

impl Member {
    /// Lets it leave in good order.
    fn leave(mut self) -> Result<()> {
        drop(self.stdin.take());
        let status = process::wait(&mut self.child, STEP_TIME_MAX);
        self.drain();
        let complaints = self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let status = status.with_context(|| format!("{} does not leave:\n{complaints}", self.name))?;
        if !status.success() {
            bail!("{} left with {status}:\n{complaints}", self.name);
        }
        Ok(())
    }

    fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.drain();
        Ok(())
    }

    /// Reads what it still had to say.
    fn drain(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The running feeder.py.
struct Feeder {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Feeder {
    /// Ends the writing; how many records each partition has.
    fn finish(mut self) -> Result<BTreeMap<u32, u64>> {
        drop(self.stdin.take());
        let mut text = String::new();
        self.child.stdout.take().context("a piped stdout")?.read_to_string(&mut text)?;
        let status = process::wait(&mut self.child, STEP_TIME_MAX)?;
        if !status.success() {
            bail!("feeder.py ended with {status}");
        }
        let count = |line: &str| {
            let (partition, count) = line.split_once(' ')?;
            Some((partition.parse().ok()?, count.parse().ok()?))
        };
        text.lines().map(count).collect::<Option<_>>().with_context(|| format!("feeder.py said {text}"))
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
