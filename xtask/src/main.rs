//! The project's chores: `cargo xtask <chore>`. Runs other programs (cargo, Kafka's tools, our own binaries) and
//! judges what they print. Names none of our crates, so that it builds when they do not.
#![allow(clippy::print_stdout, reason = "a command-line program answers on stdout")]

mod ci;
mod compat;
mod install;
mod layers;
mod process;
mod tally;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

const USAGE: &str = "\
cargo xtask <chore>

  ci                    everything that must pass before a change lands
  tidy                  what rustc and clippy do not check about our sources
  layers                the edges between our crates, against the table of allowed ones
  compat [SUITE...]     the same steps against Ottla and against Apache Kafka
      --against ottla|kafka   whom to run (default ottla); its answers are compared with the recorded ones
      --record                run Apache Kafka and write its answers to xtask/compat/recorded
      --list                  name the suites
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some((chore, rest)) = arguments.split_first() else {
        print!("{USAGE}");
        return Ok(ExitCode::FAILURE);
    };
    if matches!(chore.as_str(), "help" | "--help" | "-h") {
        print!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    if chore != "compat" && !rest.is_empty() {
        bail!("`{chore}` takes no arguments, but got {rest:?}");
    }
    let workspace = Workspace::find()?;
    match chore.as_str() {
        "ci" => Ok(ci::run(&workspace)),
        "tidy" => tidy::run(&workspace),
        "layers" => layers::run(&workspace),
        "compat" => compat::run(&workspace, rest),
        other => bail!("no chore is called `{other}`\n\n{USAGE}"),
    }
}
