//! A scan of a segment's bytes that believes nothing: every header and checksum is looked at, and the first batch that
//! is not whole ends it. It changes no file.

use std::ops::Range;
use std::sync::Arc;

use ottla_model::batch::{BATCH_HEADER_BYTES, BatchHeader, LegacyChecksum};
use ottla_model::{Offset, crc32c};

use super::Segment;
use super::name::FileKind;
use super::read::damage_of;
use super::stored::StoredHeader;
use crate::io::{LogFile, read_full};
use crate::log::{Damage, LogError};
use crate::producer_state::{EndedTransaction, Marker, ProducerStates};

/// What is read at once. A batch up to this size is handed out whole.
const WINDOW_BYTES: usize = 1 << 20;

/// How a scan ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanEnd {
    /// The end of the last whole batch.
    pub(crate) bytes: u64,
    /// The offset after the last whole batch.
    pub(crate) next: Offset,
    /// Why the scan did not come to the end of the file.
    pub(crate) damage: Option<Damage>,
}

/// A whole batch, or older message, as a scan sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScannedBatch<'a> {
    pub(crate) header: &'a StoredHeader,
    /// All its bytes, unless it is larger than what is read at once.
    bytes: Option<&'a [u8]>,
}

impl ScannedBatch<'_> {
    /// Counts it among the producers' batches; older messages have no producer. Tells of a transaction that it ends.
    pub(crate) fn note_in(&self, producers: &mut ProducerStates) -> Option<EndedTransaction> {
        match self.header.batch() {
            Some(header) => producers.note(header, self.marker(header)),
            None => {
                producers.set_end(self.header.next_offset());
                None
            }
        }
    }

    /// The end of a transaction that it marks.
    fn marker(&self, header: &BatchHeader) -> Option<Marker> {
        if header.is_control() { Marker::in_batch(self.bytes?) } else { None }
    }
}

impl Segment {
    /// Looks at every batch from `position` up to `file_bytes`, where all offsets must lie in `offsets`.
    pub(crate) fn scan(
        &self,
        position: u64,
        file_bytes: u64,
        offsets: Range<Offset>,
        mut visit: impl FnMut(ScannedBatch<'_>),
    ) -> Result<ScanEnd, LogError> {
        let file = self.log_file().map_err(|error| self.error("open", FileKind::Log, error))?;
        let mut window = Window { segment: self, file, file_bytes, start: 0, bytes: Vec::new() };
        let mut end = ScanEnd { bytes: position, next: offsets.start, damage: None };
        while end.bytes < file_bytes {
            match window.batch_at(end.bytes, end.next..offsets.end)? {
                Ok(header) => {
                    visit(ScannedBatch { header: &header, bytes: window.batch_bytes(end.bytes, &header) });
                    end.bytes += header.size() as u64;
                    end.next = header.next_offset();
                }
                Err(damage) => {
                    end.damage = Some(damage);
                    break;
                }
            }
        }
        Ok(end)
    }

    /// The base of the first whole batch that begins at any byte from `from` on. Older messages are not looked for.
    pub(crate) fn next_sound(&self, from: u64) -> Result<Option<Offset>, LogError> {
        let file_bytes = self.bytes();
        let file = self.log_file().map_err(|error| self.error("open", FileKind::Log, error))?;
        let mut window = Window { segment: self, file, file_bytes, start: 0, bytes: Vec::new() };
        let mut position = from;
        while position + BATCH_HEADER_BYTES as u64 <= file_bytes {
            if BatchHeader::parse(window.bytes_at(position, BATCH_HEADER_BYTES)?).is_ok()
                && let Ok(header) = window.batch_at(position, self.base()..Offset::MAX)?
            {
                return Ok(Some(header.base_offset()));
            }
            position += 1;
        }
        Ok(None)
    }
}

/// The part of a file that is in memory.
struct Window<'a> {
    segment: &'a Segment,
    file: Arc<dyn LogFile>,
    file_bytes: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// The batch at `position` if it is whole.
    fn batch_at(
        &mut self,
        position: u64,
        offsets: Range<Offset>,
    ) -> Result<Result<StoredHeader, Damage>, LogError> {
        let available = self.file_bytes - position;
        let header = match StoredHeader::parse(self.bytes_at(position, BATCH_HEADER_BYTES)?) {
            Ok(header) => header,
            Err(error) => {
                // Less than a header may as well be the front of one: offsets begin with zeros.
                let is_zero = available >= BATCH_HEADER_BYTES as u64 && self.is_zero_from(position)?;
                return Ok(Err(if is_zero { Damage::ZeroTail } else { damage_of(error, available) }));
            }
        };
        let size = header.size() as u64;
        if size > available {
            return Ok(Err(Damage::BatchCut { available, size }));
        }
        let (base, last) = (header.base_offset(), header.last_offset());
        if base < offsets.start || last < base || last == Offset::MAX {
            return Ok(Err(Damage::Offsets { base, last, expected: offsets.start }));
        }
        let computed = self.checksum(position, &header)?;
        let stored = header.crc();
        if stored != computed {
            return Ok(Err(Damage::Checksum { stored, computed }));
        }
        Ok(if last < offsets.end { Ok(header) } else { Err(Damage::Overlap { last, base: offsets.end }) })
    }

