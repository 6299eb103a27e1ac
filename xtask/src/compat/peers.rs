//! The foreign programs that judge: Apache Kafka's jars, kcat, and two Python clients. Fetches the jars and the Python
//! packages into the target folder, by name and pinned version; Debian packages are `install`'s business.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{self, answers};
use crate::workspace::Workspace;

/// A foreign program, or a family of them, that a suite cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    /// Apache Kafka's broker and tools.
    Java,
    Kcat,
    /// confluent-kafka and kafka-python.
    Python,
}

/// Where the peers are, or will be.
pub(crate) struct Peers {
    /// Our own steps: `xtask/compat`.
    pub(crate) steps: PathBuf,
    /// Everything that is fetched and everything that a run writes: `target/compat`.
    pub(crate) folder: PathBuf,
    /// The broker that is judged.
    pub(crate) ottla: PathBuf,
    /// What became of each peer that was asked for, so that nothing is tried twice in a run.
    ready: RefCell<BTreeMap<Peer, Option<String>>>,
}

impl Peers {
    pub(crate) fn new(workspace: &Workspace) -> Self {
        Self {
            steps: workspace.root.join("xtask/compat"),
            folder: workspace.target.join("compat"),
            ottla: workspace.target.join("release/ottla-broker"),
            ready: RefCell::default(),
        }
    }

    /// Fetches a peer if need be. The answer is why it cannot be had.
    pub(crate) fn missing(&self, peer: Peer) -> Option<String> {
        if let Some(known) = self.ready.borrow().get(&peer) {
            return known.clone();
        }
        let outcome = match peer {
            Peer::Java => self.fetch_jars(),
            Peer::Kcat => self.find_kcat(),
            Peer::Python => self.fetch_python(),
        };
        let reason = outcome.err().map(|error| format!("{error:#}"));
        self.ready.borrow_mut().insert(peer, reason.clone());
        reason
    }

    /// A main class of Apache Kafka, with little memory and a quick start.
    pub(crate) fn java(&self, class: &str, logging: &str) -> Command {
        let mut command = Command::new("java");
        command.args(["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]);
        let configuration = self.steps.join("java").join(logging);
        command.arg(format!("-Dlog4j2.configurationFile={}", configuration.display()));
        command.arg("-cp").arg(self.libs().join("*")).arg(class);
        command
    }

    /// A step written in Python.
    pub(crate) fn python(&self, script: &str) -> Command {
        let mut command = Command::new(self.venv().join("bin/python"));
        command.arg(self.steps.join("python").join(script));
        // No caches beside the sources.
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        command
    }

    fn libs(&self) -> PathBuf {
        self.folder.join("libs")
    }

    fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    fn find_kcat(&self) -> Result<()> {
        if !answers("kcat", "-V") {
            bail!("kcat is missing (Debian: apt-get install kcat)");
        }
        Ok(())
    }

    fn fetch_jars(&self) -> Result<()> {
        // The compiler too: steps in Java are run from their source.
        if !answers("javac", "-version") {
            bail!("a JDK is missing (Debian: apt-get install openjdk-17-jdk-headless)");
        }
        let pom = self.steps.join("java/pom.xml");
        once_for(&pom, &self.libs(), || {
            if !answers("mvn", "--version") {
                bail!("mvn is missing (Debian: apt-get install maven)");
            }
            println!("compat: fetching the jars of Apache Kafka");
            let mut command = Command::new("mvn");
            command.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
            command.arg(format!("-DoutputDirectory={}", self.libs().display()));
            succeeds(&mut command)
        })
    }

    fn fetch_python(&self) -> Result<()> {
        let requirements = self.steps.join("python/requirements.txt");
        once_for(&requirements, &self.venv(), || {
            println!("compat: fetching the Python clients");
            let mut venv = Command::new("python3");
            succeeds(venv.args(["-m", "venv", "--clear"]).arg(self.venv()))
                .context("python3 with venv is needed (Debian: apt-get install python3-venv)")?;
            let mut pip = Command::new(self.venv().join("bin/python"));
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--only-binary",
                ":all:",
            ]);
            succeeds(pip.arg("-r").arg(&requirements))
        })
    }
}

/// Fills a folder by `fetch`, unless that was done before for the same list of names and versions.
fn once_for(list: &Path, folder: &Path, fetch: impl FnOnce() -> Result<()>) -> Result<()> {
    let wanted = std::fs::read(list).with_context(|| format!("reading {}", list.display()))?;
    let stamp = folder.join(".complete");
    if std::fs::read(&stamp).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("emptying {}", folder.display()));
        }
        _ => {}
    }
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    fetch()?;
    std::fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))
}

fn succeeds(command: &mut Command) -> Result<()> {
    let done = process::capture(command)?;
    if !done.success() {
        bail!("{} failed:\n{}{}", process::spelled(command), done.stdout, done.stderr);
    }
    Ok(())
}
