//! The records of a batch, one after the other, without a copy of key, value or headers. What is accepted is what
//! Kafka's reader accepts: any negative key or value length means null, bits of the record's attributes mean nothing.

use bytes::Bytes;

use super::attributes::TimestampType;
use super::header::BatchHeader;
use crate::Offset;
use crate::compression::{self, Codec, CompressionError};
use crate::varint::{self, VarintError};

/// The timestamp of a record that has none.
pub const NO_TIMESTAMP_MS: i64 = -1;

/// What is wrong with a record's own bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordStructureError {
    /// A number in it is none.
    #[error(transparent)]
    Varint(#[from] VarintError),
    /// A length is negative where none may be, or leads beyond the end.
    #[error("a length of {length} where {left_bytes} bytes are left")]
    Length {
        /// The length.
        length: i32,
        /// What it may be at most.
        left_bytes: usize,
    },
    /// The number of headers is negative or larger than what is left.
    #[error("a record with {count} headers in {left_bytes} bytes")]
    HeaderCount {
        /// The number.
        count: i32,
        /// The bytes after it.
        left_bytes: usize,
    },
    /// The record's own length says more than its fields take.
    #[error("a record's length leaves {surplus_bytes} bytes after its last field")]
    Surplus {
        /// How many.
        surplus_bytes: usize,
    },
}

/// Why the records of a batch cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The header's number of records is negative.
    #[error("a batch with {count} records")]
    Count {
        /// The number.
        count: i32,
    },
    /// No codec has the number.
    #[error("no codec has number {id}")]
    UnknownCodec {
        /// The number.
        id: u8,
    },
    /// The records do not decompress, or would grow beyond the bound.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// One record is none.
    #[error("record {index}: {source}")]
    Record {
        /// Its place in the batch, from 0.
        index: i32,
        /// What is wrong with it.
        source: RecordStructureError,
    },
    /// Something follows the last record.
    #[error("bytes follow the last of {count} records")]
    Trailing {
        /// How many records there were to be.
        count: i32,
    },
}

/// The decompressed records of one batch.
#[derive(Debug, Clone)]
pub struct Records {
    header: BatchHeader,
    block: Bytes,
}

impl Records {
    pub(crate) fn read(header: &BatchHeader, body: Bytes, limit_bytes: usize) -> Result<Self, RecordsError> {
        let count = header.record_count();
        if count < 0 {
            return Err(RecordsError::Count { count });
        }
        let id = header.attributes().codec_id();
        let block = match header.codec().ok_or(RecordsError::UnknownCodec { id })? {
            Codec::None => body,
            _ if count == 0 => Bytes::new(),
            codec => compression::decompress(codec, &body, limit_bytes)?.into(),
        };
        Ok(Self { header: *header, block })
    }

    /// The header of the batch.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// All records in one piece, as they are before compression. What a [`RecordView`] borrows lies in here, so that
    /// [`Bytes::slice_ref`] makes it outlive the view.
    #[must_use]
    pub const fn block(&self) -> &Bytes {
        &self.block
    }

    /// The records in order. The iterator ends after its first error.
    #[must_use]
    pub fn iter(&self) -> RecordIter<'_> {
        RecordIter { header: &self.header, rest: &self.block, index: 0, count: self.header.record_count() }
    }
}

impl<'a> IntoIterator for &'a Records {
    type Item = Result<RecordView<'a>, RecordsError>;
    type IntoIter = RecordIter<'a>;

    fn into_iter(self) -> RecordIter<'a> {
        self.iter()
    }
}

/// The records of a batch in order.
#[derive(Debug, Clone)]
pub struct RecordIter<'a> {
    header: &'a BatchHeader,
    rest: &'a [u8],
    index: i32,
    count: i32,
}

impl<'a> RecordIter<'a> {
    fn read_next(&mut self) -> Result<RecordView<'a>, RecordsError> {
        let index = self.index;
        let raw = RawRecord::read(&mut self.rest).map_err(|source| RecordsError::Record { index, source })?;
        self.index += 1;
        if self.index == self.count && !self.rest.is_empty() {
            return Err(RecordsError::Trailing { count: self.count });
        }
        Ok(RecordView::new(self.header, raw))
    }
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<RecordView<'a>, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.count {
            return None;
        }
        let next = self.read_next();
        if next.is_err() {
            self.index = self.count;
        }
        Some(next)
    }
}

