//! Envelope (key 58), version 0, flexible (KIP-590). A broker hands a client's request on to its controller.

use bytes::Bytes;
use ottla_model::ErrorCode;

use crate::Message;

/// A client's request, whole.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 58, versions = 0..=0, flexible = 0)]
pub struct EnvelopeRequest {
    /// The request, with its header.
    pub request_data: Bytes,
    /// Who sent it, as its broker knows; null if there is no principal to speak for.
    #[field(nullable, default = empty)]
    pub request_principal: Option<Bytes>,
    /// The address that it was sent from.
    pub client_host_address: Bytes,
}

/// The answer to the client's request, whole.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 58, versions = 0..=0, flexible = 0)]
pub struct EnvelopeResponse {
    /// The answer, with its header; null with an error.
    #[field(nullable)]
    pub response_data: Option<Bytes>,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
