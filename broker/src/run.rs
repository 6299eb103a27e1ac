//! The process: arguments, log, signals, the few lines on stdout, the exit code. What starts and stops is
//! `running.rs`'s.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use clap::Parser as _;
use nix::sys::signal::Signal;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, reload};

use crate::check_config::Findings;
use crate::cli::{self, Arguments, Which};
use crate::config::{BrokerConfig, LogFormat, Sources};
use crate::explain;
use crate::log;
use crate::log_levels::LogLevels;
use crate::metadata_thread::Fault;
use crate::notify::Notify;
use crate::running::{RunningBroker, Waiting};
use crate::threads;

/// What a process ends with that was killed by a signal, less the signal's number.
const EXIT_BY_SIGNAL: i32 = 128;
/// What is logged when neither OTTLA_LOG nor RUST_LOG says.
const LOG_LEVEL: &str = "info";

/// What a running broker is told.
enum Event {
    /// To read its file again.
    Reload,
    /// To stop.
    Signal(Signal),
    /// That it cannot go on.
    Fault(Fault),
}

/// Runs `ottla-broker` until it is told to stop.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let environment = cli::environment();
    if let Some(word) = &arguments.explain {
        return print(&explain::explain(word));
    }
    let sources = arguments.sources(environment.clone());
    let (loaded, warnings) = BrokerConfig::load_all(&sources);
    if arguments.check_config {
        let findings = Findings::of(&loaded, &warnings);
        let printed = print(&findings.text());
        return if findings.are_fatal() { ExitCode::FAILURE } else { printed };
    }
    let config = match loaded {
        Ok(config) => config,
        Err(unusable) => return fail(&unusable),
    };
    if let Some(which) = arguments.print_config {
        return print(&explain::values(&config, which == Which::NonDefaults));
    }
    let log_levels = start_log(&environment, config.log_output.format);
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let notify = Notify::of(&environment).unwrap_or_else(|error| {
        tracing::warn!("{error}");
        Notify::default()
    });
    match serve(config, &sources, log_levels, &notify) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => fail(&reason),
    }
}

fn serve(
    config: BrokerConfig,
    sources: &Sources,
    log_levels: LogLevels,
    notify: &Notify,
) -> Result<(), String> {
    let (stop, stopped) = mpsc::channel();
    let stopping = AtomicBool::new(false);
    let on_signal = stop.clone();
    threads::catch_signals(move |signal| {
        if signal == Signal::SIGHUP {
            // Before anybody listens there is nothing to read again.
            drop(on_signal.send(Event::Reload));
            return;
        }
        // The first one asks for a stop in good order; if nobody has begun to listen, or on the second, the process
        // ends as it would have without us. A restart recovers.
        if stopping.swap(true, Ordering::SeqCst) || on_signal.send(Event::Signal(signal)).is_err() {
            std::process::exit(EXIT_BY_SIGNAL + signal as i32);
        }
    })
    .map_err(|error| format!("Signals cannot be caught: {error}."))?;

    let on_fault = move |fault: Fault| {
        // Nobody listens only when the process is about to end already.
        drop(stop.send(Event::Fault(fault)));
    };
    let running =
        RunningBroker::start_with(config, log_levels, on_fault).map_err(|error| error.to_string())?;
    print(&greeting(&running));
    let serving = format!("Serving {}.", addresses(&running));
    notify.ready(&serving);
    let event = loop {
        match stopped.recv() {
            Ok(Event::Reload) => {
                notify.reloading();
                reload(&running, sources);
                notify.ready(&serving);
            }
            event => break event,
        }
    };
    notify.stopping();
    let fault = match event {
        Ok(Event::Reload) => unreachable!("the loop above takes them all"),
        Ok(Event::Signal(signal)) => {
            tracing::info!(%signal, "stopping: no new connections, then what is in flight, then the disks");
            None
        }
        Ok(Event::Fault(fault)) => Some(fault),
        Err(mpsc::RecvError) => None,
    };
    running.shutdown().map_err(|error| error.to_string())?;
    match fault {
        Some(fault) => Err(format!("The broker had to stop: {fault}.")),
        None => {
            tracing::info!("stopped");
            Ok(())
        }
    }
}

fn addresses(running: &RunningBroker) -> String {
    let listeners = running.listeners().iter();
    let listeners: Vec<_> =
        listeners.map(|listener| format!("{}://{}", listener.name, listener.address)).collect();
    listeners.join(", ")
}

/// Where it listens, what clients are told, where the data is.
fn greeting(running: &RunningBroker) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = String::new();
    let node = running.node_id();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Ottla {version}, node {node} of cluster {}.", running.cluster_id());
    for listener in running.listeners() {
        let (name, address, told) = (&listener.name, listener.address, &listener.advertised);
        let _ = writeln!(text, "Listening on {name}://{address}; clients are told {told}.");
    }
    if let Some(address) = running.http_address() {
        let _ = writeln!(text, "Metrics and health are on http://{address}: /metrics, /healthz?verbose.");
    }
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path).display().to_string();
    let directories: Vec<_> = running.data().map(absolute).collect();
    let _ = writeln!(text, "The data is in {}.", directories.join(" and "));
    text
}

/// Reads the file and the rest again, takes over what needs no restart, and says in the log what changed and what waits
/// for one. A file that cannot be used changes nothing.
fn reload(running: &RunningBroker, sources: &Sources) {
    let (loaded, warnings) = BrokerConfig::load_all(sources);
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let reloaded = loaded.and_then(|file| running.reload(&file));
    match reloaded {
        Ok(report) => {
            for Waiting { key, running, file } in &report.waiting {
                tracing::warn!(key, running, file, "a changed setting waits for a restart");
            }
            for Waiting { key, running, file } in &report.hidden {
                tracing::info!(key, in_force = running, file, "a changed setting is hidden by a dynamic one");
            }
            tracing::info!(
                acting = report.changes.len(),
                waiting_for_a_restart = report.waiting.len(),
                hidden = report.hidden.len(),
                "the configuration was read again"
            );
        }
        Err(unusable) => {
            tracing::error!(reason = %unusable, "the configuration was read again and cannot be used: nothing changes");
        }
    }
}

/// Writes to stdout. Somebody who closed it does not want to read it.
fn print(text: &str) -> ExitCode {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fail(reason: &dyn std::fmt::Display) -> ExitCode {
    // With stderr closed there is nobody left to tell; the exit code says it too.
    let _ = writeln!(io::stderr().lock(), "ottla-broker: {reason}");
    ExitCode::FAILURE
}

/// Starts the log, and returns what changes its levels.
fn start_log(environment: &[(String, String)], format: LogFormat) -> LogLevels {
    let variable =
        |name: &str| environment.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
    let wanted = variable("OTTLA_LOG").or_else(|| variable("RUST_LOG")).unwrap_or(LOG_LEVEL);
    let filter = EnvFilter::builder().parse_lossy(wanted);
    let (filter, reload) = reload::Layer::new(filter);
    tracing_subscriber::registry().with(log::lines(format).with_filter(filter)).init();
    log::tell_panics(format);
    LogLevels::new(wanted, move |directives| {
        // Without a subscriber there is nobody left who would log.
        let _ = reload.reload(EnvFilter::builder().parse_lossy(directives));
    })
}
