//! Walks the records of a compressed batch while it decompresses them, in a window of fixed size: for what a broker must
//! know of each record, or for the records themselves, without their keys and values ever being in memory together.

use super::record::{RawRecord, RecordStructureError, checked_header_count};
use crate::compression::{Codec, CompressionError, Decoder};
use crate::varint::{self, VARINT_BYTES_MAX, VARLONG_BYTES_MAX, VarintError};

/// The most that is held at a time. A larger record is walked field by field.
const WINDOW_BYTES_MAX: usize = 64 << 10;
/// The least, so that each number of a record fits.
const WINDOW_BYTES_MIN: usize = 1 << 10;
/// What a body is expected to grow by. A small body gets a small window, which need not be right.
const WINDOW_GROWTH: usize = 8;

/// What a broker must know of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordSummary {
    pub(super) timestamp_delta_ms: i64,
    pub(super) offset_delta: i32,
    pub(super) has_key: bool,
}

impl From<RawRecord<'_>> for RecordSummary {
    #[inline]
    fn from(raw: RawRecord<'_>) -> Self {
        let RawRecord { timestamp_delta_ms, offset_delta, key, .. } = raw;
        Self { timestamp_delta_ms, offset_delta, has_key: key.is_some() }
    }
}

/// A record with its fields, as far as they are in memory.
pub(super) enum StreamedRecord<'a> {
    /// All of it.
    Whole(RawRecord<'a>),
    /// It is larger than the window.
    Large {
        timestamp_delta_ms: i64,
        /// What its fields from the key on take.
        left_bytes: usize,
    },
}

/// Why there is no next record.
#[derive(Debug)]
pub(super) enum StreamError {
    /// The data do not decompress, or grow beyond the bound.
    Compression(CompressionError),
    /// The record is none.
    Structure(RecordStructureError),
    /// The record is larger than allowed.
    TooLarge { size_bytes: usize },
}

impl From<CompressionError> for StreamError {
    fn from(error: CompressionError) -> Self {
        Self::Compression(error)
    }
}

impl From<RecordStructureError> for StreamError {
    fn from(error: RecordStructureError) -> Self {
        Self::Structure(error)
    }
}

impl From<VarintError> for StreamError {
    fn from(error: VarintError) -> Self {
        Self::Structure(error.into())
    }
}

/// The records that are still to come.
pub(super) struct RecordStream<'a> {
    decoder: Decoder<'a>,
    record_bytes_max: usize,
    window: Vec<u8>,
    taken: usize,
    filled: usize,
    ended: bool,
}

impl<'a> RecordStream<'a> {
    pub(super) fn new(
        codec: Codec,
        body: &'a [u8],
        bytes_max: usize,
        record_bytes_max: usize,
    ) -> Result<Self, CompressionError> {
        let decoder = Decoder::new(codec, body, bytes_max)?;
        let window_bytes = body.len().saturating_mul(WINDOW_GROWTH).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
        let window = vec![0; window_bytes];
        Ok(Self { decoder, record_bytes_max, window, taken: 0, filled: 0, ended: false })
    }

    /// Takes the next record and says what matters of it.
    #[inline]
    pub(super) fn next_summary(&mut self) -> Result<RecordSummary, StreamError> {
        let size_bytes = self.next_size()?;
        if size_bytes > self.window.len() {
            return self.walk_large(size_bytes);
        }
        self.whole_record(size_bytes).map(RecordSummary::from)
    }

