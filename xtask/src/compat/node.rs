//! One broker process, ours or Apache Kafka's, on a port and a folder of its own. Ended by its process id, at the latest
//! when the value goes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::peers::Peers;
use crate::process;

const START_TIME_MAX: Duration = Duration::from_secs(120);
const STOP_TIME_MAX: Duration = Duration::from_secs(60);
/// Any cluster id would do; the control's directories are formatted with this one.
const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qg";
/// Java's exit code after SIGTERM.
const JAVA_TERMINATED: i32 = 143;

/// For steps whose records have fixed timestamps: none of them is old enough to go.
pub(crate) const KEEP_ALL: &[(&str, &str)] = &[("log.retention.ms", "-1")];

/// Where a broker's outputs are kept, in its folder.
const OUTPUTS: [&str; 2] = ["stdout", "stderr"];

/// Positions in a broker's outputs.
pub(crate) type Mark = [u64; 2];

/// Whose broker it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ottla,
    Kafka,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ottla => "Ottla",
            Self::Kafka => "Apache Kafka",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "ottla" => Some(Self::Ottla),
            "kafka" => Some(Self::Kafka),
            _ => None,
        }
    }
}

/// A broker and the place it lives in. It may be running or not.
pub(crate) struct Node {
    kind: Kind,
    folder: PathBuf,
    data: PathBuf,
    port: u16,
    /// Kafka's process.roles.
    roles: &'static str,
    properties: Vec<(String, String)>,
    child: Option<Child>,
}

