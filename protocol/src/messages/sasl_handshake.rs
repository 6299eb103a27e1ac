//! SaslHandshake (key 17), versions 0–1, never flexible.
//!
//! * 1: the tokens follow in SaslAuthenticate requests, no longer bare (KIP-152).

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// The SASL mechanism that the client wants.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 17, versions = 0..=1)]
pub struct SaslHandshakeRequest {
    /// The mechanism.
    pub mechanism: CompactString,
}

/// The mechanisms that there are.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 17, versions = 0..=1)]
pub struct SaslHandshakeResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The mechanisms that are enabled.
    pub mechanisms: Vec<CompactString>,
}
