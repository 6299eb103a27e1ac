//! Snapshot header and footer (control record types 3 and 4), version 0: the first and last batch of a metadata snapshot.

use crate::Message;

/// The value of a snapshot's first batch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0, flexible = 0)]
pub struct SnapshotHeaderRecord {
    /// The version that the writer used for this value.
    pub version: i16,
    /// The append time of the last batch that the snapshot covers, in milliseconds.
    pub last_contained_log_timestamp: i64,
}

/// The value of a snapshot's last batch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0, flexible = 0)]
pub struct SnapshotFooterRecord {
    /// The version that the writer used for this value.
    pub version: i16,
}
