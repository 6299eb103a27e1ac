//! Control records: what logs say to their readers, not producers to consumers. The key carries a version and a type;
//! the values of KRaft's types are messages of the protocol and pass here as bytes.

use super::builder::{BatchBuilder, BuildError};
use super::checked::CheckedBatch;
use crate::compression::Compression;
use crate::{ProducerEpoch, ProducerId};

/// What a control record says. A type that this list does not know survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControlRecordType(i16);

impl ControlRecordType {
    /// A transaction ended and its records do not count.
    pub const ABORT: Self = Self(0);
    /// A transaction ended and its records count.
    pub const COMMIT: Self = Self(1);
    /// A controller has taken the lead (KIP-595).
    pub const LEADER_CHANGE: Self = Self(2);
    /// A snapshot begins (KIP-630).
    pub const SNAPSHOT_HEADER: Self = Self(3);
    /// A snapshot ends (KIP-630).
    pub const SNAPSHOT_FOOTER: Self = Self(4);
    /// The level of `kraft.version` (KIP-853).
    pub const KRAFT_VERSION: Self = Self(5);
    /// The controllers that vote (KIP-853).
    pub const KRAFT_VOTERS: Self = Self(6);

    /// The type with this number.
    #[must_use]
    pub const fn new(id: i16) -> Self {
        Self(id)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> i16 {
        self.0
    }
}

/// The version of the keys that are written, and of transaction markers.
const VERSION: i16 = 0;

/// Why bytes are no control record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// Too few bytes.
    #[error("a control record's field has {present} bytes, {needed} are needed")]
    Short {
        /// How many there are.
        present: usize,
        /// How many there must be at least.
        needed: usize,
    },
    /// A negative version.
    #[error("a control record has version {version}")]
    Version {
        /// The version.
        version: i16,
    },
    /// No transaction marker, where one was to be.
    #[error("a control record of type {} where a transaction marker was expected", .kind.get())]
    NoMarker {
        /// What it is.
        kind: ControlRecordType,
    },
}

/// The key of a control record.
#[must_use]
pub const fn control_key(kind: ControlRecordType) -> [u8; 4] {
    let [v0, v1] = VERSION.to_be_bytes();
    let [t0, t1] = kind.get().to_be_bytes();
    [v0, v1, t0, t1]
}

/// Reads the key of a control record. Newer versions may append fields, which are skipped.
///
/// # Errors
/// If there are fewer than four bytes or the version is negative.
pub fn parse_control_key(key: &[u8]) -> Result<ControlRecordType, ControlError> {
    let (_, rest) = parse_version(key, 4)?;
    let kind = rest.first_chunk().ok_or(ControlError::Short { present: key.len(), needed: 4 })?;
    Ok(ControlRecordType::new(i16::from_be_bytes(*kind)))
}

/// The end of a transaction on one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndTxnMarker {
    /// Whether its records count.
    pub committed: bool,
    /// The epoch of the coordinator that decided so.
    pub coordinator_epoch: i32,
}

impl EndTxnMarker {
    /// Reads the marker from a control record's key and value.
    ///
    /// # Errors
    /// If the record is no marker.
    pub fn parse(key: &[u8], value: &[u8]) -> Result<Self, ControlError> {
        let kind = parse_control_key(key)?;
        let committed = match kind {
            ControlRecordType::ABORT => false,
            ControlRecordType::COMMIT => true,
            _ => return Err(ControlError::NoMarker { kind }),
        };
        let (_, rest) = parse_version(value, 6)?;
        let epoch = rest.first_chunk().ok_or(ControlError::Short { present: value.len(), needed: 6 })?;
        Ok(Self { committed, coordinator_epoch: i32::from_be_bytes(*epoch) })
    }

    /// What the control record says.
    #[must_use]
    pub const fn kind(self) -> ControlRecordType {
        if self.committed { ControlRecordType::COMMIT } else { ControlRecordType::ABORT }
    }

    /// The value of the control record.
    #[must_use]
    pub const fn value(self) -> [u8; 6] {
        let [v0, v1] = VERSION.to_be_bytes();
        let [e0, e1, e2, e3] = self.coordinator_epoch.to_be_bytes();
        [v0, v1, e0, e1, e2, e3]
    }

    /// The batch that ends a producer's transaction: one record, transactional, without a sequence.
    ///
    /// # Errors
    /// None in practice: one small record always fits.
    pub fn to_batch(
        self,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        timestamp_ms: i64,
    ) -> Result<CheckedBatch, BuildError> {
        let mut builder = BatchBuilder::new(Compression::NONE)
            .with_producer(producer_id, producer_epoch, super::NO_SEQUENCE)
            .with_transactional(true)
            .with_control(true);
        builder.append_control(self.kind(), timestamp_ms, &self.value())?;
        builder.finish()
    }
}

fn parse_version(bytes: &[u8], needed: usize) -> Result<(i16, &[u8]), ControlError> {
    let short = ControlError::Short { present: bytes.len(), needed };
    let (version, rest) = bytes.split_first_chunk().ok_or(short)?;
    let version = i16::from_be_bytes(*version);
    if version < 0 {
        return Err(ControlError::Version { version });
    }
    Ok((version, rest))
}
