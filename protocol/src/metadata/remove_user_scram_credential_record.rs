//! Metadata record 22, version 0 (KIP-900).

use compact_str::CompactString;

use crate::Message;

/// A user's SCRAM credential is removed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 22, versions = 0..=0, flexible = 0)]
pub struct RemoveUserScramCredentialRecord {
    /// The user.
    pub name: CompactString,
    /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    pub mechanism: i8,
}
