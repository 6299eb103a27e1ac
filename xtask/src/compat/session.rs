//! One suite's run against one broker: runs the peers and keeps what they answered. Compares nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::node::{Kind, Node};
use super::peers::Peers;
use super::recording::Answers;
use crate::process::{self, Finished};

pub(crate) struct Session<'a> {
    /// Whose broker the steps run against.
    pub(crate) kind: Kind,
    pub(crate) peers: &'a Peers,
    /// Everything this run writes lies here.
    pub(crate) folder: PathBuf,
    pub(crate) answers: Answers,
    /// What has to hold whoever the broker is: a sentence and whether it does.
    pub(crate) claims: Vec<(String, bool)>,
    /// How many records have been read back and compared.
    pub(crate) records: u64,
}

impl<'a> Session<'a> {
    pub(crate) fn new(kind: Kind, peers: &'a Peers, folder: PathBuf) -> Self {
        Self { kind, peers, folder, answers: Answers::new(), claims: Vec::new(), records: 0 }
    }

    /// A broker with an empty directory, started.
    pub(crate) fn start(&self, name: &str, properties: &[(&str, &str)]) -> Result<Node> {
        let mut node = Node::new(self.kind, &self.folder.join(name), properties)?;
        node.start(self.peers)?;
        Ok(node)
    }

    /// Keeps a step's answer, to be compared with the control's.
    pub(crate) fn answer(&mut self, step: impl Into<String>, text: &str) {
        self.answers.entry(step.into()).or_default().extend(text.lines().map(str::to_owned));
    }

    /// Notes whether something holds that needs no control to be judged.
    pub(crate) fn claim(&mut self, what: impl Into<String>, holds: bool) {
        self.claims.push((what.into(), holds));
    }

    /// Creates a topic and waits until it can be written to.
    pub(crate) fn create_topic(
        &self,
        node: &Node,
        name: &str,
        partitions: u32,
        config: &[&str],
    ) -> Result<()> {
        let mut command = self.peers.python("create_topic.py");
        command.arg(node.address()).arg(name).arg(partitions.to_string()).args(config);
        self.expect_success(&mut command).map(drop)
    }

    /// Runs a peer whose success is taken for granted; what it wrote to stdout.
    pub(crate) fn expect_success(&self, command: &mut Command) -> Result<String> {
        let done = process::capture(command)?;
        if !done.success() {
            bail!(
                "{} failed (exit {}):\n{}{}",
                process::spelled(command),
                done.code(),
                done.stdout,
                done.stderr
            );
        }
        Ok(done.stdout)
    }

    /// Runs one of Apache Kafka's tools.
    pub(crate) fn java(&self, class: &str, arguments: &[&str], input: &str) -> Result<Finished> {
        let mut command = self.peers.java(class, "tool-log4j2.xml");
        process::capture_with_input(command.args(arguments), input.as_bytes().to_vec())
    }
}

/// Exit code, stdout and stderr as lines; the stack traces of Java aside.
pub(crate) fn report(done: &Finished) -> String {
    let mut text = format!("exit {}\n", done.code());
    for line in done.stdout.lines() {
        text.push_str(&format!("out {line}\n"));
    }
    for line in done.stderr.lines().filter(|line| !line.starts_with("\tat ") && !line.trim().is_empty()) {
        text.push_str(&format!("err {line}\n"));
    }
    text
}

/// All files below a folder, in order.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}
