//! librdkafka's own command: lists, produces with every codec, reads by offset, by time and from the tail.

use std::process::Command;

use anyhow::Result;

use crate::compat::node::{KEEP_ALL, Node};
use crate::compat::session::{Session, report};
use crate::process::{self, Finished};

const CODECS: &[&str] = &["none", "gzip", "snappy", "lz4", "zstd"];
const RECORD_COUNT: usize = 100;
/// The first timestamp that load.py writes; each record is a millisecond later.
const FIRST_TIMESTAMP_MS: u64 = 1_600_000_000_000;
const FORMAT: &str = "partition %p offset %o key %k value %s\\n";

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let node = session.start("broker", KEEP_ALL)?;
    for codec in CODECS {
        produce_and_consume(session, &node, codec)?;
    }
    positions(session, &node)?;
    times(session, &node)?;
    missing_topic(session, &node)?;

    let listed = kcat(&node, &["-L", "-t", "codec-gzip"], "")?;
    session.answer("-L -t codec-gzip", &report(&listed).replace(&node.address(), "BROKER"));
    let listed = kcat(&node, &["-L"], "")?;
    let text = report(&listed).replace(&node.address(), "BROKER");
    // The order of topics is the broker's own.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    session.answer("-L, sorted", &lines.join("\n"));
    let mut node = node;
    node.stop()
}

fn produce_and_consume(session: &mut Session<'_>, node: &Node, codec: &str) -> Result<()> {
    let topic = format!("codec-{codec}");
    session.create_topic(node, &topic, 1, &[])?;
    let lines: Vec<String> =
        (0..RECORD_COUNT).map(|n| format!("key-{n}:{} {n}", "value ".repeat(n))).collect();
    let produced = kcat(node, &["-P", "-t", &topic, "-z", codec, "-K", ":"], &lines.join("\n"))?;
    session.answer(format!("produce with {codec}"), &report(&produced));
    let consumed = consume(node, &topic, &["-o", "beginning", "-e"])?;
    session.records += consumed.stdout.lines().count() as u64;
    session.answer(format!("consume {codec}"), &report(&consumed));
    Ok(())
}

/// By offset, so many, from the tail, from the end.
fn positions(session: &mut Session<'_>, node: &Node) -> Result<()> {
    for arguments in [
        &["-o", "37", "-c", "5"][..],
        &["-o", "99", "-e"],
        &["-o", "-10", "-e"],
        &["-o", "end", "-e"],
        &["-o", "1000", "-e", "-X", "auto.offset.reset=earliest", "-c", "2"],
        &["-o", "1000", "-e", "-X", "auto.offset.reset=error"],
    ] {
        let consumed = consume(node, "codec-lz4", arguments)?;
        session.records += consumed.stdout.lines().count() as u64;
        session.answer(format!("consume {}", arguments.join(" ")), &report(&consumed));
    }
    Ok(())
}

fn times(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let count = RECORD_COUNT.to_string();
    let mut load = session.peers.python("load.py");
    session.expect_success(load.args([node.address().as_str(), "by-time", &count, "50"]))?;
    for at in [0, FIRST_TIMESTAMP_MS + 50, FIRST_TIMESTAMP_MS + 99, FIRST_TIMESTAMP_MS + 100] {
        let asked = kcat(node, &["-Q", "-t", &format!("by-time:0:{at}")], "")?;
        session.answer(format!("offset for time {at}"), &report(&asked));
    }
    let (start, end) = (FIRST_TIMESTAMP_MS + 40, FIRST_TIMESTAMP_MS + 60);
    let range = [format!("s@{start}"), format!("e@{end}")];
    let options =
        ["-C", "-q", "-t", "by-time", "-p", "0", "-o", &range[0], "-o", &range[1], "-f", "%o %T %k %S\\n"];
    let consumed = kcat(node, &options, "")?;
    session.records += consumed.stdout.lines().count() as u64;
    session.answer("consume from a time to a time", &report(&consumed));
    Ok(())
}

/// A producer's first record makes the topic; a reader of a topic that is not there is told so.
fn missing_topic(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let consumed = consume(node, "missing", &["-o", "beginning", "-e"])?;
    session.answer("consume a missing topic", &report(&consumed));
    let produced = kcat(node, &["-P", "-t", "made-by-producing"], "first\n")?;
    session.answer("produce to a missing topic", &report(&produced));
    let consumed = consume(node, "made-by-producing", &["-o", "beginning", "-e"])?;
    session.records += consumed.stdout.lines().count() as u64;
    session.answer("consume what was produced to a missing topic", &report(&consumed));
    Ok(())
}

fn consume(node: &Node, topic: &str, arguments: &[&str]) -> Result<Finished> {
    kcat(node, &[&["-C", "-q", "-t", topic, "-p", "0", "-f", FORMAT], arguments].concat(), "")
}

fn kcat(node: &Node, arguments: &[&str], input: &str) -> Result<Finished> {
    let mut command = Command::new("kcat");
    command.args(["-b", &node.address()]).args(arguments);
    process::capture_with_input(&mut command, input.as_bytes().to_vec())
}
