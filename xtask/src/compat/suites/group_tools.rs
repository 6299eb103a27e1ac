//! Kafka's own tool for consumer groups, as people run it: list, describe in all views, reset in all modes, delete.

use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::compat::node::{KEEP_ALL, Node};
use crate::compat::session::{Session, report};
use crate::process::{self, Finished};

const GROUPS: &str = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
const CONSUMER: &str = "org.apache.kafka.tools.consumer.ConsoleConsumer";

const RECORDS: u32 = 20;
const JOIN_TIME_MAX: Duration = Duration::from_secs(90);

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let properties =
        [KEEP_ALL, &[("offsets.topic.num.partitions", "3"), ("group.initial.rebalance.delay.ms", "0")]];
    let mut node = session.start("broker", &properties.concat())?;
    for topic in ["orders", "other"] {
        session.create_topic(&node, topic, 2, &[])?;
        let mut command = session.peers.python("dated.py");
        session.expect_success(command.args([&node.address(), topic, "2", &RECORDS.to_string()]))?;
    }
    before_any_group(session, &node)?;
    resets(session, &node)?;
    for protocol in ["classic", "consumer"] {
        live_group(session, &node, protocol)?;
    }
    listings(session, &node)?;
    deletions(session, &node)?;
    node.stop()
}

fn before_any_group(session: &mut Session<'_>, node: &Node) -> Result<()> {
    steps(
        session,
        node,
        &[
            ("list none", &["--list"]),
            ("describe a missing group", &["--describe", "--group", "missing"]),
            ("delete a missing group", &["--delete", "--group", "missing"]),
            ("reset without a scope", &["--reset-offsets", "--group", "g", "--to-earliest", "--execute"]),
            (
                "reset a missing topic",
                &["--reset-offsets", "--group", "g", "--topic", "missing", "--to-earliest", "--execute"],
            ),
        ],
    )
}

fn resets(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let file = session.folder.join("offsets.csv");
    std::fs::write(&file, "orders,0,3\norders,1,17\n").context("writing a file of offsets")?;
    let file = file.display().to_string();
    let modes: &[(&str, &[&str])] = &[
        ("to offset", &["--to-offset", "5"]),
        ("to latest", &["--to-latest"]),
        ("shifted back", &["--shift-by", "-4"]),
        ("shifted too far", &["--shift-by", "100"]),
        ("to a time", &["--to-datetime", "2023-11-14T22:20:00.000Z"]),
        ("to a time after all", &["--to-datetime", "2033-11-14T22:20:00.000Z"]),
        ("by a duration", &["--by-duration", "P0D"]),
        ("to earliest", &["--to-earliest"]),
        ("to offset again", &["--to-offset", "12"]),
        ("to current", &["--to-current"]),
    ];
    for (mode, arguments) in modes {
        let whole =
            [&["--reset-offsets", "--group", "g", "--topic", "orders"], *arguments, &["--execute"]].concat();
        steps(session, node, &[(&format!("reset {mode}"), &whole)])?;
    }
    let scope = ["--reset-offsets", "--group", "g"];
    steps(
        session,
        node,
        &[
            ("reset from a file", &[&scope[..], &["--from-file", &file, "--execute"]].concat()),
            (
                "reset planned only",
                &[&scope[..], &["--topic", "orders:1", "--to-offset", "1", "--dry-run"]].concat(),
            ),
            ("reset exported", &[&scope[..], &["--all-topics", "--to-earliest", "--export"]].concat()),
            ("describe the offsets", &["--describe", "--group", "g"]),
            ("describe the state", &["--describe", "--group", "g", "--state"]),
            ("describe the members", &["--describe", "--group", "g", "--members"]),
        ],
    )
}

/// What may be seen of, and done to, a group while it has a member.
fn live_group(session: &mut Session<'_>, node: &Node, protocol: &str) -> Result<()> {
    let group = format!("live-{protocol}");
    let consumer = Consumer::start(session, node, &group, protocol)?;
    let describe = ["--describe", "--group", &group];
    let wait = || {
        let seen = tool(session, node, &[&describe[..], &["--members"]].concat())?;
        let offsets = tool(session, node, &describe)?;
        // Its first commit comes five seconds after its start; then each of the four partitions shows its end twice.
        let committed = offsets.stdout.matches(&format!(" {RECORDS} ")).count() >= 8;
        Ok(committed && seen.stdout.contains("console-consumer"))
    };
    if !process::wait_until(JOIN_TIME_MAX, wait)? {
        bail!("the console consumer never joined {group}");
    }
    let reset = ["--reset-offsets", "--group", &group, "--topic", "orders", "--to-earliest", "--execute"];
    let named = |step: &str| format!("{protocol}: {step}");
    steps(
        session,
        node,
        &[
            (&named("offsets"), &describe),
            (&named("members"), &[&describe[..], &["--members"]].concat()),
            (&named("members, verbose"), &[&describe[..], &["--members", "--verbose"]].concat()),
            (&named("state"), &[&describe[..], &["--state"]].concat()),
            (&named("list with states"), &["--list", "--state"]),
            (&named("reset while live"), &reset),
            (&named("delete while live"), &["--delete", "--group", &group]),
            (
                &named("delete offsets while live"),
                &["--delete-offsets", "--group", &group, "--topic", "orders"],
            ),
        ],
    )?;
    session.records += u64::from(RECORDS) * 2;
    consumer.stop()
}