/// One record.
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    /// Its place in the log.
    pub offset: Offset,
    /// Its time: the producer's, or the append's where the batch says so; −1 means none.
    pub timestamp_ms: i64,
    /// The key; none is not the same as an empty one.
    pub key: Option<&'a [u8]>,
    /// The value; without one the record is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: Headers<'a>,
    /// The offset less the batch's base offset: added to the base sequence it gives the record's sequence.
    pub offset_delta: i32,
}

impl<'a> RecordView<'a> {
    fn new(header: &BatchHeader, raw: RawRecord<'a>) -> Self {
        let base = header.base_offset().get();
        Self {
            offset: Offset::new(base.wrapping_add(i64::from(raw.offset_delta))),
            timestamp_ms: record_timestamp_ms(header, raw.timestamp_delta_ms),
            key: raw.key,
            value: raw.value,
            headers: raw.headers,
            offset_delta: raw.offset_delta,
        }
    }
}

/// The timestamp of a record as Kafka reports it.
#[inline]
pub(super) const fn record_timestamp_ms(header: &BatchHeader, delta_ms: i64) -> i64 {
    match header.timestamp_type() {
        TimestampType::CreateTime => header.base_timestamp_ms().wrapping_add(delta_ms),
        TimestampType::LogAppendTime => header.max_timestamp_ms(),
    }
}

/// The headers of a record: keys, which may repeat and should be UTF-8, and values, which may be absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl Headers<'_> {
    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.count = self.count.checked_sub(1)?;
        // The bytes were walked when the record was read, so this cannot fail.
        let key = read_nullable(&mut self.bytes).ok().flatten()?;
        let value = read_nullable(&mut self.bytes).ok()?;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// A record's fields as they stand, relative to its batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawRecord<'a> {
    pub(super) timestamp_delta_ms: i64,
    pub(super) offset_delta: i32,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    pub(super) headers: Headers<'a>,
}

impl<'a> RawRecord<'a> {
    /// Takes one record with its length off the front of `input`.
    #[inline]
    pub(super) fn read(input: &mut &'a [u8]) -> Result<Self, RecordStructureError> {
        let length = varint::read_varint(input)?;
        let body = take(input, length)?;
        Self::read_body(body)
    }

    /// Reads a record whose length is that of `body`.
    #[inline]
    pub(super) fn read_body(body: &'a [u8]) -> Result<Self, RecordStructureError> {
        let Some((_attributes, mut rest)) = body.split_first() else { return Err(VarintError::Cut.into()) };
        let timestamp_delta_ms = varint::read_varlong(&mut rest)?;
        let offset_delta = varint::read_varint(&mut rest)?;
        let key = read_nullable(&mut rest)?;
        let value = read_nullable(&mut rest)?;
        let headers = read_headers(&mut rest)?;
        if !rest.is_empty() {
            return Err(RecordStructureError::Surplus { surplus_bytes: rest.len() });
        }
        Ok(Self { timestamp_delta_ms, offset_delta, key, value, headers })
    }
}

#[inline]
fn read_headers<'a>(input: &mut &'a [u8]) -> Result<Headers<'a>, RecordStructureError> {
    let count = checked_header_count(varint::read_varint(input)?, input.len())?;
    let bytes = *input;
    for _ in 0..count {
        let key_length = varint::read_varint(input)?;
        take(input, key_length)?;
        read_nullable(input)?;
    }
    Ok(Headers { count, bytes })
}

/// Compares a number of headers with the bytes after it: as in Kafka, one byte each is the least.
#[inline]
pub(super) fn checked_header_count(count: i32, left_bytes: usize) -> Result<usize, RecordStructureError> {
    match usize::try_from(count) {
        Ok(count) if count <= left_bytes => Ok(count),
        _ => Err(RecordStructureError::HeaderCount { count, left_bytes }),
    }
}

#[inline]
fn read_nullable<'a>(input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, RecordStructureError> {
    let length = varint::read_varint(input)?;
    if length < 0 {
        return Ok(None);
    }
    take(input, length).map(Some)
}

#[inline]
fn take<'a>(input: &mut &'a [u8], length: i32) -> Result<&'a [u8], RecordStructureError> {
    let split = usize::try_from(length).ok().and_then(|length| input.split_at_checked(length));
    let Some((taken, rest)) = split else {
        return Err(RecordStructureError::Length { length, left_bytes: input.len() });
    };
    *input = rest;
    Ok(taken)
}
