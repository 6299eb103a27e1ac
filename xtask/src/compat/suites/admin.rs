//! Kafka's tools for operators, each as people run it: partitions added, records deleted, log directories, the cluster, its
//! features and quorum, elections, reassignments, quotas, replica verification. What differs and why stands in
//! docs/protocol.md.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::compat::node::{KEEP_ALL, Node};
use crate::compat::session::{Session, report};
use crate::process;

const TOPICS: &str = "org.apache.kafka.tools.TopicCommand";
const DELETE_RECORDS: &str = "org.apache.kafka.tools.DeleteRecordsCommand";
const LOG_DIRS: &str = "org.apache.kafka.tools.LogDirsCommand";
const CLUSTER: &str = "org.apache.kafka.tools.ClusterTool";
const FEATURES: &str = "org.apache.kafka.tools.FeatureCommand";
const API_VERSIONS: &str = "org.apache.kafka.tools.BrokerApiVersionsCommand";
const QUORUM: &str = "org.apache.kafka.tools.MetadataQuorumCommand";
const ELECTION: &str = "org.apache.kafka.tools.LeaderElectionCommand";
const REASSIGN: &str = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand";
const CONFIGS: &str = "org.apache.kafka.tools.ConfigCommand";
const VERIFICATION: &str = "org.apache.kafka.tools.ReplicaVerificationTool";

const RECORDS: u32 = 20;
const WAIT_MAX: Duration = Duration::from_secs(90);

/// APIs whose versions are compared. Those of access control, tokens, SCRAM, share and streams groups, tiered storage and of other
/// brokers are not served.
const APIS: &[&str] = &[
    "Produce(0)",
    "Fetch(1)",
    "ListOffsets(2)",
    "Metadata(3)",
    "OffsetCommit(8)",
    "OffsetFetch(9)",
    "FindCoordinator(10)",
    "JoinGroup(11)",
    "Heartbeat(12)",
    "LeaveGroup(13)",
    "SyncGroup(14)",
    "DescribeGroups(15)",
    "ListGroups(16)",
    "SaslHandshake(17)",
    "ApiVersions(18)",
    "CreateTopics(19)",
    "DeleteTopics(20)",
    "DeleteRecords(21)",
    "InitProducerId(22)",
    "OffsetForLeaderEpoch(23)",
    "DescribeConfigs(32)",
    "AlterReplicaLogDirs(34)",
    "DescribeLogDirs(35)",
    "SaslAuthenticate(36)",
    "CreatePartitions(37)",
    "DeleteGroups(42)",
    "ElectLeaders(43)",
    "AlterPartitionReassignments(45)",
    "ListPartitionReassignments(46)",
    "OffsetDelete(47)",
    "DescribeClientQuotas(48)",
    "AlterClientQuotas(49)",
    "DescribeQuorum(55)",
    "UpdateFeatures(57)",
    "DescribeCluster(60)",
    "DescribeProducers(61)",
    "UnregisterBroker(64)",
    "ConsumerGroupHeartbeat(68)",
    "ConsumerGroupDescribe(69)",
    "DescribeTopicPartitions(75)",
];

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let mut node = session.start("broker", KEEP_ALL)?;
    session.create_topic(&node, "orders", 2, &[])?;
    let mut command = session.peers.python("dated.py");
    session.expect_success(command.args([&node.address(), "orders", "2", &RECORDS.to_string()]))?;
    session.records += u64::from(RECORDS) * 2;
    topics(session, &node)?;
    deleted_records(session, &node)?;
    log_dirs(session, &node)?;
    cluster(session, &node)?;
    features(session, &node)?;
    quorum_and_elections(session, &node)?;
    reassignments(session, &node)?;
    quotas(session, &node)?;
    replica_verification(session, &node)?;
    node.stop()
}

