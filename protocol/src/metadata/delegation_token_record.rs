//! Metadata record 10, version 0.

use compact_str::CompactString;

use crate::Message;

/// A delegation token is made or renewed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 10, versions = 0..=0, flexible = 0)]
pub struct DelegationTokenRecord {
    /// Whose token it is.
    pub owner: CompactString,
    /// Who asked for it.
    pub requester: CompactString,
    /// Who may renew it.
    pub renewers: Vec<CompactString>,
    /// When it was made, in milliseconds.
    pub issue_timestamp: i64,
    /// When it ends for good, in milliseconds.
    pub max_timestamp: i64,
    /// When it ends unless it is renewed, in milliseconds.
    pub expiration_timestamp: i64,
    /// The token's id.
    pub token_id: CompactString,
}
