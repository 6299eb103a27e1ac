//! The 61 bytes in front of a batch's records (magic 2), and the 17 that every batch of any magic begins with. What
//! the numbers promise about the records is not checked here.

use super::attributes::{Attributes, TimestampType};
use crate::compression::Codec;
use crate::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// The size of a magic 2 header.
pub const BATCH_HEADER_BYTES: usize = 61;
/// Base offset and length: the bytes that the length does not count.
pub const BATCH_PREFIX_BYTES: usize = 12;
/// Up to the magic byte, which says how to go on.
pub const BATCH_PEEK_BYTES: usize = 17;
/// The least length that Kafka takes for a batch of any magic: the header of a magic 0 message.
const LENGTH_MIN: i32 = 14;
/// The magic that is written.
pub const MAGIC: i8 = 2;

/// Why bytes are no batch. What is merely not all there is no error: see [`BatchFrame::peek`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The length cannot be that of a batch.
    #[error("a batch's length field says {length}")]
    Length {
        /// The field's value: the bytes after it.
        length: i32,
    },
    /// The format's number is unknown.
    #[error("a batch has magic {magic}")]
    Magic {
        /// The magic byte.
        magic: i8,
    },
    /// The batch ends inside its header.
    #[error("a batch of {size} bytes has no room for its header of {BATCH_HEADER_BYTES}")]
    ShorterThanHeader {
        /// The batch's size, its first field included.
        size: usize,
    },
    /// Fewer bytes were given than the header has.
    #[error("{present} bytes hold no batch header of {BATCH_HEADER_BYTES}")]
    HeaderCut {
        /// How many there were.
        present: usize,
    },
    /// The bytes end before the batch does.
    #[error("a batch of {size} bytes is cut short after {present}")]
    Cut {
        /// The batch's size by its length field.
        size: usize,
        /// How many bytes there are.
        present: usize,
    },
}

/// What the first 17 bytes of a batch of any magic say: enough for a scan of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchFrame {
    base_offset: Offset,
    size: usize,
    magic: i8,
}

impl BatchFrame {
    /// Reads the frame at the start of `prefix`, which need not hold the whole batch: compare [`size`](Self::size)
    /// with what there is. None means that more bytes are needed to tell.
    ///
    /// # Errors
    /// If no continuation could make this a batch: a length below 14, or a magic other than 0, 1, 2.
    pub fn peek(prefix: &[u8]) -> Result<Option<Self>, BatchError> {
        let Some((base_offset, rest)) = prefix.split_first_chunk::<8>() else { return Ok(None) };
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = i32::from_be_bytes(*length);
        let body = match usize::try_from(length) {
            Ok(body) if length >= LENGTH_MIN => body,
            _ => return Err(BatchError::Length { length }),
        };
        let Some(&magic) = rest.get(4) else { return Ok(None) };
        let magic = magic.cast_signed();
        if !(0..=MAGIC).contains(&magic) {
            return Err(BatchError::Magic { magic });
        }
        let base_offset = Offset::new(i64::from_be_bytes(*base_offset));
        Ok(Some(Self { base_offset, size: BATCH_PREFIX_BYTES + body, magic }))
    }

    /// The first field: the first record's offset in magic 2, the last one's in magic 0 and 1.
    #[must_use]
    pub const fn base_offset(&self) -> Offset {
        self.base_offset
    }

    /// The whole batch's size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The format's number: 0, 1 or 2.
    #[must_use]
    pub const fn magic(&self) -> i8 {
        self.magic
    }
}

/// A magic 2 header. One exists only where 61 bytes said magic 2 and a length that has room for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    base_offset: Offset,
    size: usize,
    leader_epoch: LeaderEpoch,
    crc: u32,
    attributes: Attributes,
    last_offset_delta: i32,
    base_timestamp_ms: i64,
    max_timestamp_ms: i64,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    base_sequence: i32,
    record_count: i32,
}

