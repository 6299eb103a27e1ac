//! Metadata record 26, version 0.

use compact_str::CompactString;

use crate::Message;

/// A delegation token is removed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 26, versions = 0..=0, flexible = 0)]
pub struct RemoveDelegationTokenRecord {
    /// The token's id.
    pub token_id: CompactString,
}
