//! `--check-config`: everything that can be said of a configuration without starting: what is wrong with its values, what
//! its author should know, whether the directories and ports can be had. Writes nothing, not even a directory.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use nix::unistd::{AccessFlags, access};

use crate::config::{BrokerConfig, UnusableConfig, Warning};

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What stands in the way of a start.
    pub errors: Vec<String>,
    /// What somebody should know.
    pub warnings: Vec<String>,
}

impl Findings {
    /// All that is found of a configuration as it was read.
    #[must_use]
    pub fn of(loaded: &Result<BrokerConfig, UnusableConfig>, warnings: &[Warning]) -> Self {
        let mut findings =
            Self { warnings: warnings.iter().map(ToString::to_string).collect(), ..Self::default() };
        match loaded {
            Ok(config) => findings.look_outside(config),
            Err(unusable) => findings.errors.clone_from(&unusable.sentences),
        }
        findings
    }

    /// Whether a start would be tried in vain.
    #[must_use]
    pub fn are_fatal(&self) -> bool {
        !self.errors.is_empty()
    }

    /// A line for each finding, and one for all of them.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (word, findings) in [("error", &self.errors), ("warning", &self.warnings)] {
            for finding in findings.iter().flat_map(|finding| finding.lines()) {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{word}: {finding}");
            }
        }
        let (errors, warnings) = (self.errors.len(), self.warnings.len());
        let _ = match errors {
            0 => writeln!(text, "The configuration can be used ({warnings} warnings)."),
            _ => writeln!(text, "The configuration cannot be used ({errors} errors, {warnings} warnings)."),
        };
        text
    }

    fn look_outside(&mut self, config: &BrokerConfig) {
        let apart = !config.log_dirs.contains(&config.metadata_log_dir);
        for path in config.log_dirs.iter().chain(apart.then_some(&config.metadata_log_dir)) {
            self.errors.extend(directory_error(path));
        }
        for listener in &config.listeners {
            match listener.bind_address() {
                Ok(address) => self.errors.extend(port_error(&listener.to_string(), address)),
                Err(error) => self.errors.push(format!("The listener {listener} cannot be opened: {error}.")),
            }
        }
    }
}

/// Why a directory cannot hold logs; of one that is not there, why it could not be made.
fn directory_error(path: &Path) -> Option<String> {
    let all = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    let shown = path.display();
    match path.metadata() {
        Ok(found) if !found.is_dir() => Some(format!("The log directory {shown} is no directory.")),
        Ok(_) => {
            let error = access(path, all).err();
            let error =
                error.map(|error| format!("The log directory {shown} cannot be read and written: {error}."));
            error.or_else(|| match ottla_storage::is_locked(path) {
                Ok(false) => None,
                Ok(true) => Some(format!("The log directory {shown} is in use by another process.")),
                Err(error) => {
                    Some(format!("The lock of the log directory {shown} cannot be looked at: {error}."))
                }
            })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let above =
                path.ancestors().skip(1).find(|above| above.exists() || above.as_os_str().is_empty())?;
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let fails = access(above, AccessFlags::W_OK | AccessFlags::X_OK).err();
            let is_file = !above.is_dir();
            let why = fails
                .map(|error| error.to_string())
                .or_else(|| is_file.then(|| "it is no directory".to_owned()));
            why.map(|why| format!("The log directory {shown} cannot be made in {}: {why}.", above.display()))
        }
        Err(error) => Some(format!("The log directory {shown} cannot be looked at: {error}.")),
    }
}

/// Why nobody can listen there.
fn port_error(listener: &str, address: SocketAddr) -> Option<String> {
    let error = TcpListener::bind(address).err()?;
    Some(format!("The listener {listener} cannot be opened: {error}."))
}
