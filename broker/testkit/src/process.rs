//! The real binary as a process of its own, for what a process alone can show: kills, signals, exit codes, texts.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::broker::temporary_directory;
use crate::connection::{Connection, TIME_MAX};

/// A running `ottla-broker`. Dropping it kills it; its data goes with the last plan that holds it.
#[derive(Debug)]
pub struct TestProcess {
    child: Child,
    address: SocketAddr,
    greeting: Vec<String>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    plan: TestProcessBuilder,
}

/// How a [`TestProcess`] is to be started.
#[derive(Debug, Clone)]
pub struct TestProcessBuilder {
    binary: PathBuf,
    directory: Arc<TempDir>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

/// How a process ended.
#[derive(Debug)]
pub struct Exit {
    /// Its status.
    pub status: ExitStatus,
    /// All it wrote to stdout.
    pub stdout: String,
    /// All it wrote to stderr.
    pub stderr: String,
    /// How it was started, with its data.
    pub plan: TestProcessBuilder,
}

impl TestProcess {
    /// The plan for a process of this binary. In the broker's own tests that is `env!("CARGO_BIN_EXE_ottla-broker")`.
    #[must_use]
    pub fn builder(binary: impl Into<PathBuf>) -> TestProcessBuilder {
        TestProcessBuilder {
            binary: binary.into(),
            directory: Arc::new(temporary_directory()),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The lines that it wrote to stdout when it was ready.
    #[must_use]
    pub fn greeting(&self) -> &[String] {
        &self.greeting
    }

    /// The directory of its data.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.plan.data()
    }

    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A connection to it.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process's number is an i32");
        kill(Pid::from_raw(id), signal).expect("a child can be sent signals");
    }

    /// Kills it with SIGKILL and returns the plan, to start it again with the data that it left.
    #[must_use]
    pub fn kill(self) -> TestProcessBuilder {
        self.signal(Signal::SIGKILL);
        self.wait().plan
    }

    /// Asks it to stop and waits until it has ended in good order.
    #[must_use]
    pub fn terminate(self) -> Exit {
        self.signal(Signal::SIGTERM);
        let exit = self.wait();
        assert!(exit.status.success(), "{}: {}", exit.status, exit.stderr);
        exit
    }

    /// Waits until it ends by itself.
    #[must_use]
    pub fn wait(mut self) -> Exit {
        let (rest, stderr) = read_to_the_end(&mut self.child, &self.stdout, &self.stderr);
        let status = self.child.wait().expect("a child can be waited for");
        let stdout = format!("{}\n{rest}", self.greeting.join("\n"));
        Exit { status, stdout, stderr, plan: self.plan.clone() }
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestProcessBuilder {
    /// The same with an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The same with a configuration, as `--override`.
    #[must_use]
    pub fn set(self, key: &str, value: &str) -> Self {
        self.argument("--override").argument(format!("{key}={value}"))
    }

    /// The same with an environment variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The directory of its data.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it on a free port with its data in a directory of its own, and returns once it serves.
    #[must_use]
    pub fn start(self) -> TestProcess {
        let mut command = self.command();
        command
            .args([
                "--override",
                "listeners=PLAINTEXT://127.0.0.1:0",
                "--override",
                "http.address=",
                "--data",
            ])
            .arg(self.directory.path());
        self.serve(command)
    }

    /// Starts it with the arguments that were given and no others, and returns once it serves.
    #[must_use]
    pub fn start_as_it_is(self) -> TestProcess {
        let command = self.command();
        self.serve(command)
    }

    fn serve(self, mut command: Command) -> TestProcess {
        let mut child = command
            .args(&self.arguments)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", self.binary.display()));
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let stderr = read_all(child.stderr.take().expect("stderr is a pipe"));
        let mut greeting = Vec::new();
        let mut address = None;
        // The line about the data is the last one.
        while !greeting.last().is_some_and(|line: &String| line.starts_with("The data is in")) {
            let mut line = String::new();
            if stdout.read_line(&mut line).expect("stdout can be read") == 0 {
                let told = stderr.recv_timeout(TIME_MAX).unwrap_or_default();
                panic!("the broker ended instead of serving: {told}");
            }
            address = address.or_else(|| listening_on(&line));
            greeting.push(line.trim_end().to_owned());
        }
        let address = address.unwrap_or_else(|| panic!("no line of {greeting:?} says where it listens"));
        TestProcess { child, address, greeting, stdout: read_all(stdout), stderr, plan: self }
    }

    /// Starts it with these arguments and nothing else, and waits until it ends by itself.
    #[must_use]
    pub fn run(self) -> Exit {
        let mut child = self
            .command()
            .args(&self.arguments)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", self.binary.display()));
        let stdout = read_all(child.stdout.take().expect("stdout is a pipe"));
        let stderr = read_all(child.stderr.take().expect("stderr is a pipe"));
        let (stdout, stderr) = read_to_the_end(&mut child, &stdout, &stderr);
        let status = child.wait().expect("a child can be waited for");
        Exit { status, stdout, stderr, plan: self }
    }

    /// The binary in an environment of its own: nothing of the test's settings reaches it.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The address in `Listening on NAME://address; clients are told …`.
fn listening_on(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.strip_prefix("Listening on ")?.split_once("://")?;
    rest.split_once(';')?.0.parse().ok()
}

/// Sends all that can be read, once there is no more.
fn read_all(mut from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth showing.
        let _ = from.read_to_end(&mut bytes);
        // A test that failed meanwhile does not receive.
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// Both streams of a process, which end when it does. One that does not end in time is killed, and the test with it.
fn read_to_the_end(
    child: &mut Child,
    stdout: &Receiver<String>,
    stderr: &Receiver<String>,
) -> (String, String) {
    let mut text = |stream: &Receiver<String>| match stream.recv_timeout(TIME_MAX) {
        Ok(text) => text,
        Err(_) => {
            let _ = child.kill();
            panic!("the process has not ended within {TIME_MAX:?}");
        }
    };
    (text(stdout), text(stderr))
}
