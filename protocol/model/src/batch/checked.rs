//! A batch that may be appended: header and records agree, and the checksum is right. Where it will stand is set here,
//! in a copy of the header; the records stay the bytes they came as.

use bytes::{Bytes, BytesMut};

use super::attributes::{Attributes, TimestampType};
use super::crc::{self, CRC_AT, CRC_FROM, CrcMismatch};
use super::header::{BATCH_HEADER_BYTES, BatchError, BatchHeader};
use super::record::{Records, RecordsError};
use crate::{LeaderEpoch, Offset};

const LEADER_EPOCH_AT: usize = 12;
const MAX_TIMESTAMP_AT: usize = 35;

/// A batch ready to be appended. It comes from [`check_batch`](super::check_batch), from a
/// [`BatchBuilder`](super::BatchBuilder), or from a leader that had checked it.
///
/// Invariant: `header` is what `header_bytes` say, `body` has the length and the checksum that they name.
#[derive(Debug, Clone)]
pub struct CheckedBatch {
    header: BatchHeader,
    header_bytes: [u8; BATCH_HEADER_BYTES],
    body: Bytes,
}

/// Why bytes that a leader sent are not a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaBatchError {
    /// They have not the shape of one.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// They were damaged.
    #[error(transparent)]
    Crc(#[from] CrcMismatch),
}

impl CheckedBatch {
    /// A batch that a leader has checked and placed: exactly one, whole, with a right checksum. Its records are not
    /// looked at.
    ///
    /// # Errors
    /// If the bytes are not that.
    pub fn from_leader(bytes: &Bytes) -> Result<Self, ReplicaBatchError> {
        let header = BatchHeader::parse(bytes)?;
        if header.size() != bytes.len() {
            return Err(BatchError::Cut { size: header.size(), present: bytes.len() }.into());
        }
        crc::verify(&header, bytes)?;
        Ok(Self::new(bytes))
    }

    /// `bytes` are exactly one batch with a right checksum: the caller has seen to it.
    pub(crate) fn new(bytes: &Bytes) -> Self {
        let header_bytes = *bytes.first_chunk().expect("a batch has a header");
        let header = BatchHeader::parse(&header_bytes).expect("a batch that was checked has a right header");
        assert_eq!(header.size(), bytes.len(), "a batch is as long as its header says");
        Self { header, header_bytes, body: bytes.slice(BATCH_HEADER_BYTES..) }
    }

    /// The header as it now is.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch's size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.header.size()
    }

    /// The offset of the first record.
    #[must_use]
    pub const fn base_offset(&self) -> Offset {
        self.header.base_offset()
    }

    /// The offset of the last record.
    #[must_use]
    pub const fn last_offset(&self) -> Offset {
        self.header.last_offset()
    }

    /// The largest timestamp of the records, or the time of the append; −1 if they have none.
    #[must_use]
    pub const fn max_timestamp_ms(&self) -> i64 {
        self.header.max_timestamp_ms()
    }

    /// Gives the batch its place in the log. The checksum does not cover it.
    ///
    /// # Panics
    /// If the place is negative or the last record's would be beyond the last there is.
    pub fn assign(&mut self, base_offset: Offset, leader_epoch: LeaderEpoch) {
        assert!(base_offset >= Offset::ZERO, "a batch cannot begin at offset {base_offset}");
        let last = base_offset.checked_add(i64::from(self.header.last_offset_delta()));
        assert!(
            last.is_some(),
            "the batch that begins at offset {base_offset} would end beyond the last one"
        );
        self.put(0, base_offset.get().to_be_bytes());
        self.put(LEADER_EPOCH_AT, leader_epoch.get().to_be_bytes());
        self.reread();
    }

    /// Gives all records one time, that of the append.
    pub fn stamp_log_append_time(&mut self, now_ms: i64) {
        self.set_timestamp(TimestampType::LogAppendTime, now_ms);
    }

    /// Sets timestamp type and largest timestamp. If either changes, undefined attribute bits fall, as in Kafka, and
    /// the checksum is made anew.
    pub(crate) fn set_timestamp(&mut self, timestamp_type: TimestampType, max_timestamp_ms: i64) {
        if self.header.timestamp_type() == timestamp_type && self.max_timestamp_ms() == max_timestamp_ms {
            return;
        }
        let attributes: Attributes =
            self.header.attributes().only_defined().with_timestamp_type(timestamp_type);
        self.put(CRC_FROM, attributes.get().to_be_bytes());
        self.put(MAX_TIMESTAMP_AT, max_timestamp_ms.to_be_bytes());
        let crc = crc::compute(&self.header_bytes, &self.body);
        self.put(CRC_AT, crc.to_be_bytes());
        self.reread();
    }

    /// Header and records, to be written one after the other.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 2] {
        [&self.header_bytes, &self.body]
    }

    /// The records as they are stored.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// Header and records in one piece, copied.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(self.size());
        for part in self.parts() {
            bytes.extend_from_slice(part);
        }
        bytes.freeze()
    }

    /// The records: a slice of the batch when it is not compressed, else decompressed, up to `limit_bytes`.
    ///
    /// # Errors
    /// If the codec is unknown, the data are not its, or hold more than `limit_bytes`.
    pub fn records(&self, limit_bytes: usize) -> Result<Records, RecordsError> {
        Records::read(&self.header, self.body.clone(), limit_bytes)
    }

    fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        self.header_bytes.get_mut(at..at + N).expect("fields lie within the header").copy_from_slice(&bytes);
    }

    fn reread(&mut self) {
        self.header =
            BatchHeader::parse(&self.header_bytes).expect("a changed header still has magic and length");
    }
}