impl Node {
    /// A broker of its own folder and port, with the given broker properties. Nothing is started yet.
    pub(crate) fn new(kind: Kind, folder: &Path, properties: &[(&str, &str)]) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let properties =
            properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Ok(Self {
            kind,
            folder: folder.to_path_buf(),
            data: folder.join("data"),
            port: free_port()?,
            roles: "broker,controller",
            properties,
            child: None,
        })
    }

    /// Lets it use another broker's log directory. Apache Kafka is then a controller only: a combined node opens, and
    /// writes to, the metadata log before it looks at the lock, which ruins the other broker, also one of Kafka's own.
    pub(crate) fn with_data_of(mut self, other: &Node) -> Self {
        self.data.clone_from(&other.data);
        self.roles = "controller";
        self
    }

    /// `host:port`, for clients.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The log directory.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// How much the broker has written until now.
    pub(crate) fn mark(&self) -> Mark {
        OUTPUTS.map(|name| std::fs::metadata(self.folder.join(name)).map_or(0, |file| file.len()))
    }

    /// What the broker has written to stdout and stderr since then.
    pub(crate) fn said_since(&self, mark: Mark) -> String {
        let mut bytes = Vec::new();
        for (name, position) in OUTPUTS.iter().zip(mark) {
            if let Ok(mut file) = File::open(self.folder.join(name))
                && file.seek(SeekFrom::Start(position)).is_ok()
            {
                // A file that cannot be read has nothing to tell; the caller looks for what it expects.
                let _ = file.read_to_end(&mut bytes);
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Starts it and returns once it takes connections.
    pub(crate) fn start(&mut self, peers: &Peers) -> Result<()> {
        let mark = self.mark();
        let mut command = self.command(peers)?;
        let append = |name: &str| {
            File::options()
                .create(true)
                .append(true)
                .open(self.folder.join(name))
                .context("opening a broker's output")
        };
        let [stdout, stderr] = OUTPUTS;
        command.stdin(Stdio::null()).stdout(append(stdout)?).stderr(append(stderr)?);
        let mut child = command.spawn().with_context(|| format!("{} does not start", self.kind.name()))?;
        let ready = process::wait_until(START_TIME_MAX, || {
            if let Some(status) = child.try_wait()? {
                bail!("{} ended at its start ({status}):\n{}", self.kind.name(), self.said_since(mark));
            }
            let answers = TcpStream::connect(self.address()).is_ok();
            Ok(answers
                && (self.kind == Kind::Ottla || self.said_since(mark).contains("Kafka Server started")))
        });
        self.child = Some(child);
        if !ready? {
            bail!(
                "{} takes no connection {START_TIME_MAX:?} after its start:\n{}",
                self.kind.name(),
                self.said_since(mark)
            );
        }
        Ok(())
    }

    /// The command that runs it in the foreground. Formats an empty directory where the broker does not do so itself.
    pub(crate) fn command(&self, peers: &Peers) -> Result<Command> {
        match self.kind {
            Kind::Ottla => Ok(self.ottla_command(peers)),
            Kind::Kafka => self.kafka_command(peers),
        }
    }

    /// Asks it to stop and waits until it has; anything but a clean end is an error.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        process::run(Command::new("kill").args(["-TERM", &child.id().to_string()]))?;
        let status = process::wait(&mut child, STOP_TIME_MAX)
            .with_context(|| format!("stopping {}", self.kind.name()))?;
        let clean = match self.kind {
            Kind::Ottla => status.success(),
            Kind::Kafka => status.code() == Some(JAVA_TERMINATED),
        };
        if !clean {
            bail!("{} stopped with {status}", self.kind.name());
        }
        Ok(())
    }

    /// SIGKILL: no warning, no last word.
    pub(crate) fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Whether its process is still there.
    pub(crate) fn is_running(&mut self) -> Result<bool> {
        match &mut self.child {
            Some(child) => Ok(child.try_wait()?.is_none()),
            None => Ok(false),
        }
    }

    fn ottla_command(&self, peers: &Peers) -> Command {
        let mut command = Command::new(&peers.ottla);
        command.arg("--data").arg(&self.data);
        let mut properties = vec![
            // The page of metrics would have a fixed port. A suite that wants one says so: the last word counts.
            ("http.address".to_owned(), String::new()),
            ("listeners".to_owned(), format!("PLAINTEXT://{}", self.address())),
            ("node.id".to_owned(), "1".to_owned()),
        ];
        properties.extend(self.properties.iter().cloned());
        for (key, value) in properties {
            command.arg("--override").arg(format!("{key}={value}"));
        }
        command
    }

    fn kafka_command(&self, peers: &Peers) -> Result<Command> {
        let properties = self.folder.join("server.properties");
        if !properties.exists() {
            let cluster_id = cluster_id_in(&self.data).unwrap_or_else(|| CLUSTER_ID.to_owned());
            std::fs::write(&properties, self.kafka_properties()?).context("writing server.properties")?;
            let mut format = peers.java("kafka.tools.StorageTool", "tool-log4j2.xml");
            format
                .args(["format", "--standalone", "--ignore-formatted", "-t", &cluster_id, "-c"])
                .arg(&properties);
            let done = process::capture(&mut format)?;
            if !done.success() {
                bail!("formatting a directory for Apache Kafka failed:\n{}{}", done.stdout, done.stderr);
            }
        }
        let mut command = peers.java("kafka.Kafka", "broker-log4j2.xml");
        command.arg(properties);
        Ok(command)
    }

    fn kafka_properties(&self) -> Result<String> {
        let controller = format!("127.0.0.1:{}", free_port()?);
        let controller_listener = format!("CONTROLLER://{controller}");
        let listeners = match self.roles {
            "controller" => controller_listener,
            _ => format!("PLAINTEXT://{},{controller_listener}", self.address()),
        };
        let mut text = format!(
            "process.roles={roles}\n\
             node.id=1\n\
             controller.quorum.bootstrap.servers={controller}\n\
             controller.listener.names=CONTROLLER\n\
             listeners={listeners}\n\
             advertised.listeners={listeners}\n\
             listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
             log.dirs={data}\n\
             offsets.topic.num.partitions=1\n\
             offsets.topic.replication.factor=1\n\
             transaction.state.log.num.partitions=1\n\
             transaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\n\
             group.initial.rebalance.delay.ms=0\n\
             broker.session.timeout.ms=3000\n\
             broker.heartbeat.interval.ms=500\n",
            roles = self.roles,
            data = self.data.display(),
        );
        for (key, value) in &self.properties {
            text.push_str(&format!("{key}={value}\n"));
        }
        Ok(text)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The cluster id in a log directory's meta.properties.
fn cluster_id_in(data: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data.join("meta.properties")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("cluster.id=")).map(|id| id.trim().to_owned())
}

/// A port that nobody listened on a moment ago. Brokers keep theirs over a restart, so that clients find them again.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("binding a port")?;
    Ok(listener.local_addr()?.port())
}
