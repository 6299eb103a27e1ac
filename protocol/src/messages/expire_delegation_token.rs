//! ExpireDelegationToken (key 40), versions 1–2 (KIP-48).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.

use bytes::Bytes;
use ottla_model::ErrorCode;

use crate::Message;

/// A token that is to end.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 40, versions = 1..=2, flexible = 2)]
pub struct ExpireDelegationTokenRequest {
    /// The token's secret.
    pub hmac: Bytes,
    /// When to end it, in milliseconds from now; below 0 at once.
    pub expiry_time_period_ms: i64,
}

/// When the token expires now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 40, versions = 1..=2, flexible = 2)]
pub struct ExpireDelegationTokenResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// When the token expires, in milliseconds.
    pub expiry_timestamp_ms: i64,
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
}
