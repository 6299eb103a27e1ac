//! DescribeUserScramCredentials (key 50), version 0, flexible (KIP-554).

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// A question for users' SCRAM credentials.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 50, versions = 0..=0, flexible = 0)]
pub struct DescribeUserScramCredentialsRequest {
    /// The users; null or none for all.
    #[field(nullable, default = empty)]
    pub users: Option<Vec<UserName>>,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct UserName {
    /// The user.
    pub name: CompactString,
}

/// SCRAM credentials, without their secrets.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 50, versions = 0..=0, flexible = 0)]
pub struct DescribeUserScramCredentialsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// Why the whole request failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The answers, by user.
    pub results: Vec<DescribeUserScramCredentialsResult>,
}

/// One user's credentials.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeUserScramCredentialsResult {
    /// The user.
    pub user: CompactString,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The credentials.
    pub credential_infos: Vec<CredentialInfo>,
}

/// A credential, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CredentialInfo {
    /// 1: SCRAM-SHA-256; 2: SCRAM-SHA-512.
    pub mechanism: i8,
    /// How often the hash was applied.
    pub iterations: i32,
}
