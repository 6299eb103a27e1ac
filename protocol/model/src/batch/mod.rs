//! The record batch, the unit that producers send, logs append and consumers fetch (KIP-98, magic 2). Reading goes from
//! [`BatchFrame`] (17 bytes, any magic) over [`BatchHeader`] to [`RecordBatch`] and its [`Records`]; writing from a
//! [`BatchBuilder`] or a client's bytes ([`check_batch`]) to a [`CheckedBatch`], the only thing that a log appends.
//! Nothing here knows a log, an error code or a topic.

mod attributes;
mod builder;
mod check;
mod checked;
mod control;
mod crc;
mod header;
mod legacy;
mod recompress;
mod record;
mod rules;
mod stream;

use bytes::Bytes;

pub use attributes::{Attributes, TimestampType};
pub use builder::{BatchBuilder, BuildError, NewRecord};
pub use check::{
    BatchRejection, RECORD_FAULTS_MAX, RecordFault, RecordFaultCause, check_batch, check_batch_within,
    check_framing,
};
pub use checked::{CheckedBatch, ReplicaBatchError};
pub use control::{ControlError, ControlRecordType, EndTxnMarker, control_key, parse_control_key};
pub use crc::{CrcMismatch, compute as compute_crc, verify as verify_crc};
pub use header::{
    BATCH_HEADER_BYTES, BATCH_PEEK_BYTES, BATCH_PREFIX_BYTES, BatchError, BatchFrame, BatchHeader, MAGIC,
    NO_SEQUENCE, sequence_after,
};
pub use legacy::{LEGACY_CRC_FROM, LegacyBatch, LegacyChecksum, LegacyError, LegacyHeader, LegacyRecord};
pub use record::{
    Headers, NO_TIMESTAMP_MS, RecordIter, RecordStructureError, RecordView, Records, RecordsError,
};
pub use rules::{BatchRules, CompressionTarget, DECOMPRESSED_BATCH_BYTES_MAX};

/// A whole magic 2 batch, as it lies in a file or a fetch answer. Its checksum need not be right.
#[derive(Debug, Clone)]
pub struct RecordBatch {
    header: BatchHeader,
    bytes: Bytes,
}

impl RecordBatch {
    /// Takes the batch at the start of `bytes`, none if it is not all there. The rest stays in `bytes`.
    ///
    /// # Errors
    /// If no magic 2 batch begins there; `bytes` stay as they were.
    pub fn split_first(bytes: &mut Bytes) -> Result<Option<Self>, BatchError> {
        let Some(frame) = BatchFrame::peek(bytes)? else { return Ok(None) };
        if frame.size() > bytes.len() {
            return Ok(None);
        }
        let header = BatchHeader::parse(bytes)?;
        Ok(Some(Self { header, bytes: bytes.split_to(frame.size()) }))
    }

    /// The numbers in front of the records.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Compares the bytes with the checksum.
    ///
    /// # Errors
    /// Gives both checksums when they differ.
    pub fn verify_crc(&self) -> Result<(), CrcMismatch> {
        crc::verify(&self.header, &self.bytes)
    }

    /// The records: a slice of the batch when it is not compressed, else decompressed, up to `limit_bytes`.
    ///
    /// # Errors
    /// If the codec is unknown, the data are not its, or hold more than `limit_bytes`.
    pub fn records(&self, limit_bytes: usize) -> Result<Records, RecordsError> {
        Records::read(&self.header, self.bytes.slice(BATCH_HEADER_BYTES..), limit_bytes)
    }
}
