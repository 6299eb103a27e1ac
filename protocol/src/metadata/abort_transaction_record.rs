//! Metadata record 25, version 0 (KIP-866).

use compact_str::CompactString;

use crate::Message;

/// A metadata transaction ends, and its records count for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 25, versions = 0..=0, flexible = 0)]
pub struct AbortTransactionRecord {
    /// Why, or null.
    #[field(tag = 0, nullable)]
    pub reason: Option<CompactString>,
}
