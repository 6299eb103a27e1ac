//! CreateDelegationToken (key 38), versions 1–3 (KIP-48).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.
//! * 3: tokens for another principal (KIP-373).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// A wish for a delegation token.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 38, versions = 1..=3, flexible = 2)]
pub struct CreateDelegationTokenRequest {
    /// The type of the token's owner, or null for who asks.
    #[field(versions = 3.., nullable, default = empty)]
    pub owner_principal_type: Option<CompactString>,
    /// The name of the token's owner, or null for who asks.
    #[field(versions = 3.., nullable, default = empty)]
    pub owner_principal_name: Option<CompactString>,
    /// Who may renew the token.
    pub renewers: Vec<CreatableRenewers>,
    /// How long the token can be renewed, in milliseconds; −1 for the broker's default.
    pub max_lifetime_ms: i64,
}

/// A principal that may renew the token.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CreatableRenewers {
    /// The principal's type.
    pub principal_type: CompactString,
    /// The principal's name.
    pub principal_name: CompactString,
}

/// A delegation token.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 38, versions = 1..=3, flexible = 2)]
pub struct CreateDelegationTokenResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
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
    pub issue_timestamp_ms: i64,
    /// When the token expires, in milliseconds.
    pub expiry_timestamp_ms: i64,
    /// Until when the token can be renewed, in milliseconds.
    pub max_timestamp_ms: i64,
    /// The token's id.
    pub token_id: CompactString,
    /// The token's secret.
    pub hmac: Bytes,
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
}
