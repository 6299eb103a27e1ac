//! AlterUserScramCredentials (key 51), version 0, flexible (KIP-554).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// SCRAM credentials to set and to delete.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 51, versions = 0..=0, flexible = 0)]
pub struct AlterUserScramCredentialsRequest {
    /// The credentials to delete.
    pub deletions: Vec<ScramCredentialDeletion>,
    /// The credentials to set.
    pub upsertions: Vec<ScramCredentialUpsertion>,
}

/// A credential to delete.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ScramCredentialDeletion {
    /// The user.
    pub name: CompactString,
    /// 1: SCRAM-SHA-256; 2: SCRAM-SHA-512.
    pub mechanism: i8,
}

/// A credential to set.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ScramCredentialUpsertion {
    /// The user.
    pub name: CompactString,
    /// 1: SCRAM-SHA-256; 2: SCRAM-SHA-512.
    pub mechanism: i8,
    /// How often the hash was applied.
    pub iterations: i32,
    /// The salt.
    pub salt: Bytes,
    /// The salted password.
    pub salted_password: Bytes,
}

/// What became of the users' credentials.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 51, versions = 0..=0, flexible = 0)]
pub struct AlterUserScramCredentialsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by user.
    pub results: Vec<AlterUserScramCredentialsResult>,
}

/// What became of one user's credentials.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct AlterUserScramCredentialsResult {
    /// The user.
    pub user: CompactString,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
