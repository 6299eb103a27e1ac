//! The checks that must pass before a change lands, in the order in which a failure is cheapest to learn of. Stops at
//! the first that fails. Closes with the plain count over everything.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use crate::{compat, install, layers, process, tidy};

type Step = (&'static str, fn(&Workspace) -> Result<Tally>);

const STEPS: &[Step] = &[
    ("toolchain", |workspace| one(install::toolchain(workspace))),
    ("packages", |_| one(install::debian_packages())),
    ("fmt", |workspace| one(process::run(in_workspace(workspace).args(["fmt", "--all", "--check"])))),
    ("tidy", |workspace| chore(tidy::run(workspace)?)),
    ("layers", |workspace| chore(layers::run(workspace)?)),
    ("clippy", clippy),
    ("tests", tests),
    ("rustdoc", rustdoc),
    ("release build", |workspace| one(compat::build_broker(workspace))),
    ("compat", |workspace| compat::run_all(workspace)),
];

pub(crate) fn run(workspace: &Workspace) -> ExitCode {
    let started = Instant::now();
    let mut total = Tally::default();
    for (name, step) in STEPS {
        println!("\n== {name}");
        let step_started = Instant::now();
        let outcome = step(workspace);
        println!("-- {name}: {:.1} s", step_started.elapsed().as_secs_f64());
        match outcome {
            Ok(tally) => total.add(tally),
            Err(error) => {
                total.failed += 1;
                eprintln!("ci stops at {name}: {error:#}");
            }
        }
        if total.failed > 0 {
            println!("\n{name} failed; the checks after it did not run.");
            break;
        }
    }
    println!("\nci took {:.0} s", started.elapsed().as_secs_f64());
    println!("{total}");
    total.exit_code()
}

/// A step that is one check.
fn one(outcome: Result<()>) -> Result<Tally> {
    outcome.map(|()| Tally { passed: 1, failed: 0 })
}

/// A chore that has already said what is wrong.
fn chore(code: ExitCode) -> Result<Tally> {
    let passed = code == ExitCode::SUCCESS;
    Ok(Tally { passed: u64::from(passed), failed: u64::from(!passed) })
}

fn in_workspace(workspace: &Workspace) -> Command {
    let mut command = cargo();
    command.current_dir(&workspace.root);
    command
}

fn clippy(workspace: &Workspace) -> Result<Tally> {
    let mut command = in_workspace(workspace);
    command.args(["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"]);
    one(process::run(&mut command))
}

fn rustdoc(workspace: &Workspace) -> Result<Tally> {
    let mut command = in_workspace(workspace);
    command
        .args(["doc", "--workspace", "--no-deps", "--locked", "--quiet"])
        .env("RUSTDOCFLAGS", "-D warnings");
    one(process::run(&mut command))
}

/// Runs every test of the workspace, shows what cargo writes, and adds up the counts of all test binaries.
fn tests(workspace: &Workspace) -> Result<Tally> {
    let mut command = in_workspace(workspace);
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cargo test does not start")?;
    let stdout = child.stdout.take().context("a piped stdout")?;
    let mut tally = Tally::default();
    for line in BufReader::new(stdout).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        tally.add(Tally::from_test_result(&line).unwrap_or_default());
    }
    let status = child.wait()?;
    if tally.passed + tally.failed == 0 {
        bail!("no test ran ({status})");
    }
    if !status.success() && tally.failed == 0 {
        bail!("cargo test failed ({status})");
    }
    Ok(tally)
}
