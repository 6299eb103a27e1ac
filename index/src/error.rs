//! Why an entry was refused.

use crate::entry::RelativeOffset;

/// An entry that would break the order of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Offsets only go up.
    #[error("an entry for relative offset {offset} cannot follow one for {last}")]
    OffsetNotAscending {
        /// The refused entry's offset.
        offset: RelativeOffset,
        /// The last entry's offset.
        last: RelativeOffset,
    },
    /// Timestamps never go down.
    #[error("an entry for timestamp {timestamp_ms} cannot follow one for {last_ms}")]
    TimeDescending {
        /// The refused entry's timestamp.
        timestamp_ms: i64,
        /// The last entry's timestamp.
        last_ms: i64,
    },
}