fn topics(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let create = |name: &'static str| ["--create", "--topic", name];
    steps(
        session,
        node,
        TOPICS,
        &[
            (
                "topics: create with placed replicas",
                &[&create("placed")[..], &["--replica-assignment", "1,1"]].concat(),
            ),
            (
                "topics: create on a missing broker",
                &[&create("lost")[..], &["--replica-assignment", "1,9"]].concat(),
            ),
            ("topics: create with a dot", &create("a.b")),
            ("topics: create its double", &create("a_b")),
            (
                "topics: create with an unknown config",
                &[&create("x")[..], &["--config", "no.such=1"]].concat(),
            ),
            (
                "topics: create with a bad value",
                &[&create("x")[..], &["--config", "retention.ms=soon"]].concat(),
            ),
            ("topics: more partitions", &["--alter", "--topic", "orders", "--partitions", "4"]),
            ("topics: fewer partitions", &["--alter", "--topic", "orders", "--partitions", "1"]),
            ("topics: as many partitions", &["--alter", "--topic", "orders", "--partitions", "4"]),
            ("topics: more of a missing one", &["--alter", "--topic", "missing", "--partitions", "4"]),
            (
                "topics: more on a missing broker",
                &["--alter", "--topic", "placed", "--partitions", "3", "--replica-assignment", "1,1,9"],
            ),
            ("topics: describe what was added", &["--describe", "--topic", "orders"]),
            ("topics: describe those with overrides", &["--describe", "--topics-with-overrides"]),
            ("topics: describe under-replicated ones", &["--describe", "--under-replicated-partitions"]),
            (
                "topics: describe those at the minimum",
                &["--describe", "--at-min-isr-partitions", "--topic", "placed"],
            ),
            ("topics: describe unavailable ones", &["--describe", "--unavailable-partitions"]),
            ("topics: delete", &["--delete", "--topic", "placed"]),
        ],
    )
}

fn deleted_records(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let mut delete = |step: &str, partition: i32, topic: &str, offset: i64| {
        let text = format!(
            r#"{{"partitions":[{{"topic":"{topic}","partition":{partition},"offset":{offset}}}],"version":1}}"#
        );
        let file = session.folder.join("delete.json");
        std::fs::write(&file, text).context("writing a file of offsets")?;
        let file = file.display().to_string();
        steps(session, node, DELETE_RECORDS, &[(step, &["--offset-json-file", &file])])
    };
    delete("delete-records: some", 0, "orders", 5)?;
    delete("delete-records: back again", 0, "orders", 3)?;
    delete("delete-records: all", 1, "orders", -1)?;
    delete("delete-records: beyond the end", 0, "orders", 1000)
}

fn log_dirs(session: &mut Session<'_>, node: &Node) -> Result<()> {
    steps(
        session,
        node,
        LOG_DIRS,
        &[
            ("log-dirs: of a topic", &["--describe", "--topic-list", "orders"]),
            ("log-dirs: of a missing topic", &["--describe", "--topic-list", "missing"]),
            ("log-dirs: of a broker", &["--describe", "--broker-list", "1", "--topic-list", "orders"]),
            ("log-dirs: of a missing broker", &["--describe", "--broker-list", "9"]),
        ],
    )
}

fn cluster(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let address = node.address();
    let place = ["--bootstrap-server", address.as_str()];
    for (step, command) in [
        ("cluster: id", &["cluster-id"][..]),
        ("cluster: endpoints", &["list-endpoints"]),
        ("cluster: endpoints with fenced ones", &["list-endpoints", "--include-fenced-brokers"]),
        ("cluster: unregister a missing broker", &["unregister", "--id", "9"]),
    ] {
        let (name, rest) = command.split_at(1);
        let done = session.java(CLUSTER, &[name, &place[..], rest].concat(), "")?;
        session.answer(step, &masked(&report(&done), node));
    }
    let done = session.java(API_VERSIONS, &place, "")?;
    let is_compared = |line: &&str| APIS.iter().any(|api| line.trim_start().starts_with(&format!("{api}:")));
    // The last one of a list has no comma behind it.
    let lines = done.stdout.lines().filter(is_compared).map(|line| line.trim().trim_end_matches(','));
    session.answer("broker-api-versions", &lines.collect::<Vec<_>>().join("\n"));
    Ok(())
}

fn features(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let address = node.address();
    let place = ["--bootstrap-server", address.as_str()];
    for (step, command) in [
        ("features: describe", &["describe"][..]),
        ("features: downgrade, dry", &["downgrade", "--feature", "group.version=0", "--dry-run"]),
        ("features: downgrade", &["downgrade", "--feature", "share.version=0"]),
        ("features: describe after it", &["describe"]),
        ("features: upgrade", &["upgrade", "--feature", "share.version=2"]),
        ("features: upgrade too far", &["upgrade", "--feature", "group.version=9"]),
        ("features: upgrade an unknown one", &["upgrade", "--feature", "no.such=1"]),
        ("features: upgrade down", &["upgrade", "--feature", "group.version=0"]),
        ("features: downgrade the metadata", &["downgrade", "--metadata", "3.9"]),
        ("features: disable", &["disable", "--feature", "streams.version", "--dry-run"]),
    ] {
        let done = session.java(FEATURES, &[&place[..], command].concat(), "")?;
        session.answer(step, &masked(&report(&done), node));
    }
    Ok(())
}

