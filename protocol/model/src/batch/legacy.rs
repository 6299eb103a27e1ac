//! Messages of magic 0 and 1, which Kafka wrote until 2017 and old segments still hold. They are read, never written:
//! a plain message is a batch of one, a compressed one has its messages inside. Magic 0 knows no time.

use bytes::Bytes;
use flate2::Crc;

use super::attributes::{Attributes, TimestampType};
use super::crc::CrcMismatch;
use super::header::{BATCH_PEEK_BYTES, BATCH_PREFIX_BYTES, BatchError, BatchFrame};
use super::record::NO_TIMESTAMP_MS;
use crate::Offset;
use crate::compression::{Codec, CompressionError, decompress, decompress_magic_0};

/// Where the bytes that the checksum covers begin: at the magic.
pub const LEGACY_CRC_FROM: usize = 16;
/// Where magic 1 has its timestamp, and magic 0 its key.
const TIMESTAMP_AT: usize = 18;

/// Why a message cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LegacyError {
    /// Its frame, or that of a message in it, is none.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Its bytes are damaged.
    #[error(transparent)]
    Crc(#[from] CrcMismatch),
    /// It ends before its fields do.
    #[error("a message of magic {magic} has a field that leads beyond its end")]
    Field {
        /// The message's magic.
        magic: i8,
    },
    /// No codec has the number.
    #[error("no codec has number {id}")]
    UnknownCodec {
        /// The number.
        id: u8,
    },
    /// The messages in it do not decompress, or would grow beyond the bound.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// It is compressed and holds nothing, or something that may not be inside.
    #[error("a compressed message of magic {magic} does not hold plain ones of its magic")]
    Nesting {
        /// The outer message's magic.
        magic: i8,
    },
}

/// What the front of a message says: enough for a walk over a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyHeader {
    frame: BatchFrame,
    crc: u32,
    timestamp_ms: i64,
}

impl LegacyHeader {
    /// Reads the front of the message at the start of `bytes`, which need not be there as a whole. None means that more
    /// bytes are needed to tell; 30 are always enough.
    ///
    /// # Errors
    /// If no message of magic 0 or 1 begins there: by its length, its magic, or a key that it has no room for.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, BatchError> {
        let Some(frame) = BatchFrame::peek(bytes)? else { return Ok(None) };
        let magic = frame.magic();
        let (key_at, timestamp_ms) = match magic {
            0 => (TIMESTAMP_AT, Some(NO_TIMESTAMP_MS)),
            1 => (TIMESTAMP_AT + 8, chunk(bytes, TIMESTAMP_AT).map(i64::from_be_bytes)),
            _ => return Err(BatchError::Magic { magic }),
        };
        // The lengths of key and value come last.
        let Some(room) = frame.size().checked_sub(key_at + 8) else {
            let length = i32::try_from(frame.size() - BATCH_PREFIX_BYTES).unwrap_or(i32::MAX);
            return Err(BatchError::Length { length });
        };
        let crc = chunk(bytes, BATCH_PREFIX_BYTES).map(u32::from_be_bytes);
        let key = chunk(bytes, key_at).map(i32::from_be_bytes);
        let (Some(crc), Some(timestamp_ms), Some(key)) = (crc, timestamp_ms, key) else { return Ok(None) };
        match usize::try_from(key) {
            Ok(key) if key > room => Err(BatchError::Magic { magic }),
            Err(_) if key < -1 => Err(BatchError::Magic { magic }),
            _ => Ok(Some(Self { frame, crc, timestamp_ms })),
        }
    }

    /// The whole message's size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.frame.size()
    }

    /// 0 or 1.
    #[must_use]
    pub const fn magic(&self) -> i8 {
        self.frame.magic()
    }

    /// The offset of the last record in it.
    #[must_use]
    pub const fn last_offset(&self) -> Offset {
        self.frame.base_offset()
    }

    /// The largest timestamp of the records in it, or the time of the append; −1 in magic 0.
    #[must_use]
    pub const fn max_timestamp_ms(&self) -> i64 {
        self.timestamp_ms
    }

    /// The checksum that it carries: a CRC-32 of its bytes from [`LEGACY_CRC_FROM`] on.
    #[must_use]
    pub const fn crc(&self) -> u32 {
        self.crc
    }
}

/// A message's checksum, of bytes that are given piece by piece.
#[derive(Debug, Default)]
pub struct LegacyChecksum(Crc);

impl LegacyChecksum {
    /// Counts the next bytes of the message.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all of them.
    #[must_use]
    pub fn sum(&self) -> u32 {
        self.0.sum()
    }
}

/// A message with what is in it. Its checksum need not be right.
#[derive(Debug, Clone)]
pub struct LegacyBatch {
    frame: BatchFrame,
    attributes: Attributes,
    timestamp_ms: i64,
    bytes: Bytes,
    key: Option<Bytes>,
    value: Option<Bytes>,
}

/// A record of a magic 0 or 1 message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyRecord {
    /// Its place in the log.
    pub offset: Offset,
    /// Its time; −1 in magic 0.
    pub timestamp_ms: i64,
    /// Its key.
    pub key: Option<Bytes>,
    /// Its value.
    pub value: Option<Bytes>,
}

