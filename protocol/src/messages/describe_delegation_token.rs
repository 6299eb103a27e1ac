//! DescribeDelegationToken (key 41), versions 1–3 (KIP-48).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.
//! * 3: who asked for the token (KIP-373).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// A question for delegation tokens.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 41, versions = 1..=3, flexible = 2)]
pub struct DescribeDelegationTokenRequest {
    /// The owners whose tokens are asked for; null for all.
    #[field(nullable, default = empty)]
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
}

/// An owner of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeDelegationTokenOwner {
    /// The principal's type.
    pub principal_type: CompactString,
    /// The principal's name.
    pub principal_name: CompactString,
}

/// Delegation tokens.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 41, versions = 1..=3, flexible = 2)]
pub struct DescribeDelegationTokenResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The tokens.
    pub tokens: Vec<DescribedDelegationToken>,
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribedDelegationToken {
    /// The principal's type.
    pub principal_type: CompactString,
    /// The principal's name.
    pub principal_name: CompactString,
    /// The type of the principal that asked for the token.
    #[field(versions = 3..)]
    pub token_requester_principal_type: CompactString,
    /// The name of the principal that asked for the token.
    #[field(versions = 3..)]
    pub token_requester_principal_name: CompactString,
    /// When the token was made, in milliseconds.
    pub issue_timestamp: i64,
    /// When the token expires, in milliseconds.
    pub expiry_timestamp: i64,
    /// Until when the token can be renewed, in milliseconds.
    pub max_timestamp: i64,
    /// The token's id.
    pub token_id: CompactString,
    /// The token's secret.
    pub hmac: Bytes,
    /// Who may renew the token.
    pub renewers: Vec<DescribedDelegationTokenRenewer>,
}

/// A principal that may renew the token.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribedDelegationTokenRenewer {
    /// The principal's type.
    pub principal_type: CompactString,
    /// The principal's name.
    pub principal_name: CompactString,
}
