//! Transactional producers of three clients beside readers of committed records, and Kafka's own tool for transactions.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::compat::node::{KEEP_ALL, Node};
use crate::compat::session::{Session, report};

const TOOL: &str = "org.apache.kafka.tools.TransactionsCommand";
const DUMP: &str = "org.apache.kafka.tools.DumpLogSegments";
/// The partitions of the topic of transactions.
const STATE_PARTITIONS: &str = "3";

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let properties = [
        KEEP_ALL,
        &[
            ("offsets.topic.num.partitions", "3"),
            ("transaction.state.log.num.partitions", STATE_PARTITIONS),
            ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "200"),
            ("group.initial.rebalance.delay.ms", "0"),
        ],
    ];
    let mut node = session.start("broker", &properties.concat())?;
    python(session, &node)?;
    java(session, &node)?;
    tools(session, &node)?;
    node.stop()?;
    dump(session, &node)
}

/// confluent-kafka on librdkafka, and kafka-python: both of the first protocol.
fn python(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let mut command = session.peers.python("transactions.py");
    let printed = session.expect_success(command.arg(node.address()))?;
    for line in printed.lines() {
        let answer: Value = serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))?;
        let step = answer["step"].as_str().with_context(|| format!("no step: {line}"))?.to_owned();
        let read = ["committed", "all", "copied"].map(|field| count(&answer[field]));
        session.records += read.iter().sum::<u64>();
        session.answer(step, line);
    }
    Ok(())
}

/// The values of all partitions.
fn count(partitions: &Value) -> u64 {
    let partitions = partitions.as_array().into_iter().flatten();
    partitions.map(|values| values.as_array().map_or(0, |values| values.len() as u64)).sum()
}

/// Apache Kafka's client, of the second protocol (KIP-890).
fn java(session: &mut Session<'_>, node: &Node) -> Result<()> {
    for topic in ["ja", "ja-fence", "ja-late", "ja-source", "ja-copied"] {
        session.create_topic(node, topic, 2, &[])?;
    }
    let mut command = session.peers.java("Transactions", "tool-log4j2.xml");
    let printed = session.expect_success(command.arg(node.address()))?;
    session.answer("Java", &printed);
    Ok(())
}

fn tools(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let steps: &[(&str, &[&str])] = &[
        ("list", &["list"]),
        ("list with a pattern", &["list", "--transactional-id-pattern", "ja.*"]),
        ("list with a duration", &["list", "--duration-filter", "3600000"]),
        ("describe a committed one", &["describe", "--transactional-id", "rd"]),
        ("describe an open one", &["describe", "--transactional-id", "ja-open"]),
        ("describe a missing one", &["describe", "--transactional-id", "nobody"]),
        ("describe the producers", &["describe-producers", "--topic", "ja-fence", "--partition", "0"]),
        (
            "describe the producers of an open one",
            &["describe-producers", "--topic", "ja", "--partition", "0"],
        ),
        ("find hanging ones", &["find-hanging", "--broker-id", "1"]),
        ("abort by force", &["abort", "--topic", "ja", "--partition", "0", "--start-offset", "6"]),
        ("describe what is left", &["describe-producers", "--topic", "ja", "--partition", "0"]),
        ("abort what is not there", &["abort", "--topic", "ja", "--partition", "0", "--start-offset", "1"]),
    ];
    for (name, arguments) in steps {
        let address = node.address();
        let done =
            session.java(TOOL, &[&["--bootstrap-server", address.as_str()], *arguments].concat(), "")?;
        session.answer(*name, &masked(&report(&done).replace(&address, "BROKER")));
    }
    Ok(())
}

/// Kafka's tool reads what the coordinator has written.
fn dump(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let mut states: Vec<String> = Vec::new();
    for folder in std::fs::read_dir(node.data()).context("listing the data")? {
        let folder = folder?.path();
        if !folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("__transaction_state-"))
        {
            continue;
        }
        let file = folder.join("00000000000000000000.log").display().to_string();
        let done = session.java(DUMP, &["--transaction-log-decoder", "--files", &file], "")?;
        session.claim("Kafka's tool reads the topic of transactions", done.success());
        for line in done.stdout.lines().filter(|line| line.contains("transactionalId")) {
            let field = |name: &str| {
                let begin = line.find(name)? + name.len();
                line.get(begin..)?.split('"').nth(2).map(str::to_owned)
            };
            let (id, state) = (field("transactionalId"), field("transactionStatus"));
            states.push(format!("{} {}", id.unwrap_or_default(), state.unwrap_or_default()));
        }
    }
    // How often a client came again while a transaction was ending is chance; the states that each id went through are not.
    states.sort();
    states.dedup();
    session.answer("states that were written", &states.join("\n"));
    Ok(())
}

/// Without what differs from run to run: times, and the order of rows; columns are as wide as their longest value.
fn masked(text: &str) -> String {
    let without_times = |word: &str| match word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_digit()) {
        true => "#".to_owned(),
        false => word.to_owned(),
    };
    let line = |line: &str| line.split_whitespace().map(without_times).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.sort();
    lines.join("\n")
}