fn quorum_and_elections(session: &mut Session<'_>, node: &Node) -> Result<()> {
    steps(
        session,
        node,
        QUORUM,
        &[
            ("metadata-quorum: status", &["describe", "--status"]),
            ("metadata-quorum: replication", &["describe", "--replication"]),
            ("metadata-quorum: replication, for people", &["describe", "--replication", "--human-readable"]),
        ],
    )?;
    let of = |topic: &'static str, partition: &'static str| ["--topic", topic, "--partition", partition];
    let preferred = ["--election-type", "preferred"];
    steps(
        session,
        node,
        ELECTION,
        &[
            ("leader-election: all", &[&preferred[..], &["--all-topic-partitions"]].concat()),
            ("leader-election: one", &[&preferred[..], &of("orders", "0")].concat()),
            ("leader-election: unclean", &[&["--election-type", "unclean"][..], &of("orders", "0")].concat()),
            ("leader-election: a missing partition", &[&preferred[..], &of("orders", "99")].concat()),
            ("leader-election: a missing topic", &[&preferred[..], &of("missing", "0")].concat()),
        ],
    )
}

fn reassignments(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let file = |name: &str, text: &str| -> Result<String> {
        let file = session.folder.join(name);
        std::fs::write(&file, text).context("writing a file of partitions")?;
        Ok(file.display().to_string())
    };
    let moved = file("topics.json", r#"{"topics":[{"topic":"orders"}],"version":1}"#)?;
    let same = file(
        "same.json",
        r#"{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1],"log_dirs":["any"]}]}"#,
    )?;
    let lost =
        file("lost.json", r#"{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[9]}]}"#)?;
    let missing = file(
        "missing.json",
        r#"{"version":1,"partitions":[{"topic":"missing","partition":0,"replicas":[1]}]}"#,
    )?;
    steps(
        session,
        node,
        REASSIGN,
        &[
            ("reassign: list", &["--list"]),
            (
                "reassign: generate",
                &["--generate", "--topics-to-move-json-file", &moved, "--broker-list", "1"],
            ),
            ("reassign: execute", &["--execute", "--reassignment-json-file", &same]),
            ("reassign: verify", &["--verify", "--reassignment-json-file", &same]),
            ("reassign: cancel", &["--cancel", "--reassignment-json-file", &same]),
            ("reassign: to a missing broker", &["--execute", "--reassignment-json-file", &lost]),
            ("reassign: a missing topic", &["--execute", "--reassignment-json-file", &missing]),
        ],
    )
}

/// To describe users the tool also asks for SCRAM credentials, which are not served.
fn quotas(session: &mut Session<'_>, node: &Node) -> Result<()> {
    let user = ["--entity-type", "users", "--entity-name", "u"];
    let client = ["--entity-type", "clients", "--entity-default"];
    let rate = ["--alter", "--add-config", "producer_byte_rate=1000,consumer_byte_rate=2000"];
    steps(
        session,
        node,
        CONFIGS,
        &[
            ("quotas: of a user", &[&rate[..], &user].concat()),
            (
                "quotas: of a user's client",
                &[&["--alter", "--add-config", "request_percentage=50.5"][..], &user, &client].concat(),
            ),
            (
                "quotas: of an address",
                &[
                    "--alter",
                    "--add-config",
                    "connection_creation_rate=700",
                    "--entity-type",
                    "ips",
                    "--entity-name",
                    "192.0.2.1",
                ],
            ),
            (
                "quotas: below zero",
                &[&["--alter", "--add-config", "producer_byte_rate=-1"][..], &user].concat(),
            ),
            ("quotas: describe addresses", &["--describe", "--entity-type", "ips"]),
            (
                "quotas: take one back",
                &[&["--alter", "--delete-config", "consumer_byte_rate"][..], &user].concat(),
            ),
        ],
    )
}

/// The tool looks again and again until it is stopped.
fn replica_verification(session: &mut Session<'_>, node: &Node) -> Result<()> {
    const SEEN: &str = "max lag is 0 for partition orders-";
    let path = session.folder.join("verification");
    let mut command = session.peers.java(VERIFICATION, "tool-log4j2.xml");
    let address = node.address();
    command.args(["--broker-list", &address, "--topics-include", "orders", "--report-interval-ms", "500"]);
    let stdout = std::fs::File::create(&path).context("making a file for an output")?;
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
    let mut tool = command.spawn().context("the verification does not start")?;
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    let seen = process::wait_until(WAIT_MAX, || Ok(read().contains(SEEN)));
    tool.kill()?;
    tool.wait()?;
    if !seen? {
        bail!("the verification has seen nothing: {}", read());
    }
    let told = read();
    let line = told.lines().find(|line| line.contains(SEEN)).unwrap_or_default();
    // Which partition of those without lag it names, and when, is chance.
    let among = line.rsplit_once(" among ").map_or("", |(_, among)| among);
    session.answer("replica-verification", &format!("max lag is 0 among {among}"));
    Ok(())
}

fn steps(session: &mut Session<'_>, node: &Node, class: &str, steps: &[(&str, &[&str])]) -> Result<()> {
    for (name, arguments) in steps {
        let address = node.address();
        let done =
            session.java(class, &[&["--bootstrap-server", address.as_str()], *arguments].concat(), "")?;
        session.answer(*name, &masked(&report(&done), node));
    }
    Ok(())
}

/// Without what differs from run to run: addresses, paths, ids, positions in the metadata log, times, the room on a disk, and the
/// order of lines.
fn masked(text: &str, node: &Node) -> String {
    let data = node.data().display().to_string();
    let address = node.address();
    let mut text = text.replace(&address, "BROKER").replace(&data, "DATA");
    if let Some((host, port)) = address.split_once(':') {
        // As columns of a table.
        text = text.replace(&format!("{host} {port}"), "HOST PORT");
    }
    let shown = text.lines().filter(|line| !line.starts_with("out \tat "));
    let mut lines: Vec<String> = shown.map(mask_line).collect();
    // Stack traces and hash tables come in an order of their own.
    lines.sort();
    lines.dedup();
    lines.join("\n")
}

fn mask_line(line: &str) -> String {
    let mut line = line.to_owned();
    for key in [
        "Epoch: ",
        "HighWatermark: ",
        "LeaderEpoch: ",
        "\"totalBytes\":",
        "\"usableBytes\":",
        "TopicId: ",
        "ClusterId: ",
        "Cluster ID: ",
        "\"directoryId\": ",
        "CONTROLLER://",
    ] {
        line = mask_after(&line, key);
    }
    // A row of the quorum's replicas: node, directory, end, lag, times, status.
    let is_row = line.ends_with("Leader\t") || line.ends_with("Leader");
    if is_row && line.starts_with("out 1") {
        return "out the row of the leader".to_owned();
    }
    // The log of a tool begins its lines with the time.
    match line.strip_prefix("err [").and_then(|rest| rest.split_once("] ")) {
        Some((_, rest)) => format!("err {rest}"),
        None => line,
    }
}

/// The word after each occurrence of a key becomes a star.
fn mask_after(line: &str, key: &str) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(key) {
        masked.push_str(before);
        masked.push_str(key);
        masked.push('*');
        let word = after.trim_start();
        rest = word.get(word.find([' ', '\t', ',', '}', ']']).unwrap_or(word.len())..).unwrap_or_default();
    }
    masked.push_str(rest);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_run_to_run_is_masked() {
        assert_eq!(mask_line("out Feature: x  Level: 1  Epoch: 5346"), "out Feature: x  Level: 1  Epoch: *");
        assert_eq!(mask_line("out HighWatermark:          5360"), "out HighWatermark: *");
        assert_eq!(mask_line(r#"{"totalBytes":12,"size":7}"#), r#"{"totalBytes":*,"size":7}"#);
        assert_eq!(mask_line("err [2026-11-30 17:25:11,184] ERROR x"), "err ERROR x");
        assert_eq!(mask_line("out Topic: orders\tPartition: 0"), "out Topic: orders\tPartition: 0");
    }
}
