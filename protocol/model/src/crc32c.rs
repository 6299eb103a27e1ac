//! CRC-32C, the checksum of batches and of some small files. Which bytes it covers is the formats' matter.

use crc_fast::{CrcAlgorithm, Digest};

/// The checksum of these bytes.
#[must_use]
#[inline]
pub fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The checksum of what `crc` is the checksum of, and of these bytes behind it.
#[must_use]
pub fn append(crc: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!crc));
    digest.update(bytes);
    u32::try_from(digest.finalize() & u64::from(u32::MAX)).expect("32 bits of it are left")
}
