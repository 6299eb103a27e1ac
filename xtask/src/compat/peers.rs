//! The foreign programs that judge: Apache Kafka's jars, kcat, and clients in Python, Go and JavaScript. Fetches jars,
//! packages and modules into the target folder, by name and pinned version; Debian packages are `install`'s business.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
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
    /// confluent-kafka, kafka-python and aiokafka.
    Python,
    /// franz-go and Sarama.
    Go,
    /// kafkajs.
    Node,
}

/// One of our own steps, by the language that it is written in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Program {
    /// A class in `java/`, compiled once.
    Java(&'static str),
    /// A script in `python/`.
    Python(&'static str),
    /// A package in `go/`, compiled once.
    Go(&'static str),
    /// A module in `node/`.
    Node(&'static str),
}

/// How a program is started, as often as need be and from any thread.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Launch {
    fn of(command: &Command) -> Self {
        Self {
            program: command.get_program().into(),
            arguments: command.get_args().map(OsString::from).collect(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
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
            Peer::Go => self.build_go(),
            Peer::Node => self.fetch_node(),
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
        let mut path = self.classes().into_os_string();
        path.push(":");
        path.push(self.libs().join("*"));
        command.arg("-cp").arg(path).arg(class);
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

    /// An example program of one of our crates, once it is built.
    pub(crate) fn example(&self, name: &str) -> PathBuf {
        self.folder.with_file_name("debug").join("examples").join(name)
    }

    /// A step of ours in whatever language, whose peer is there.
    pub(crate) fn launch(&self, program: Program) -> Launch {
        match program {
            Program::Java(class) => Launch::of(&self.java(class, "tool-log4j2.xml")),
            Program::Python(script) => Launch {
                environment: vec![
                    ("PYTHONDONTWRITEBYTECODE", "1".into()),
                    ("PYTHONUTF8", "1".into()),
                    ("PYTHONUNBUFFERED", "1".into()),
                ],
                ..Launch::of(&self.python(script))
            },
            Program::Go(package) => Launch::of(&Command::new(self.go_programs().join(package))),
            Program::Node(module) => Launch {
                environment: vec![(
                    "COMPAT_NODE_MODULES",
                    self.node_modules().join("node_modules/").into_os_string(),
                )],
                ..Launch::of(Command::new(self.node_program()).arg(self.steps.join("node").join(module)))
            },
        }
    }

    fn libs(&self) -> PathBuf {
        self.folder.join("libs")
    }

    /// Our own steps in Java, compiled.
    fn classes(&self) -> PathBuf {
        self.folder.join("classes")
    }

    fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    fn go_programs(&self) -> PathBuf {
        self.folder.join("go")
    }

    fn node_modules(&self) -> PathBuf {
        self.folder.join("node")
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
        once_for(std::slice::from_ref(&pom), &self.libs(), || {
            if !answers("mvn", "--version") {
                bail!("mvn is missing (Debian: apt-get install maven)");
            }
            println!("compat: fetching the jars of Apache Kafka");
            let mut command = Command::new("mvn");
            command.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
            command.arg(format!("-DoutputDirectory={}", self.libs().display()));
            succeeds(&mut command)
        })?;
        let sources =
            ["GroupMember.java", "Transactions.java"].map(|name| self.steps.join("java").join(name));
        once_for(&sources, &self.classes(), || {
            let mut command = Command::new("javac");
            command.arg("-cp").arg(self.libs().join("*")).arg("-d").arg(self.classes()).args(&sources);
            succeeds(&mut command)
        })
    }

    fn fetch_python(&self) -> Result<()> {
        let requirements = self.steps.join("python/requirements.txt");
        virtual_environment(&requirements, &self.venv(), "the Python clients")
    }

    fn build_go(&self) -> Result<()> {
        let go = self.steps.join("go");
        let sources = ["go.mod", "go.sum", "collect/main.go", "member/main.go"].map(|name| go.join(name));
        once_for(&sources, &self.go_programs(), || {
            let compiler = self.tool("go", "version", &go, "the Go compiler")?;
            println!("compat: building the Go clients");
            let mut command = Command::new(compiler);
            command.args(["build", "-mod=readonly", "-o"]).arg(self.go_programs()).arg("./...");
            succeeds(command.current_dir(&go))
        })
    }

    fn fetch_node(&self) -> Result<()> {
        let node = self.steps.join("node");
        let package = node.join("package.json");
        let npm = self.tool("npm", "--version", &node, "Node.js")?;
        once_for(std::slice::from_ref(&package), &self.node_modules(), || {
            println!("compat: fetching the JavaScript client");
            let folder = self.node_modules();
            std::fs::copy(&package, folder.join("package.json")).context("copying package.json")?;
            let mut command = Command::new(&npm);
            command.args(["install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"]);
            command.env("PATH", with_folder_of(&npm)?);
            succeeds(command.current_dir(folder))
        })
    }

    /// A language's tool: the machine's own, else the one that its Python package brings.
    fn tool(&self, name: &str, argument: &str, steps: &Path, what: &str) -> Result<PathBuf> {
        if answers(name, argument) {
            return Ok(name.into());
        }
        let folder = self.folder.join(format!("{name}-tool"));
        virtual_environment(&steps.join("requirements.txt"), &folder, what)?;
        Ok(folder.join("bin").join(name))
    }

    fn node_program(&self) -> PathBuf {
        if answers("npm", "--version") { "node".into() } else { self.folder.join("npm-tool/bin/node") }
    }
}

/// The search path with a program's own folder first, which holds what it needs itself.
fn with_folder_of(program: &Path) -> Result<OsString> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let own = program.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_path_buf);
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&paths))).context("a search path")
}

/// Fills a folder with the Python packages of a list.
fn virtual_environment(requirements: &PathBuf, folder: &Path, what: &str) -> Result<()> {
    once_for(std::slice::from_ref(requirements), folder, || {
        println!("compat: fetching {what}");
        let mut venv = Command::new("python3");
        succeeds(venv.args(["-m", "venv", "--clear"]).arg(folder))
            .context("python3 with venv is needed (Debian: apt-get install python3-venv)")?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(["--only-binary", ":all:", "-r"]).arg(requirements);
        succeeds(&mut pip)
    })
}

/// Fills a folder by `fetch`, unless that was done before from the same contents of these files.
fn once_for(files: &[PathBuf], folder: &Path, fetch: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut wanted = Vec::new();
    for file in files {
        wanted.extend(std::fs::read(file).with_context(|| format!("reading {}", file.display()))?);
    }
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
