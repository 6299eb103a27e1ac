//! kill -9 at random times while an idempotent producer writes four partitions, and a last batch that was written only
//! in part. Nothing that was acknowledged may be lost or doubled.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::compat::node::{Kind, Node};
use crate::compat::session::Session;

const TOPIC: &str = "killed";
const PARTITIONS: u32 = 4;
const ROUNDS: u32 = 20;
/// The broker dies between the two, counted from the start of each round's writing.
const LIFE_MIN_MS: u64 = 40;
const LIFE_SPAN_MS: u64 = 600;

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let mut node = session.start("broker", &[])?;
    session.create_topic(&node, TOPIC, PARTITIONS, &[])?;
    let mut producer = KilledProducer::start(session, &node)?;
    let mut random = Random::from_the_clock();
    let mut sums = Sums::default();
    for _ in 0..ROUNDS {
        producer.say("write")?;
        std::thread::sleep(Duration::from_millis(LIFE_MIN_MS + random.below(LIFE_SPAN_MS)));
        node.kill()?;
        node.start(session.peers)?;
        producer.say("settle")?;
        sums.add(&producer.counts()?);
    }
    producer.end()?;
    println!("compat kill: {} records acknowledged and {} read in {ROUNDS} rounds", sums.acked, sums.read);
    session.records += sums.read;
    session.claim("something was acknowledged in the rounds", sums.acked > u64::from(ROUNDS));
    session.answer("after all rounds", &sums.shown());
    torn_batch(session, &mut node)?;
    node.stop()
}

/// Cuts the end of the last batch off a log whose broker was killed: what a machine that lost power may leave.
fn torn_batch(session: &mut Session<'_>, node: &mut Node) -> Result<()> {
    const RECORDS: u64 = 10;
    const CUT_BYTES: u64 = 7;
    session.create_topic(node, "torn", 1, &[])?;
    let log = node.data().join("torn-0/00000000000000000000.log");
    for number in 0..RECORDS {
        let mut command = session.peers.python("append.py");
        session.expect_success(command.args([
            node.address().as_str(),
            "torn",
            &format!("record {number}"),
        ]))?;
    }
    let sizes = batch_sizes(&std::fs::read(&log)?)?;
    let last_at: u64 = sizes[..sizes.len() - 1].iter().sum();
    node.kill()?;
    let file = OpenOptions::new().write(true).open(&log)?;
    file.set_len(file.metadata()?.len() - CUT_BYTES)?;
    let mark = node.mark();
    node.start(session.peers)?;

    let mut read = session.peers.python("read_all.py");
    let left = session.expect_success(read.args([node.address().as_str(), "torn"]))?;
    session.records += left.lines().count() as u64;
    session.answer("what a torn last batch leaves", &left);
    // Kafka names the offset at which it cuts, we the position in the file as well.
    let wanted = match session.kind {
        Kind::Ottla => last_at,
        Kind::Kafka => RECORDS - 1,
    };
    let told =
        node.said_since(mark).lines().any(|line| line.contains("torn-0") && holds_number(line, wanted));
    session.claim(format!("the broker says that it cuts torn-0 at {wanted}"), told);
    let mut command = session.peers.python("append.py");
    let offset = session.expect_success(command.args([node.address().as_str(), "torn", "after"]))?;
    session.answer("the offset of the next record", &offset);
    Ok(())
}

/// The lengths of the batches in a log file.
fn batch_sizes(log: &[u8]) -> Result<Vec<u64>> {
    const LENGTH_AT: usize = 8;
    const HEAD: usize = 12;
    let mut sizes = Vec::new();
    let mut rest = log;
    while rest.len() >= HEAD {
        let length = u32::from_be_bytes(rest[LENGTH_AT..HEAD].try_into()?);
        let size = usize::try_from(length)? + HEAD;
        rest = rest.get(size..).context("a batch runs over the end of its log")?;
        sizes.push(size as u64);
    }
    if sizes.len() < 2 {
        bail!("{} batches are too few to tear one", sizes.len());
    }
    Ok(sizes)
}

/// Whether the number stands in the line, and not as part of a longer one.
fn holds_number(line: &str, number: u64) -> bool {
    line.split(|c: char| !c.is_ascii_digit()).any(|word| word == number.to_string())
}

/// What the rounds came to.
#[derive(Default)]
struct Sums {
    acked: u64,
    read: u64,
    unanswered: u64,
    refused: u64,
    lost: u64,
    doubled: u64,
    moved: u64,
    disorder: u64,
}

impl Sums {
    fn add(&mut self, counts: &Value) {
        let count = |name: &str| counts[name].as_u64().unwrap_or(u64::MAX / 2);
        self.acked += count("acked");
        self.read += count("read");
        self.unanswered += count("unanswered");
        self.refused += count("refused");
        self.lost += count("lost");
        self.doubled += count("doubled");
        self.moved += count("moved");
        self.disorder += count("disorder");
    }

    fn shown(&self) -> String {
        format!(
            "without an answer: {}\nrefused: {}\nacknowledged and lost: {}\ndoubled: {}\n\
             not where it was acknowledged: {}\nout of order: {}",
            self.unanswered, self.refused, self.lost, self.doubled, self.moved, self.disorder
        )
    }
}

/// The running killed_producer.py.
struct KilledProducer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl KilledProducer {
    fn start(session: &Session<'_>, node: &Node) -> Result<Self> {
        let mut command = session.peers.python("killed_producer.py");
        command.args([node.address(), TOPIC.to_owned(), PARTITIONS.to_string()]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("killed_producer.py")?;
        let stdout = BufReader::new(child.stdout.take().context("a piped stdout")?);
        Ok(Self { stdin: child.stdin.take(), stdout, child })
    }

    fn say(&mut self, word: &str) -> Result<()> {
        writeln!(self.stdin.as_mut().context("a piped stdin")?, "{word}")
            .context("killed_producer.py has ended")
    }

    /// The counts of a round.
    fn counts(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let counts: Value =
            serde_json::from_str(&line).with_context(|| format!("killed_producer.py answered `{line}`"))?;
        for wrong in ["unanswered", "refused", "lost", "doubled", "moved", "disorder"] {
            if counts[wrong] != 0 {
                println!("compat kill: a round went wrong: {}", line.trim());
                break;
            }
        }
        Ok(counts)
    }

    fn end(mut self) -> Result<()> {
        drop(self.stdin.take());
        let status = self.child.wait()?;
        if !status.success() {
            bail!("killed_producer.py ended with {status}");
        }
        Ok(())
    }
}

impl Drop for KilledProducer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A small generator whose seed is printed.
struct Random(u64);

impl Random {
    fn from_the_clock() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = u64::from(since.subsec_nanos()) | 1;
        println!("compat kill: seed {seed}");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        // Marsaglia's xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