impl LegacyBatch {
    /// Takes the message at the start of `bytes`, none if it is not all there. The rest stays in `bytes`.
    ///
    /// # Errors
    /// If no message of magic 0 or 1 begins there; `bytes` stay as they were.
    pub fn split_first(bytes: &mut Bytes) -> Result<Option<Self>, LegacyError> {
        let Some(frame) = BatchFrame::peek(bytes)? else { return Ok(None) };
        let magic = frame.magic();
        if magic > 1 {
            return Err(BatchError::Magic { magic }.into());
        }
        if frame.size() > bytes.len() {
            return Ok(None);
        }
        let message = bytes.slice(..frame.size());
        let fields = Fields::take(magic, message.slice(BATCH_PEEK_BYTES..));
        let Fields { attributes, timestamp_ms, key, value } = fields.ok_or(LegacyError::Field { magic })?;
        let _ = bytes.split_to(frame.size());
        Ok(Some(Self { frame, attributes, timestamp_ms, bytes: message, key, value }))
    }

    /// The whole message's size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.frame.size()
    }

    /// 0 or 1.
    #[must_use]
    pub const fn magic(&self) -> i8 {
        self.frame.magic()
    }

    /// The offset of the last record in it. That of the first is known only after decompression.
    #[must_use]
    pub const fn last_offset(&self) -> Offset {
        self.frame.base_offset()
    }

    /// The codec of the messages in it, or none if no codec has the number.
    #[must_use]
    pub const fn codec(&self) -> Option<Codec> {
        self.attributes.codec()
    }

    /// Whose clock the timestamps are from; none in magic 0.
    #[must_use]
    pub const fn timestamp_type(&self) -> Option<TimestampType> {
        match self.magic() {
            0 => None,
            _ => Some(self.attributes.timestamp_type()),
        }
    }

    /// The largest timestamp of the records in it, or the time of the append; −1 in magic 0.
    #[must_use]
    pub const fn max_timestamp_ms(&self) -> i64 {
        self.timestamp_ms
    }

    /// Compares the bytes with the checksum, which is a CRC-32 here.
    ///
    /// # Errors
    /// Gives both checksums when they differ.
    pub fn verify_crc(&self) -> Result<(), CrcMismatch> {
        let covered = self.bytes.get(LEGACY_CRC_FROM..).unwrap_or_default();
        let stored = self.bytes.get(BATCH_PREFIX_BYTES..).and_then(<[u8]>::first_chunk);
        let stored = u32::from_be_bytes(stored.copied().unwrap_or_default());
        let mut crc = Crc::new();
        crc.update(covered);
        let computed = crc.sum();
        if stored == computed { Ok(()) } else { Err(CrcMismatch { stored, computed }) }
    }

    /// The records in it, decompressed up to `limit_bytes`.
    ///
    /// # Errors
    /// If the codec is unknown, the data are not its, hold more than `limit_bytes`, or are not plain messages of the
    /// same magic.
    pub fn records(&self, limit_bytes: usize) -> Result<Vec<LegacyRecord>, LegacyError> {
        let id = self.attributes.codec_id();
        let codec = self.codec().ok_or(LegacyError::UnknownCodec { id })?;
        if codec == Codec::None {
            return Ok(vec![self.record(self.last_offset(), self.timestamp_ms)]);
        }
        let magic = self.magic();
        let value = self.value.as_ref().ok_or(LegacyError::Nesting { magic })?;
        let mut block: Bytes = match magic {
            0 => decompress_magic_0(codec, value, limit_bytes),
            _ => decompress(codec, value, limit_bytes),
        }?
        .into();
        let mut inner = Vec::new();
        while let Some(message) = Self::split_first(&mut block)? {
            if message.magic() != magic || message.codec() != Some(Codec::None) {
                return Err(LegacyError::Nesting { magic });
            }
            message.verify_crc()?;
            inner.push(message);
        }
        match inner.last() {
            Some(last) if block.is_empty() => Ok(self.place(&inner, last.last_offset())),
            _ => Err(LegacyError::Nesting { magic }),
        }
    }

    /// Offsets inside a message of magic 1 count from any number; the outer offset is that of the last.
    fn place(&self, inner: &[Self], last: Offset) -> Vec<LegacyRecord> {
        let shift = match self.magic() {
            0 => 0,
            _ => self.last_offset().get().wrapping_sub(last.get()),
        };
        let appended = self.timestamp_type() == Some(TimestampType::LogAppendTime);
        let placed = inner.iter().map(|message| {
            let offset = Offset::new(message.last_offset().get().wrapping_add(shift));
            message.record(offset, if appended { self.timestamp_ms } else { message.timestamp_ms })
        });
        placed.collect()
    }

    fn record(&self, offset: Offset, timestamp_ms: i64) -> LegacyRecord {
        LegacyRecord { offset, timestamp_ms, key: self.key.clone(), value: self.value.clone() }
    }
}

/// What follows the magic.
struct Fields {
    attributes: Attributes,
    timestamp_ms: i64,
    key: Option<Bytes>,
    value: Option<Bytes>,
}

impl Fields {
    fn take(magic: i8, mut rest: Bytes) -> Option<Self> {
        let attributes = Attributes::new(i16::from(*take(&mut rest, 1)?.first()?));
        let timestamp_ms = match magic {
            0 => NO_TIMESTAMP_MS,
            _ => i64::from_be_bytes(*take(&mut rest, 8)?.first_chunk()?),
        };
        let key = take_nullable(&mut rest)?;
        let value = take_nullable(&mut rest)?;
        Some(Self { attributes, timestamp_ms, key, value })
    }
}

fn take(rest: &mut Bytes, length: usize) -> Option<Bytes> {
    (length <= rest.len()).then(|| rest.split_to(length))
}

/// The bytes of a number at a place.
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Some(None) is a field that is null.
fn take_nullable(rest: &mut Bytes) -> Option<Option<Bytes>> {
    let length = i32::from_be_bytes(*take(rest, 4)?.first_chunk()?);
    match usize::try_from(length) {
        Ok(length) => take(rest, length).map(Some),
        Err(_) => Some(None),
    }
}