    /// All bytes of a batch, if they are held.
    fn batch_bytes(&self, position: u64, header: &StoredHeader) -> Option<&[u8]> {
        let start = usize::try_from(position.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start + header.size())
    }

    fn checksum(&mut self, position: u64, header: &StoredHeader) -> Result<u32, LogError> {
        let size = header.size();
        let end = position + size as u64;
        let mut at = position + header.crc_from();
        let mut checksum = Checksum::of(header);
        if size <= WINDOW_BYTES {
            // A batch that fits is held as one piece, for whoever wants its records.
            self.bytes_at(position, size)?;
        }
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(WINDOW_BYTES);
            let bytes = self.bytes_at(at, wanted)?;
            if bytes.is_empty() {
                break;
            }
            checksum.update(bytes);
            at += bytes.len() as u64;
        }
        Ok(checksum.sum())
    }

    /// `wanted` bytes from `position` on, fewer at the end of the file.
    fn bytes_at(&mut self, position: u64, wanted: usize) -> Result<&[u8], LogError> {
        let held_end = self.start + self.bytes.len() as u64;
        let end = (position + wanted as u64).min(self.file_bytes);
        if position < self.start || end > held_end {
            let available = usize::try_from(self.file_bytes - position).unwrap_or(usize::MAX);
            self.bytes.resize(available.min(WINDOW_BYTES), 0);
            let read = read_full(&*self.file, &mut self.bytes, position);
            let filled = read.map_err(|error| self.segment.error("read", FileKind::Log, error))?;
            self.bytes.truncate(filled);
            self.start = position;
        }
        let skip = usize::try_from(position - self.start).unwrap_or(usize::MAX);
        let rest = self.bytes.get(skip..).unwrap_or_default();
        Ok(rest.get(..wanted).unwrap_or(rest))
    }

    fn is_zero_from(&mut self, position: u64) -> Result<bool, LogError> {
        let mut at = position;
        while at < self.file_bytes {
            let bytes = self.bytes_at(at, WINDOW_BYTES)?;
            if bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            if bytes.is_empty() {
                break;
            }
            at += bytes.len() as u64;
        }
        Ok(true)
    }
}

/// A checksum on its way: batches have a CRC-32C, older messages a CRC-32.
enum Checksum {
    Batch(u32),
    Message(LegacyChecksum),
}

impl Checksum {
    fn of(header: &StoredHeader) -> Self {
        match header {
            StoredHeader::Batch(_) => Self::Batch(0),
            StoredHeader::Message(_) => Self::Message(LegacyChecksum::default()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Batch(crc) => *crc = crc32c::append(*crc, bytes),
            Self::Message(checksum) => checksum.update(bytes),
        }
    }

    fn sum(&self) -> u32 {
        match self {
            Self::Batch(crc) => *crc,
            Self::Message(checksum) => checksum.sum(),
        }
    }
}
