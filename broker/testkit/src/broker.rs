//! A broker within the test's own process.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ottla_broker::config::{BrokerConfig, Sources};
use ottla_broker::{RunningBroker, StartError};
use tempfile::TempDir;

use crate::connection::Connection;

/// A running broker. Dropping it stops it in good order and deletes its data.
pub struct TestBroker {
    running: Option<RunningBroker>,
    plan: TestBrokerBuilder,
}

/// How a [`TestBroker`] is to be.
#[derive(Debug, Clone)]
pub struct TestBrokerBuilder {
    directory: Arc<TempDir>,
    overrides: Vec<(String, String)>,
    /// Folders of the directory that are log directories; without any it is one itself.
    log_dirs: Vec<String>,
}

impl TestBroker {
    /// A broker with the defaults.
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// A broker with configurations of its own.
    #[must_use]
    pub fn builder() -> TestBrokerBuilder {
        TestBrokerBuilder::new()
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.running().listeners().first().expect("a broker has a listener").address
    }

    /// The directory of its data.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.plan.directory.path()
    }

    /// The broker itself.
    #[must_use]
    pub fn running(&self) -> &RunningBroker {
        self.running.as_ref().expect("a test broker runs until it is dropped")
    }

    /// A connection to it.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Stops it in good order and starts it again with the same data, on another port.
    pub fn restart(&mut self) {
        self.stop();
        self.running = Some(self.plan.start_broker().unwrap_or_else(|error| panic!("{error}")));
    }

    /// Stops it in good order and returns how it was to be, with its data.
    #[must_use]
    pub fn into_plan(mut self) -> TestBrokerBuilder {
        self.stop();
        self.plan.clone()
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown().unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        let stopped = running.shutdown();
        if !std::thread::panicking() {
            stopped.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

impl TestBrokerBuilder {
    fn new() -> Self {
        Self { directory: Arc::new(temporary_directory()), overrides: Vec::new(), log_dirs: Vec::new() }
    }

    /// The same with a configuration set, Kafka's name and the text of its value.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.overrides.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The same with several log directories: folders of these names in the directory of its data.
    #[must_use]
    pub fn log_dirs(mut self, names: &[&str]) -> Self {
        self.log_dirs = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// The directory of its data.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it.
    #[must_use]
    pub fn start(self) -> TestBroker {
        self.try_start().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts it, or says why it cannot be.
    ///
    /// # Errors
    ///
    /// What the broker cannot start for.
    pub fn try_start(self) -> Result<TestBroker, StartError> {
        let running = self.start_broker()?;
        Ok(TestBroker { running: Some(running), plan: self })
    }

    fn start_broker(&self) -> Result<RunningBroker, StartError> {
        let mut overrides = vec![
            ("listeners".to_owned(), "PLAINTEXT://127.0.0.1:0".to_owned()),
            // A test that wants it says so, with port 0.
            ("http.address".to_owned(), String::new()),
        ];
        overrides.extend(self.overrides.iter().cloned());
        let mut data = Some(self.directory.path().to_owned());
        if !self.log_dirs.is_empty() {
            let paths =
                self.log_dirs.iter().map(|name| self.directory.path().join(name).display().to_string());
            overrides.push(("log.dirs".to_owned(), paths.collect::<Vec<_>>().join(",")));
            data = None;
        }
        let sources = Sources { overrides, data, ..Sources::default() };
        let (config, _) = BrokerConfig::load(&sources).unwrap_or_else(|error| panic!("{error}"));
        RunningBroker::start(config, |fault| panic!("the broker had to stop: {fault}"))
    }
}

/// A directory that is deleted once nobody holds it.
pub(crate) fn temporary_directory() -> TempDir {
    tempfile::Builder::new()
        .prefix("ottla-test-")
        .tempdir()
        .expect("the system has a directory for temporary files")
}
