//! Brings what the checks need onto the machine: components of the pinned toolchain and Debian packages. The foreign
//! peers themselves (jars, Python packages) are compat's business.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{self, answers};
use crate::workspace::{Workspace, cargo};

/// A command, the argument with which it does nothing but answer, and the Debian package that brings it.
const COMMANDS: &[(&str, &[&str], &str)] = &[
    ("kcat", &["-V"], "kcat"),
    ("javac", &["-version"], "openjdk-17-jdk-headless"),
    ("mvn", &["--version"], "maven"),
    ("python3", &["-m", "ensurepip", "--version"], "python3-venv"),
];

/// Makes sure that the compiler is the pinned one and that rustfmt and clippy are there.
pub(crate) fn toolchain(workspace: &Workspace) -> Result<()> {
    let file = workspace.root.join("rust-toolchain.toml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let wanted = toml_string(&text, "channel").context("rust-toolchain.toml names no channel")?;
    let version =
        process::capture(Command::new("rustc").arg("--version").current_dir(&workspace.root))?.stdout;
    if version.split(' ').nth(1) != Some(wanted) {
        bail!("rust-toolchain.toml asks for Rust {wanted}, but this is {version}");
    }
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let mut probe = cargo();
        if !process::capture(probe.args([subcommand, "--version"]).current_dir(&workspace.root))?.success() {
            println!("installing {component}");
            process::run(
                Command::new("rustup").args(["component", "add", component]).current_dir(&workspace.root),
            )?;
        }
    }
    println!("{}", version.trim());
    Ok(())
}

/// Installs the Debian packages whose commands are missing, if we are root; else says how to.
pub(crate) fn debian_packages() -> Result<()> {
    let missing: Vec<&str> = COMMANDS
        .iter()
        .filter(|(program, arguments, _)| !responds(program, arguments))
        .map(|(_, _, package)| *package)
        .collect();
    if missing.is_empty() {
        println!("kcat, javac, mvn and python3 with venv are there");
        return Ok(());
    }
    let command = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
    if !is_root()? || !answers("apt-get", "--version") {
        println!("Missing, so what needs them will be skipped. On Debian they come with:\n  sudo {command}");
        return Ok(());
    }
    println!("{command}");
    process::run(Command::new("apt-get").args(["update", "-q"]))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "-q", "--no-install-recommends"]).args(&missing);
    process::run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn responds(program: &str, arguments: &[&str]) -> bool {
    process::capture(Command::new(program).args(arguments)).is_ok_and(|done| done.success())
}

fn is_root() -> Result<bool> {
    Ok(process::capture(Command::new("id").arg("-u"))?.stdout.trim() == "0")
}

/// The value of `key = "value"` on a line of its own.
fn toml_string<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='))?;
    value.trim().strip_prefix('"')?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_is_read_from_the_toolchain_file() {
        assert_eq!(toml_string("[toolchain]\nchannel = \"1.95.0\"\n", "channel"), Some("1.95.0"));
        assert_eq!(toml_string("[toolchain]\n", "channel"), None);
    }
}
