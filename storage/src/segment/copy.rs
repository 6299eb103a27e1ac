//! Copying a segment's files into another folder, as they are. What is copied when is decided above.

use std::io;

use super::Segment;
use super::name::{self, FileKind, file_name};
use crate::io::{self as disk, Create, Directory, LogFile, read_full};
use crate::log::LogError;

/// Bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;

impl Segment {
    /// Copies the batches between two positions to the same place in another file.
    pub(crate) fn copy_batches(&self, to: &dyn LogFile, from: u64, end: u64) -> Result<(), LogError> {
        let file = self.log_file().map_err(|error| self.error("open", FileKind::Log, error))?;
        let mut piece = Vec::new();
        let mut position = from;
        while position < end {
            piece.resize(usize::try_from(end - position).unwrap_or(usize::MAX).min(PIECE_BYTES), 0);
            let filled = read_full(&*file, &mut piece, position);
            let filled = filled.map_err(|error| self.error("read", FileKind::Log, error))?;
            if filled < piece.len() {
                return Err(self.error("read", FileKind::Log, io::ErrorKind::UnexpectedEof.into()));
            }
            let written = to.write_at(&[&piece], position);
            written.map_err(|error| self.error("copy", FileKind::Log, error))?;
            position += filled as u64;
        }
        Ok(())
    }

    /// Makes another file as old as this one: retention goes by that where no record has a timestamp.
    pub(crate) fn copy_age(&self, to: &dyn LogFile) -> Result<(), LogError> {
        let copied = self.log_file().and_then(|file| to.set_modified_ms(file.modified_ms()?));
        copied.map_err(|error| self.error("copy", FileKind::Log, error))
    }

    /// Copies the indexes that are on the disk, durably but for their names.
    pub(crate) fn copy_indexes(&self, to: &dyn Directory) -> Result<(), LogError> {
        for kind in name::SEGMENT_KINDS.into_iter().filter(|kind| *kind != FileKind::Log) {
            copy_file(&*self.directory, to, &file_name(self.base, kind))
                .map_err(|error| self.error("copy", kind, error))?;
        }
        Ok(())
    }
}

/// Copies a file, durably but for its name; one that is not there is not there either afterwards.
pub(crate) fn copy_file(from: &dyn Directory, to: &dyn Directory, name: &str) -> io::Result<()> {
    let Some(content) = disk::read_named(from, name)? else { return disk::remove_if_there(to, name) };
    let file = to.open(name, Create::Empty)?;
    file.write_at(&[&content], 0)?;
    file.sync()
}
