//! The tools that come with Apache Kafka, as people run them.

use anyhow::Result;

use crate::compat::node::Node;
use crate::compat::session::{Session, report};
use crate::process::Finished;

const TOPICS: &str = "org.apache.kafka.tools.TopicCommand";
const PRODUCER: &str = "org.apache.kafka.tools.ConsoleProducer";
const CONSUMER: &str = "org.apache.kafka.tools.consumer.ConsoleConsumer";
const GET_OFFSETS: &str = "org.apache.kafka.tools.GetOffsetShell";
const PERFORMANCE: &str = "org.apache.kafka.tools.ProducerPerformance";

const LINE_COUNT: usize = 1_000;
const PERFORMANCE_COUNT: u64 = 1_000_000;

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let mut node = session.start("broker", &[])?;
    topics(session, &node)?;
    consoles(session, &node)?;
    offsets(session, &node)?;
    performance(session, &node)?;
    delete(session, &node)?;
    node.stop()
}

fn topics(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let steps: &[(&str, &[&str])] = &[
        ("create", &["--create", "--topic", "orders", "--partitions", "3", "--replication-factor", "1"]),
        ("create again", &["--create", "--topic", "orders"]),
        ("create if not exists", &["--create", "--topic", "orders", "--if-not-exists"]),
        (
            "create with configs",
            &[
                "--create",
                "--topic",
                "lines",
                "--config",
                "segment.bytes=2000000",
                "--config",
                "max.message.bytes=900000",
            ],
        ),
        ("create with a bad name", &["--create", "--topic", "no spaces"]),
        ("create with no partitions", &["--create", "--topic", "none", "--partitions", "0"]),
        ("create with two replicas", &["--create", "--topic", "two", "--replication-factor", "2"]),
        ("list", &["--list"]),
        ("describe", &["--describe"]),
        ("describe one", &["--describe", "--topic", "lines"]),
        ("describe a missing one", &["--describe", "--topic", "missing"]),
    ];
    for (name, arguments) in steps {
        let done = tool(session, node, TOPICS, arguments, "")?;
        session.answer(format!("topics: {name}"), &masked(&report(&done), node));
    }
    Ok(())
}

fn consoles(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let lines: Vec<String> = (0..LINE_COUNT).map(|n| format!("line {n}")).collect();
    let mut input = lines.join("\n");
    input.push('\n');
    let produced = tool(session, node, PRODUCER, &["--topic", "lines"], &input)?;
    session.answer("console producer", &report(&produced));

    let count = LINE_COUNT.to_string();
    let place = ["--topic", "lines", "--partition", "0", "--offset"];
    let whole = [&place[..], &["earliest", "--max-messages", &count]].concat();
    let consumed = tool(session, node, CONSUMER, &whole, "")?;
    session.records += consumed.stdout.lines().count() as u64;
    session.claim(
        "the console consumer reads every line, in order",
        consumed.stdout.lines().eq(lines.iter().map(String::as_str)),
    );
    session.answer(
        "console consumer: all, its stderr",
        &report(&Finished { stdout: String::new(), ..consumed }),
    );

    let shown = ["--formatter-property", "print.offset=true", "--formatter-property", "print.key=true"];
    let some = [&place[..], &["990", "--max-messages", "10"], &shown[..]].concat();
    let consumed = tool(session, node, CONSUMER, &some, "")?;
    session.records += consumed.stdout.lines().count() as u64;
    session.answer("console consumer: by offset", &report(&consumed));

    let until_quiet = [&place[..], &["latest", "--timeout-ms", "2000"]].concat();
    let consumed = tool(session, node, CONSUMER, &until_quiet, "")?;
    session.answer("console consumer: nothing new", &report(&consumed));

    let keyed =
        ["--topic", "orders", "--reader-property", "parse.key=true", "--reader-property", "key.separator=:"];
    let compressed = [&keyed[..], &["--compression-codec", "zstd"]].concat();
    let produced = tool(session, node, PRODUCER, &compressed, "a:1\nb:2\nc:3\nd:4\na:5\n")?;
    session.answer("console producer: keys and zstd", &report(&produced));
    let per_partition = tool(session, node, GET_OFFSETS, &["--topic", "orders"], "")?;
    session.answer("where the keys went", &report(&per_partition));
    Ok(())
}

