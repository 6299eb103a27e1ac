//! The comparison with Apache Kafka: every suite runs the same steps against a broker, ours or the control, with foreign
//! clients and Kafka's own tools, and its answers are compared with the control's recorded ones. A step that the control
//! fails is a fault of the step.

mod node;
mod peers;
mod recording;
mod session;
mod suites;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use self::node::Kind;
use self::peers::{Peer, Peers};
use self::session::Session;
use self::suites::{SUITES, Suite};
use crate::process;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};

/// What the command line asks for.
struct Request {
    suites: Vec<&'static Suite>,
    against: Kind,
    record: bool,
}

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode> {
    if arguments == ["--list"] {
        for suite in SUITES {
            println!("{:12} {}", suite.name, suite.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let request = Request::parse(arguments)?;
    if request.against == Kind::Ottla || request.suites.iter().any(|suite| suite.needs_both) {
        build_broker(workspace)?;
    }
    let tally = run_suites(workspace, &request)?;
    println!("{tally}");
    Ok(tally.exit_code())
}

/// All suites against Ottla, for `ci`.
pub(crate) fn run_all(workspace: &Workspace) -> Result<Tally> {
    let request = Request { suites: SUITES.iter().collect(), against: Kind::Ottla, record: false };
    run_suites(workspace, &request)
}

/// Builds the binary that the suites run.
pub(crate) fn build_broker(workspace: &Workspace) -> Result<()> {
    let mut command = cargo();
    command
        .args(["build", "--release", "--locked", "--package", "ottla-broker"])
        .current_dir(&workspace.root);
    process::run(&mut command)
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut request = Self { suites: Vec::new(), against: Kind::Ottla, record: false };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--against" => {
                    let name = rest.next().context("--against takes ottla or kafka")?;
                    request.against = Kind::parse(name)
                        .with_context(|| format!("--against takes ottla or kafka, not `{name}`"))?;
                }
                "--record" => (request.record, request.against) = (true, Kind::Kafka),
                name => {
                    let names = || SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ");
                    let suite = SUITES.iter().find(|suite| suite.name == name);
                    request.suites.push(
                        suite.with_context(|| format!("no suite is called `{name}`, but: {}", names()))?,
                    );
                }
            }
        }
        if request.record && request.against != Kind::Kafka {
            bail!("only Apache Kafka's answers are recorded");
        }
        if request.suites.is_empty() {
            request.suites = SUITES.iter().collect();
        }
        Ok(request)
    }
}

fn run_suites(workspace: &Workspace, request: &Request) -> Result<Tally> {
    let peers = Peers::new(workspace);
    let unattended = std::env::var_os("CI").is_some_and(|value| value == "true");
    let mut total = Tally::default();
    for suite in &request.suites {
        println!("\ncompat {}: {}, against {}", suite.name, suite.about, request.against.name());
        if let Some(reason) = missing_peer(&peers, suite, request.against) {
            println!("compat {}: skipped: {reason}", suite.name);
            // A person may do without; a run that decides whether a change lands may not.
            total.failed += u64::from(unattended);
            continue;
        }
        let started = Instant::now();
        let tally = run_suite(&peers, suite, request).with_context(|| format!("suite {}", suite.name))?;
        println!("compat {}: {tally} in {:.1} s", suite.name, started.elapsed().as_secs_f64());
        total.add(tally);
    }
    Ok(total)
}

fn missing_peer(peers: &Peers, suite: &Suite, against: Kind) -> Option<String> {
    let control = (against == Kind::Kafka).then_some(Peer::Java);
    suite.needs.iter().copied().chain(control).find_map(|peer| peers.missing(peer))
}

/// Runs one suite and says what came of it. What goes wrong inside is a failure, not an error.
fn run_suite(peers: &Peers, suite: &Suite, request: &Request) -> Result<Tally> {
    let folder = peers.folder.join("runs").join(format!("{}-{}", suite.name, std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let mut session = Session::new(request.against, peers, folder.clone());
    let outcome = (suite.run)(&mut session);
    let tally = judge(suite, &session, outcome, request)?;
    if tally.failed == 0 {
        std::fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    } else {
        show_logs(&folder)?;
    }
    Ok(tally)
}

/// Counts what holds and what does not, and says the latter.
fn judge(suite: &Suite, session: &Session<'_>, outcome: Result<()>, request: &Request) -> Result<Tally> {
    let mut tally = Tally::default();
    let fail = |sentence: String| {
        println!("FAILED {}: {sentence}", suite.name);
        if request.against == Kind::Kafka {
            println!("       Apache Kafka is the control: the step is at fault, or its recording is old.");
        }
    };
    if let Err(error) = outcome {
        tally.count(false);
        fail(format!("{error:#}"));
    }
    for (claim, holds) in &session.claims {
        tally.count(*holds);
        if !holds {
            fail(format!("it is not so that {claim}"));
        }
    }
    if request.record && tally.failed == 0 {
        let path = recording::save(&session.peers.steps, suite.name, &session.answers)?;
        println!("recorded {}", path.display());
    }
    match recording::load(&session.peers.steps, suite.name) {
        Ok(recorded) => {
            for (step, wrong) in recording::compare(&recorded, &session.answers) {
                tally.count(wrong.is_none());
                if let Some(wrong) = wrong {
                    fail(format!("{step}: {wrong}"));
                }
            }
        }
        Err(error) => {
            tally.count(false);
            fail(format!("{error:#}"));
        }
    }
    println!(
        "compat {}: compared {} records and {} answers, {} claims",
        suite.name,
        session.records,
        session.answers.len(),
        session.claims.len()
    );
    if session.records == 0 || session.answers.len() + session.claims.len() == 0 {
        tally.count(false);
        fail("nothing was compared".to_owned());
    }
    Ok(tally)
}

/// The last lines of what each broker wrote, for a suite that failed.
fn show_logs(folder: &Path) -> Result<()> {
    const LINES_MAX: usize = 25;
    println!("its files are kept in {}", folder.display());
    for path in session::files_below(folder)? {
        if !path.ends_with("stderr") && !path.ends_with("stdout") {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        if !lines.is_empty() {
            println!("--- the end of {}", path.strip_prefix(folder).unwrap_or(&path).display());
        }
        for line in &lines[lines.len().saturating_sub(LINES_MAX)..] {
            println!("    {line}");
        }
    }
    Ok(())
}