    /// Takes the next record as it is. Of a large one its fields from the key on stay in the stream; they have to be
    /// taken with [`next_piece`](Self::next_piece) before the next record.
    pub(super) fn next_record(&mut self) -> Result<StreamedRecord<'_>, StreamError> {
        let size_bytes = self.next_size()?;
        if size_bytes <= self.window.len() {
            return self.whole_record(size_bytes).map(StreamedRecord::Whole);
        }
        let mut left_bytes = size_bytes;
        let (timestamp_delta_ms, _) = self.large_head(&mut left_bytes)?;
        Ok(StreamedRecord::Large { timestamp_delta_ms, left_bytes })
    }

    /// Takes some of the `left_bytes` of a large record; nothing when there are none left.
    pub(super) fn next_piece(&mut self, left_bytes: &mut usize) -> Result<&[u8], StreamError> {
        let present = self.fill(1)?.len().min(*left_bytes);
        if present == 0 && *left_bytes > 0 {
            return Err(VarintError::Cut.into());
        }
        let from = self.taken;
        self.taken += present;
        *left_bytes -= present;
        Ok(self.window.get(from..self.taken).unwrap_or_default())
    }

    /// Takes the length of the next record, which is not larger than allowed.
    #[inline]
    fn next_size(&mut self) -> Result<usize, StreamError> {
        let mut view = self.fill(VARINT_BYTES_MAX)?;
        let before = view.len();
        let length = varint::read_varint(&mut view)?;
        let length_bytes = before - view.len();
        self.taken += length_bytes;
        let Ok(size_bytes) = usize::try_from(length) else {
            return Err(RecordStructureError::Length { length, left_bytes: 0 }.into());
        };
        if size_bytes > self.record_bytes_max {
            return Err(StreamError::TooLarge { size_bytes });
        }
        Ok(size_bytes)
    }

    /// Takes a record that fits the window; its length has been taken.
    #[inline]
    fn whole_record(&mut self, size_bytes: usize) -> Result<RawRecord<'_>, StreamError> {
        let left_bytes = self.fill(size_bytes)?.len();
        if left_bytes < size_bytes {
            // The window is smaller than what a length counts to.
            let length = i32::try_from(size_bytes).unwrap_or(i32::MAX);
            return Err(RecordStructureError::Length { length, left_bytes }.into());
        }
        let from = self.taken;
        self.taken += size_bytes;
        let body = self.window.get(from..self.taken).unwrap_or_default();
        Ok(RawRecord::read_body(body)?)
    }

    /// Whether nothing follows. Reads on to the end of the stream, where some codecs keep a checksum.
    pub(super) fn is_at_end(&mut self) -> Result<bool, CompressionError> {
        Ok(self.fill(1)?.is_empty())
    }

    /// How many bytes of records have been decompressed.
    pub(super) const fn taken_bytes(&self) -> usize {
        self.decoder.produced_bytes()
    }

    /// Everything in the window, which is at least `wanted` bytes unless the data end before.
    #[inline]
    fn fill(&mut self, wanted: usize) -> Result<&[u8], CompressionError> {
        if self.filled - self.taken < wanted && !self.ended {
            self.refill(wanted)?;
        }
        Ok(self.window.get(self.taken..self.filled).unwrap_or_default())
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> Result<(), CompressionError> {
        debug_assert!(wanted <= self.window.len());
        self.window.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        while self.filled < wanted && !self.ended {
            let room = self.window.get_mut(self.filled..).unwrap_or_default();
            let read = self.decoder.read(room)?;
            self.filled += read;
            self.ended = read == 0;
        }
        Ok(())
    }

    /// Walks a record that does not fit the window; its length has been taken.
    #[cold]
    fn walk_large(&mut self, size_bytes: usize) -> Result<RecordSummary, StreamError> {
        let mut left = size_bytes;
        let (timestamp_delta_ms, offset_delta) = self.large_head(&mut left)?;
        let has_key = self.skip_nullable(&mut left)?;
        self.skip_nullable(&mut left)?;
        let count = self.number(&mut left, varint::read_varint)?;
        for _ in 0..checked_header_count(count, left)? {
            let key_length = self.number(&mut left, varint::read_varint)?;
            self.skip(&mut left, key_length)?;
            self.skip_nullable(&mut left)?;
        }
        if left > 0 {
            return Err(RecordStructureError::Surplus { surplus_bytes: left }.into());
        }
        Ok(RecordSummary { timestamp_delta_ms, offset_delta, has_key })
    }

    /// Takes what stands before the key of a record that does not fit the window.
    fn large_head(&mut self, left: &mut usize) -> Result<(i64, i32), StreamError> {
        self.skip(left, 1)?; // attributes
        let timestamp_delta_ms = self.number(left, varint::read_varlong)?;
        let offset_delta = self.number(left, varint::read_varint)?;
        Ok((timestamp_delta_ms, offset_delta))
    }

    fn number<T>(
        &mut self,
        left: &mut usize,
        read: impl FnOnce(&mut &[u8]) -> Result<T, VarintError>,
    ) -> Result<T, StreamError> {
        let view = self.fill(VARLONG_BYTES_MAX)?;
        let mut rest = view.get(..view.len().min(*left)).unwrap_or_default();
        let before = rest.len();
        let number = read(&mut rest)?;
        let taken = before - rest.len();
        self.taken += taken;
        *left -= taken;
        Ok(number)
    }

    /// Whether there was anything to skip, if only an empty field.
    fn skip_nullable(&mut self, left: &mut usize) -> Result<bool, StreamError> {
        let length = self.number(left, varint::read_varint)?;
        if length < 0 {
            return Ok(false);
        }
        self.skip(left, length)?;
        Ok(true)
    }

    fn skip(&mut self, left: &mut usize, length: i32) -> Result<(), StreamError> {
        let outside = RecordStructureError::Length { length, left_bytes: *left };
        let mut wanted = usize::try_from(length).map_err(|_| outside)?;
        *left = left.checked_sub(wanted).ok_or(outside)?;
        while wanted > 0 {
            let present = self.fill(1)?.len();
            if present == 0 {
                return Err(outside.into());
            }
            let step = present.min(wanted);
            self.taken += step;
            wanted -= step;
        }
        Ok(())
    }
}
