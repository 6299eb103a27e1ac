//! `dump-log`: prints the files of a partition's directory, as `kafka-dump-log` does. It opens them read-only and holds
//! one batch in memory at a time, so it may look at a directory that a broker is writing to.

mod index_file;
mod log_file;

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ottla_index::{OffsetEntry, TimeEntry};
use ottla_model::Offset;

use crate::Ending;

/// What to print.
#[derive(Debug, Clone, Copy, Default)]
pub struct DumpOptions {
    /// A line for each record, not for each batch only.
    pub deep_iteration: bool,
    /// Keys and values too, as text; includes `deep_iteration`.
    pub print_data_log: bool,
}

/// Why a file cannot be dumped at all.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The name does not begin with a number, so nobody knows the base offset.
    #[error("{}: the name does not begin with a base offset", path.display())]
    NoBaseOffset {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

/// Prints each file; a file that cannot be read does not keep the next ones from being printed.
///
/// # Errors
/// When the output cannot be written.
pub fn dump_files(
    files: &[PathBuf],
    options: DumpOptions,
    out: &mut dyn Write,
    notes: &mut dyn Write,
) -> io::Result<Ending> {
    let mut ending = Ending::Fine;
    for path in files {
        match dump_file(path, options, out, notes) {
            Ok(Ending::Fine) => {}
            Ok(other) => ending = worse(ending, other),
            Err(DumpError::Output(error)) => return Err(error),
            Err(error) => {
                writeln!(notes, "{error}")?;
                ending = Ending::Failed;
            }
        }
    }
    out.flush()?;
    Ok(ending)
}

const fn worse(one: Ending, other: Ending) -> Ending {
    match (one, other) {
        (Ending::Failed, _) | (_, Ending::Failed) => Ending::Failed,
        (Ending::Findings, _) | (_, Ending::Findings) => Ending::Findings,
        (Ending::Fine, Ending::Fine) => Ending::Fine,
    }
}

fn dump_file(
    path: &Path,
    options: DumpOptions,
    out: &mut dyn Write,
    notes: &mut dyn Write,
) -> Result<Ending, DumpError> {
    match path.extension().and_then(OsStr::to_str) {
        Some("log") => {
            writeln!(out, "Dumping {}", path.display())?;
            log_file::dump(path, base_offset(path)?, options, out)
        }
        Some("index") => {
            writeln!(out, "Dumping {}", path.display())?;
            index_file::dump::<OffsetEntry>(path, base_offset(path)?, out)
        }
        Some("timeindex") => {
            writeln!(out, "Dumping {}", path.display())?;
            index_file::dump::<TimeEntry>(path, base_offset(path)?, out)
        }
        _ => {
            writeln!(notes, "Ignoring unknown file {}", path.display())?;
            Ok(Ending::Fine)
        }
    }
}

fn base_offset(path: &Path) -> Result<Offset, DumpError> {
    let digits = path.file_name().and_then(OsStr::to_str).and_then(|name| name.split('.').next());
    let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| *number >= 0);
    number.map(Offset::new).ok_or_else(|| DumpError::NoBaseOffset { path: path.to_owned() })
}
