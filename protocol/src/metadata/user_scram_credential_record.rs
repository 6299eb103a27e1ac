//! Metadata record 11, version 0 (KIP-900).

use bytes::Bytes;
use compact_str::CompactString;

use crate::Message;

/// A user's SCRAM credential is set.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 11, versions = 0..=0, flexible = 0)]
pub struct UserScramCredentialRecord {
    /// The user.
    pub name: CompactString,
    /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    pub mechanism: i8,
    /// The salt of the iterated hash.
    pub salt: Bytes,
    /// The hash of the client key.
    pub stored_key: Bytes,
    /// The key of the server's signature.
    pub server_key: Bytes,
    /// How often the password was hashed.
    pub iterations: i32,
}
