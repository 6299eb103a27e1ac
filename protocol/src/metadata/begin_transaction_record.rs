//! Metadata record 23, version 0 (KIP-866).

use compact_str::CompactString;

use crate::Message;

/// A metadata transaction begins: records up to its end count together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 23, versions = 0..=0, flexible = 0)]
pub struct BeginTransactionRecord {
    /// What is done in it, or null.
    #[field(tag = 0, nullable)]
    pub name: Option<CompactString>,
}
