//! SaslAuthenticate (key 36), versions 0–2 (KIP-152).
//!
//! * 1: how long the session lasts (KIP-368).
//! * 2: flexible.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// The client's turn in the SASL exchange.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 36, versions = 0..=2, flexible = 2)]
pub struct SaslAuthenticateRequest {
    /// The mechanism's own bytes.
    pub auth_bytes: Bytes,
}

/// The broker's turn in the SASL exchange.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 36, versions = 0..=2, flexible = 2)]
pub struct SaslAuthenticateResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The mechanism's own bytes.
    pub auth_bytes: Bytes,
    /// How long the session lasts, in milliseconds; 0 for no end.
    #[field(versions = 1.., ignorable)]
    pub session_lifetime_ms: i64,
}
