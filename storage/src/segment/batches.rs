//! The batches of a segment one after the other, whole and with right checksums, read in large pieces: for whoever goes
//! through a log in earnest. It believes no index, and the first batch that is not sound is an error.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ottla_model::Offset;
use ottla_model::batch::{BATCH_PEEK_BYTES, BatchError, BatchFrame, MAGIC, RecordBatch};

use super::Segment;
use super::name::FileKind;
use super::read::damage_of;
use crate::io::{LogFile, read_full};
use crate::log::{Damage, LogError};

/// A place in a segment, from which batches are taken.
#[derive(Debug)]
pub(crate) struct Batches {
    segment: Arc<Segment>,
    file: Arc<dyn LogFile>,
    /// Where the next batch begins.
    position: u64,
    /// Where the last one ends.
    end: u64,
    /// What is read at once. A larger batch is read as a whole.
    piece_bytes: usize,
    /// The bytes from `position` on.
    held: Bytes,
    offsets: Range<Offset>,
}

impl Segment {
    /// Batches from `position` on, whose offsets must lie below `end`.
    pub(crate) fn batches(
        self: &Arc<Self>,
        position: u64,
        end: Offset,
        piece_bytes: usize,
    ) -> Result<Batches, LogError> {
        let file = self.log_file().map_err(|error| self.error("open", FileKind::Log, error))?;
        Ok(Batches {
            segment: Arc::clone(self),
            file,
            position,
            end: self.bytes(),
            piece_bytes,
            held: Bytes::new(),
            offsets: self.base()..end,
        })
    }
}

impl Batches {
    /// Where the next batch begins.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Takes the next batch, or none where the segment ends.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, LogError> {
        if self.position >= self.end {
            return Ok(None);
        }
        let needed = match BatchFrame::peek(&self.held) {
            Ok(Some(frame)) => frame.size(),
            Ok(None) => BATCH_PEEK_BYTES,
            // Told by the whole bytes below.
            Err(_) => 0,
        };
        if self.held.len() < needed {
            self.fill(needed)?;
            // A header that had to be read first may ask for more.
            if let Ok(Some(frame)) = BatchFrame::peek(&self.held) {
                let (available, size) = (self.end - self.position, frame.size() as u64);
                if size > available {
                    return Err(self.damaged(Damage::BatchCut { available, size }));
                }
                self.fill(frame.size())?;
            }
        }
        let available = self.held.len() as u64;
        let batch = match RecordBatch::split_first(&mut self.held) {
            Ok(Some(batch)) => batch,
            Ok(None) => {
                let size = BatchFrame::peek(&self.held).ok().flatten().map_or(0, |frame| frame.size() as u64);
                return Err(self.damaged(Damage::BatchCut { available, size }));
            }
            Err(BatchError::Magic { magic }) if (0..MAGIC).contains(&magic) => {
                let (path, position) = (self.segment.log_path(), self.position);
                return Err(LogError::OldFormat { path, position, magic });
            }
            Err(error) => return Err(self.damaged(damage_of(error, available))),
        };
        self.check(&batch)?;
        self.position += batch.header().size() as u64;
        self.offsets.start = batch.header().next_offset();
        Ok(Some(batch))
    }

    fn check(&self, batch: &RecordBatch) -> Result<(), LogError> {
        let (base, last) = (batch.header().base_offset(), batch.header().last_offset());
        if base < self.offsets.start || last < base || last >= self.offsets.end {
            return Err(self.damaged(Damage::Offsets { base, last, expected: self.offsets.start }));
        }
        batch.verify_crc().map_err(|mismatch| {
            self.damaged(Damage::Checksum { stored: mismatch.stored, computed: mismatch.computed })
        })
    }

    /// Holds at least so many bytes, unless the segment ends before.
    fn fill(&mut self, needed: usize) -> Result<(), LogError> {
        if self.held.len() >= needed {
            return Ok(());
        }
        let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
        let mut bytes = vec![0; needed.max(self.piece_bytes).min(left)];
        let filled = read_full(&*self.file, &mut bytes, self.position);
        let filled = filled.map_err(|error| self.segment.error("read", FileKind::Log, error))?;
        bytes.truncate(filled);
        self.held = bytes.into();
        Ok(())
    }

    fn damaged(&self, damage: Damage) -> LogError {
        LogError::Damaged { path: self.segment.log_path(), position: self.position, damage }
    }
}