impl BatchHeader {
    /// Reads the header at the start of `bytes`; the records need not be there. Numbers that no broker would accept
    /// (a negative count, say) are kept as they are.
    ///
    /// # Errors
    /// If there are fewer than 61 bytes, or length and magic are not those of a magic 2 batch.
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let cut = BatchError::HeaderCut { present: bytes.len() };
        let frame = BatchFrame::peek(bytes)?.ok_or(cut)?;
        if frame.magic != MAGIC {
            return Err(BatchError::Magic { magic: frame.magic });
        }
        if frame.size < BATCH_HEADER_BYTES {
            return Err(BatchError::ShorterThanHeader { size: frame.size });
        }
        let header = bytes.first_chunk::<BATCH_HEADER_BYTES>().ok_or(cut)?;
        Ok(Self {
            base_offset: frame.base_offset,
            size: frame.size,
            leader_epoch: LeaderEpoch::new(i32::from_be_bytes(field(header, 12))),
            crc: u32::from_be_bytes(field(header, 17)),
            attributes: Attributes::new(i16::from_be_bytes(field(header, 21))),
            last_offset_delta: i32::from_be_bytes(field(header, 23)),
            base_timestamp_ms: i64::from_be_bytes(field(header, 27)),
            max_timestamp_ms: i64::from_be_bytes(field(header, 35)),
            producer_id: ProducerId::new(i64::from_be_bytes(field(header, 43))),
            producer_epoch: ProducerEpoch::new(i16::from_be_bytes(field(header, 51))),
            base_sequence: i32::from_be_bytes(field(header, 53)),
            record_count: i32::from_be_bytes(field(header, 57)),
        })
    }

    /// The offset of the first record, or of the place where it was before compaction.
    #[must_use]
    pub const fn base_offset(&self) -> Offset {
        self.base_offset
    }

    /// The offset of the last record, or of the place where it was.
    #[must_use]
    pub const fn last_offset(&self) -> Offset {
        Offset::new(self.base_offset.get().saturating_add(self.last_offset_delta as i64))
    }

    /// The offset that the next batch may begin with.
    #[must_use]
    pub const fn next_offset(&self) -> Offset {
        Offset::new(self.last_offset().get().saturating_add(1))
    }

    /// The whole batch's size in bytes, header included.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The epoch of the leader that appended the batch.
    #[must_use]
    pub const fn leader_epoch(&self) -> LeaderEpoch {
        self.leader_epoch
    }

    /// The checksum that the header carries.
    #[must_use]
    pub const fn crc(&self) -> u32 {
        self.crc
    }

    /// The attribute bits.
    #[must_use]
    pub const fn attributes(&self) -> Attributes {
        self.attributes
    }

    /// The codec of the records, or none if no codec has the number.
    #[must_use]
    pub const fn codec(&self) -> Option<Codec> {
        self.attributes.codec()
    }

    /// Whose clock the timestamps are from.
    #[must_use]
    pub const fn timestamp_type(&self) -> TimestampType {
        self.attributes.timestamp_type()
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub const fn is_transactional(&self) -> bool {
        self.attributes.is_transactional()
    }

    /// Whether the batch holds control records.
    #[must_use]
    pub const fn is_control(&self) -> bool {
        self.attributes.is_control()
    }

    /// Until when compaction keeps the batch's tombstones and markers, if it has seen them.
    #[must_use]
    pub const fn delete_horizon_ms(&self) -> Option<i64> {
        if self.attributes.has_delete_horizon() { Some(self.base_timestamp_ms) } else { None }
    }

    /// The last offset less the base offset.
    #[must_use]
    pub const fn last_offset_delta(&self) -> i32 {
        self.last_offset_delta
    }

    /// What the records' timestamps are relative to.
    #[must_use]
    pub const fn base_timestamp_ms(&self) -> i64 {
        self.base_timestamp_ms
    }

    /// The largest timestamp of the records, or the time of the append; −1 if they have none.
    #[must_use]
    pub const fn max_timestamp_ms(&self) -> i64 {
        self.max_timestamp_ms
    }

    /// Who produced the batch.
    #[must_use]
    pub const fn producer_id(&self) -> ProducerId {
        self.producer_id
    }

    /// In which incarnation the producer did.
    #[must_use]
    pub const fn producer_epoch(&self) -> ProducerEpoch {
        self.producer_epoch
    }

    /// The producer's number for the first record, −1 without one.
    #[must_use]
    pub const fn base_sequence(&self) -> i32 {
        self.base_sequence
    }

    /// The producer's number for the last record, −1 without one. After 2³¹−1 comes 0.
    #[must_use]
    pub const fn last_sequence(&self) -> i32 {
        if self.base_sequence == NO_SEQUENCE {
            return NO_SEQUENCE;
        }
        sequence_after(self.base_sequence, self.last_offset_delta)
    }

    /// How many records there are now; compaction leaves fewer than the offsets span.
    #[must_use]
    pub const fn record_count(&self) -> i32 {
        self.record_count
    }
}

/// The sequence of a batch whose producer numbers nothing.
pub const NO_SEQUENCE: i32 = -1;

/// The sequence `by` further on: after 2³¹−1 comes 0.
#[must_use]
pub const fn sequence_after(sequence: i32, by: i32) -> i32 {
    if sequence > i32::MAX.wrapping_sub(by) {
        by.wrapping_sub(i32::MAX.wrapping_sub(sequence)).wrapping_sub(1)
    } else {
        sequence.wrapping_add(by)
    }
}

/// The `N` bytes at `at`, which callers keep within the header.
fn field<const N: usize>(header: &[u8; BATCH_HEADER_BYTES], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    if let Some(found) = header.get(at..at + N) {
        bytes.copy_from_slice(found);
    }
    bytes
}
