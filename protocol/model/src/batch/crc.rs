//! The checksum of a batch: CRC-32C over everything from the attributes on. Base offset and leader epoch lie before
//! them, so that a broker can set both without computing it again.

use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use crate::crc32c;

/// Where the checksum stands.
pub(crate) const CRC_AT: usize = 17;
/// Where the bytes that it covers begin.
pub(crate) const CRC_FROM: usize = 21;

/// A batch whose bytes are not what its checksum was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the batch's checksum says {stored:#010x}, its bytes give {computed:#010x}")]
pub struct CrcMismatch {
    /// What the header says.
    pub stored: u32,
    /// What the bytes give.
    pub computed: u32,
}

/// The checksum of a batch given as its header and its body.
#[must_use]
pub fn compute(header: &[u8; BATCH_HEADER_BYTES], body: &[u8]) -> u32 {
    let (_, covered) = header.split_at(CRC_FROM);
    crc32c::append(crc32c::checksum(covered), body)
}

/// The checksum of a whole batch, from its base offset on.
pub(super) fn of_batch(batch: &[u8]) -> u32 {
    crc32c::checksum(batch.get(CRC_FROM..).unwrap_or_default())
}

/// Compares a whole batch with the checksum in it; `batch` begins at the base offset and ends with the last record.
///
/// # Errors
/// Gives both numbers when they differ.
pub fn verify(header: &BatchHeader, batch: &[u8]) -> Result<(), CrcMismatch> {
    let computed = of_batch(batch);
    let stored = header.crc();
    if stored == computed { Ok(()) } else { Err(CrcMismatch { stored, computed }) }
}