fn offsets(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let never = "4102444800000";
    for time in
        ["-1", "-2", "-4", "-5", "latest", "earliest", "earliest-local", "latest-tiered", "1000", never]
    {
        let done = tool(session, node, GET_OFFSETS, &["--topic", "lines", "--time", time], "")?;
        session.answer(format!("get-offsets --time {time}"), &report(&done));
    }
    // Which of the lines has the largest timestamp depends on the clock; that it is one of them does not.
    for time in ["-3", "max-timestamp"] {
        let done = tool(session, node, GET_OFFSETS, &["--topic", "lines", "--time", time], "")?;
        let offset =
            done.stdout.trim().strip_prefix("lines:0:").and_then(|offset| offset.parse::<usize>().ok());
        session
            .claim(format!("--time {time} names a record"), offset.is_some_and(|offset| offset < LINE_COUNT));
    }
    let done = tool(session, node, GET_OFFSETS, &["--topic", "missing"], "")?;
    session.answer("get-offsets of a missing topic", &report(&done));
    let done = tool(session, node, GET_OFFSETS, &["--topic-partitions", "orders:0-2,lines"], "")?;
    session.answer("get-offsets of some partitions", &report(&done));
    Ok(())
}

fn performance(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let created = tool(session, node, TOPICS, &["--create", "--topic", "fast"], "")?;
    session.answer("topics: create for the performance tool", &report(&created));
    let count = PERFORMANCE_COUNT.to_string();
    let done = session.java(
        PERFORMANCE,
        &[
            "--topic",
            "fast",
            "--num-records",
            &count,
            "--record-size",
            "100",
            "--throughput",
            "-1",
            "--bootstrap-server",
            &node.address(),
        ],
        "",
    )?;
    let last = done.stdout.lines().last().unwrap_or_default();
    println!("compat java-tools: {last}");
    let sent = last.split(' ').next().unwrap_or_default();
    session.answer("producer-perf", &format!("exit {}\n{sent} records sent\n{}", done.code(), done.stderr));
    let ends = tool(session, node, GET_OFFSETS, &["--topic", "fast"], "")?;
    session.answer("get-offsets after producer-perf", &report(&ends));
    session.records += PERFORMANCE_COUNT;
    Ok(())
}

fn delete(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let steps: &[(&str, &[&str])] = &[
        ("delete", &["--delete", "--topic", "orders"]),
        ("delete again", &["--delete", "--topic", "orders"]),
        ("list after delete", &["--list"]),
    ];
    for (name, arguments) in steps {
        let done = tool(session, node, TOPICS, arguments, "")?;
        session.answer(format!("topics: {name}"), &masked(&report(&done), node));
    }
    Ok(())
}

/// Runs a tool with `--bootstrap-server`.
fn tool(
    session: &Session<'_>,
    node: &Node,
    class: &str,
    arguments: &[&str],
    input: &str,
) -> Result<Finished> {
    session.java(class, &[&["--bootstrap-server", node.address().as_str()], arguments].concat(), input)
}

/// Without what differs from run to run: addresses, topic ids, and the order in which configs are described.
fn masked(text: &str, node: &Node) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let fields = line.split('\t').map(|field| match field.split_once(": ") {
            Some(("TopicId", _)) => "TopicId: ID".to_owned(),
            Some(("Configs", configs)) => {
                let mut configs: Vec<&str> = configs.split(',').collect();
                configs.sort_unstable();
                format!("Configs: {}", configs.join(","))
            }
            _ => field.to_owned(),
        });
        lines.push(fields.collect::<Vec<_>>().join("\t"));
    }
    lines.join("\n").replace(&node.address(), "BROKER")
}
