//! What an exporter of metrics learns of a broker as a client: topics, offsets, groups and lags, asked for by Sarama with the
//! protocol versions of Kafka 2.0, as exporters ask. Against Ottla the same samples have to stand on its own page, under the
//! same names, with the same labels and numbers.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::compat::node::{KEEP_ALL, Kind, Node};
use crate::compat::peers::Program;
use crate::compat::session::Session;
use crate::process;

const GROUPS: &str = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
const RECORDS: u32 = 20;
const SETTLE_TIME_MAX: Duration = Duration::from_secs(60);
/// The broker's own topic: how many records it has is no answer to anything.
const INTERNAL: &str = "__consumer_offsets";

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let own: &[(&str, &str)] = match session.kind {
        Kind::Ottla => &[("http.address", "127.0.0.1:0"), ("metrics.compat", "kafka_exporter")],
        Kind::Kafka => &[],
    };
    let properties =
        [KEEP_ALL, &[("offsets.topic.num.partitions", "3"), ("group.initial.rebalance.delay.ms", "0")], own];
    let mut node = session.start("broker", &properties.concat())?;
    for topic in ["orders", "other"] {
        session.create_topic(&node, topic, 2, &[])?;
        let mut command = session.peers.python("dated.py");
        session.expect_success(command.args([&node.address(), topic, "2", &RECORDS.to_string()]))?;
    }
    let address = node.address();
    let reset = ["--bootstrap-server", &address, "--reset-offsets", "--group", "behind", "--topic", "orders"];
    session.java(GROUPS, &[&reset[..], &["--to-offset", "5", "--execute"]].concat(), "")?;
    let member = Member::start(session, &node)?;
    let settled = |samples: &BTreeSet<String>| {
        samples.contains("kafka_consumergroup_members{consumergroup=\"live\"} 1")
            && samples.contains("kafka_consumergroup_lag_sum{consumergroup=\"live\",topic=\"other\"} 0")
    };
    let mut learnt = BTreeSet::new();
    let came = process::wait_until(SETTLE_TIME_MAX, || {
        learnt = collect(session, &node)?;
        Ok(settled(&learnt))
    })?;
    session.claim("a live group is seen with its member and without a lag", came);
    session.records += u64::try_from(learnt.len()).context("a number of samples")?;
    let lines: Vec<&str> = learnt.iter().map(String::as_str).collect();
    session.answer("samples", &lines.join("\n"));
    if session.kind == Kind::Ottla {
        let told = page(&node)?;
        let missing: Vec<_> = learnt.difference(&told).collect();
        session.claim(
            format!("our page has every sample of the exporter's; it lacks {missing:?}"),
            missing.is_empty(),
        );
        let names: BTreeSet<&str> = learnt.iter().filter_map(|line| line.split(['{', ' ']).next()).collect();
        let of_names =
            |line: &&String| line.split(['{', ' ']).next().is_some_and(|name| names.contains(name));
        let added: Vec<_> = told.iter().filter(of_names).filter(|line| !learnt.contains(*line)).collect();
        session.claim(format!("our page has no other sample of these names, as {added:?}"), added.is_empty());
    }
    member.stop()?;
    node.stop()
}

/// The samples that a client makes of its answers.
fn collect(session: &Session<'_>, node: &Node) -> Result<BTreeSet<String>> {
    let mut command = session.peers.launch(Program::Go("collect")).command();
    let out = session.expect_success(command.arg(node.address()))?;
    Ok(comparable(&out))
}

/// The samples of our own page.
fn page(node: &Node) -> Result<BTreeSet<String>> {
    let said = node.said_since([0, 0]);
    let (_, rest) = said.split_once("are on http://").context("the broker says where its metrics are")?;
    let address = rest.split(": ").next().unwrap_or_default();
    let mut stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    if !text.starts_with("HTTP/1.1 200") {
        bail!("no page of metrics: {text}");
    }
    Ok(comparable(&text))
}

fn comparable(text: &str) -> BTreeSet<String> {
    let samples = text.lines().filter(|line| line.starts_with("kafka_") && !line.contains(INTERNAL));
    // The address of a broker is the run's own.
    samples.filter(|line| !line.starts_with("kafka_broker_info")).map(str::to_owned).collect()
}

/// A member of a group of its own, for as long as its stdin is open.
struct Member(Child);

impl Member {
    fn start(session: &Session<'_>, node: &Node) -> Result<Self> {
        let mut command = session.peers.launch(Program::Go("member")).command();
        command.args([&node.address(), "live", "other", "classic"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn().context("a member does not start")?))
    }

    fn stop(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        process::wait(&mut self.0, SETTLE_TIME_MAX).map(drop)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It has ended already, or must not outlive the suite.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
