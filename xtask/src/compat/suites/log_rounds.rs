//! The return trip of a log, three rounds: Apache Kafka writes a directory, our storage takes it over, writes on in it,
//! deletes and compacts, and hands it back. Each side finds exactly what the other one left, whether that was stopped in
//! good order or killed, and Kafka's DumpLogSegments finds nothing to complain of. Our side is a small program over the
//! library: `storage/examples/log_rounds.rs`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::dump_log::{dump, unexpected_lines};
use crate::compat::node::{KEEP_ALL, Kind, Node};
use crate::compat::session::{Session, files_below};
use crate::process;
use crate::workspace::cargo;

const ROUNDS: u32 = 3;
const STOP_TIME_MAX: Duration = Duration::from_secs(60);
/// Nobody but us compacts in between.
const PROPERTIES: &[(&str, &str)] = &[
    ("log.cleaner.min.cleanable.ratio", "1"),
    ("transaction.state.log.num.partitions", "2"),
    ("transaction.state.log.replication.factor", "1"),
    ("transaction.state.log.min.isr", "1"),
];

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    build()?;
    let mut kafka = Node::new(Kind::Kafka, &session.folder.join("kafka"), &[KEEP_ALL, PROPERTIES].concat())?;
    kafka.start(session.peers)?;
    for round in 0..ROUNDS {
        // The middle round is the one in which each side is killed.
        let is_killed = round == 1;
        let mut write = session.peers.python("rounds_write.py");
        session.expect_success(write.args([kafka.address(), round.to_string()]))?;
        let left_by_kafka = read(session, &kafka)?;
        if is_killed {
            kafka.kill()?
        } else {
            kafka.stop()?
        }

        let ours = take_over(session, kafka.data(), round, is_killed)?;
        same(session, &format!("round {round}: what we find"), &left_by_kafka, &ours.before);
        dump_finds_nothing(session, kafka.data(), round)?;
        kafka.start(session.peers)?;
        let found_by_kafka = read(session, &kafka)?;
        same(session, &format!("round {round}: what Kafka finds"), &ours.after, &found_by_kafka);
        session.records += (left_by_kafka.len() + found_by_kafka.len()) as u64;
        session.answer(format!("round {round}"), &counts(&found_by_kafka));
    }
    kafka.stop()
}

/// What our side found and what it left.
#[derive(Default)]
struct Ours {
    before: Vec<String>,
    after: Vec<String>,
}

fn build() -> Result<()> {
    let mut build = cargo();
    build.args(["build", "--locked", "--quiet", "--package", "ottla-storage", "--example", "log_rounds"]);
    process::run(&mut build)
}

fn take_over(session: &Session<'_>, data: &Path, round: u32, is_killed: bool) -> Result<Ours> {
    let program = session.peers.example("log_rounds");
    let mut command = Command::new(program);
    command.arg(data).arg(round.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = Guard(command.spawn().context("log_rounds does not start")?);
    let stdin = child.0.stdin.take();
    let stdout = child.0.stdout.take().context("a piped stdout")?;
    let mut ours = Ours::default();
    let mut is_done = false;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        match line.split_once(' ') {
            // Lines that tell of a whole log are for people.
            Some((_, rest)) if rest.contains(" from ") => {}
            Some(("before", rest)) => ours.before.push(rest.to_owned()),
            Some(("after", rest)) => ours.after.push(rest.to_owned()),
            _ if line == "done" => {
                is_done = true;
                break;
            }
            _ => bail!("log_rounds said `{line}`"),
        }
    }
    if is_killed {
        child.0.kill()?;
        child.0.wait()?;
    } else {
        drop(stdin);
        let status = process::wait(&mut child.0, STOP_TIME_MAX)?;
        if !status.success() {
            bail!("log_rounds ended with {status} in round {round}");
        }
    }
    if !is_done {
        bail!("log_rounds ended before it was done in round {round}");
    }
    Ok(ours)
}

fn read(session: &Session<'_>, node: &Node) -> Result<Vec<String>> {
    let mut command = session.peers.python("rounds_read.py");
    let text = session.expect_success(command.arg(node.address()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Claims that both sides found the same lines, and shows where not.
fn same(session: &mut Session<'_>, what: &str, wanted: &[String], found: &[String]) {
    let (mut wanted, mut found) = (wanted.to_vec(), found.to_vec());
    wanted.sort();
    found.sort();
    for (sign, some, others) in [("missing", &wanted, &found), ("surplus", &found, &wanted)] {
        for line in some.iter().filter(|line| others.binary_search(line).is_err()).take(5) {
            println!("{what}: {sign} | {line}");
        }
    }
    session.claim(format!("{what} is what was left"), wanted == found);
}

fn dump_finds_nothing(session: &mut Session<'_>, data: &Path, round: u32) -> Result<()> {
    let of_kind = |kind: &str| -> Result<Vec<std::path::PathBuf>> {
        let mut files = files_below(data)?;
        files.retain(|path| {
            let relative = path.strip_prefix(data).unwrap_or(path).to_string_lossy().into_owned();
            !relative.starts_with("__") && path.extension().is_some_and(|extension| extension == kind)
        });
        Ok(files)
    };
    for (kind, options) in [
        ("log", &["--deep-iteration"][..]),
        ("index", &["--index-sanity-check"]),
        ("timeindex", &["--index-sanity-check"]),
        ("txnindex", &[]),
        ("snapshot", &[]),
    ] {
        let files = of_kind(kind)?;
        let done = dump(session, data, options, &files)?;
        let unexpected = without_compacted_gaps(unexpected_lines(&done));
        for line in unexpected.iter().take(5) {
            println!("round {round}: the dump of .{kind} says {line}");
        }
        session.claim(
            format!("round {round}: nothing is wrong with the .{kind} files ({})", !files.is_empty()),
            done.success() && unexpected.is_empty() && !files.is_empty(),
        );
    }
    Ok(())
}

/// The lines that tell of anything but the offsets that are missing after a compaction, at the beginning of a log, too.
fn without_compacted_gaps(lines: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let is_gap = line.starts_with("err Non-consecutive offsets in ") && line.contains("/compacted-");
        if is_gap && lines.peek().is_some_and(|next| next.contains(" is followed by ")) {
            lines.next();
        } else {
            kept.push(line);
        }
    }
    kept
}

/// How many records of each topic, and how many of them are committed.
fn counts(lines: &[String]) -> String {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for line in lines {
        let topic = line.split(' ').next().unwrap_or_default();
        let (all, committed) = counts.entry(topic).or_default();
        *all += 1;
        *committed += u32::from(line.ends_with(" committed"));
    }
    let line = |(topic, (all, committed)): (&&str, &(u32, u32))| {
        format!("{topic}: {all} records, {committed} committed")
    };
    counts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A process that does not outlive its step.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
