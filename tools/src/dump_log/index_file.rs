//! Prints `.index` and `.timeindex` files. Zeros behind the entries are room that was never written, as a killed Kafka
//! leaves them, and end the print.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use ottla_index::{Entry, OffsetEntry, TimeEntry};
use ottla_model::Offset;

use super::DumpError;
use crate::Ending;

/// An entry that has a line.
pub(super) trait Line: Entry {
    /// The line, offsets absolute.
    fn line(self, base: Offset) -> String;
}

impl Line for OffsetEntry {
    fn line(self, base: Offset) -> String {
        format!("offset: {} position: {}", self.offset.at(base), self.position)
    }
}

impl Line for TimeEntry {
    fn line(self, base: Offset) -> String {
        format!("timestamp: {} offset: {}", self.timestamp_ms, self.offset.at(base))
    }
}

pub(super) fn dump<E: Line>(path: &Path, base: Offset, out: &mut dyn Write) -> Result<Ending, DumpError> {
    let failed = |source| DumpError::Read { path: path.to_owned(), source };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut bytes = vec![0; E::BYTES];
    loop {
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            match reader.read(room).map_err(failed)? {
                0 => break,
                read => filled += read,
            }
        }
        if filled == 0 {
            return Ok(Ending::Fine);
        }
        if filled < E::BYTES {
            writeln!(out, "Found {filled} bytes at the end of {} that are no entry", name(path))?;
            return Ok(Ending::Findings);
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Ending::Fine);
        }
        if let Some(entry) = E::decode(&bytes) {
            writeln!(out, "{}", entry.line(base))?;
        }
    }
}

fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}