fn listings(session: &mut Session<'_>, node: &Node) -> Result<()> {
    steps(
        session,
        node,
        &[
            ("list with states", &["--list", "--state"]),
            ("list empty ones", &["--list", "--state", "empty"]),
            ("list stable ones", &["--list", "--state", "stable"]),
            ("list with types", &["--list", "--type"]),
            ("list classic ones", &["--list", "--type", "classic"]),
        ],
    )
}

fn deletions(session: &mut Session<'_>, node: &Node) -> Result<()> {
    steps(
        session,
        node,
        &[
            ("delete offsets of a partition", &["--delete-offsets", "--group", "g", "--topic", "orders:1"]),
            ("describe what is left", &["--describe", "--group", "g"]),
            (
                "delete offsets of an unknown topic",
                &["--delete-offsets", "--group", "g", "--topic", "missing"],
            ),
            ("delete two groups", &["--delete", "--group", "g", "--group", "live-classic"]),
            ("delete again", &["--delete", "--group", "g"]),
            ("list what is left", &["--list"]),
        ],
    )
}

fn steps(session: &mut Session<'_>, node: &Node, steps: &[(&str, &[&str])]) -> Result<()> {
    for (name, arguments) in steps {
        let done = tool(session, node, arguments)?;
        session.answer(*name, &masked(&report(&done), node));
    }
    Ok(())
}

fn tool(session: &Session<'_>, node: &Node, arguments: &[&str]) -> Result<Finished> {
    session.java(GROUPS, &[&["--bootstrap-server", node.address().as_str()], arguments].concat(), "")
}

/// Without what differs from run to run: addresses, the random part of ids, and the order of rows.
fn masked(text: &str, node: &Node) -> String {
    let text = text.replace(&node.address(), "BROKER");
    let mut lines: Vec<String> = text.lines().map(without_uuids).collect();
    // The tool prints groups and partitions in the order of a hash table.
    lines.sort();
    lines.join("\n")
}

/// Each UUID, in digits or as Kafka's 22 characters, becomes as many stars, so that columns stay where they are.
fn without_uuids(line: &str) -> String {
    let masked = line.split(' ').map(|word| {
        // An id made by the broker ends in a UUID.
        let (kept, id) = word.split_at_checked(word.len().saturating_sub(UUID_LENGTH)).unwrap_or(("", word));
        if is_uuid(id) || is_short_uuid(word) {
            let kept = if is_uuid(id) { kept } else { "" };
            format!("{kept}{}", "*".repeat(word.len() - kept.len()))
        } else {
            word.to_owned()
        }
    });
    masked.collect::<Vec<_>>().join(" ")
}

const UUID_LENGTH: usize = 36;

fn is_uuid(text: &str) -> bool {
    const GROUPS_OF_DIGITS: [usize; 5] = [8, 4, 4, 4, 12];
    text.split('-').map(str::len).eq(GROUPS_OF_DIGITS)
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_short_uuid(word: &str) -> bool {
    const LENGTH: usize = 22;
    word.len() == LENGTH && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The console consumer as a member of a group.
struct Consumer(Child);

impl Consumer {
    fn start(session: &Session<'_>, node: &Node, group: &str, protocol: &str) -> Result<Self> {
        let mut command = session.peers.java(CONSUMER, "tool-log4j2.xml");
        let address = node.address();
        command.args(["--bootstrap-server", &address, "--group", group, "--include", "orders|other"]);
        command.args(["--from-beginning", "--command-property", &format!("group.protocol={protocol}")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Self).context("the console consumer does not start")
    }

    /// Lets it leave in good order.
    fn stop(mut self) -> Result<()> {
        process::run(std::process::Command::new("kill").args(["-TERM", &self.0.id().to_string()]))?;
        process::wait(&mut self.0, JOIN_TIME_MAX).map(drop)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuids_are_masked() {
        let line = "console-consumer-0a1b2c3d-1111-2222-3333-444455556666 orders 5";
        let stars = "*".repeat(36);
        assert_eq!(without_uuids(line), format!("console-consumer-{stars} orders 5"));
        assert_eq!(without_uuids("0a1b2c3d-1111-2222"), "0a1b2c3d-1111-2222");
        assert_eq!(without_uuids("live U2WJ4jCDQv21eS3DnBc5SA 4"), format!("live {} 4", "*".repeat(22)));
    }
}
