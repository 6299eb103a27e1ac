//! RenewDelegationToken (key 39), versions 1–2 (KIP-48).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.

use bytes::Bytes;
use ottla_model::ErrorCode;

use crate::Message;

/// A token that is to last longer.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 39, versions = 1..=2, flexible = 2)]
pub struct RenewDelegationTokenRequest {
    /// The token's secret.
    pub hmac: Bytes,
    /// How much longer, in milliseconds; −1 for the broker's default.
    pub renew_period_ms: i64,
}

/// When the token expires now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 39, versions = 1..=2, flexible = 2)]
pub struct RenewDelegationTokenResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// When the token expires, in milliseconds.
    pub expiry_timestamp_ms: i64,
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
}
