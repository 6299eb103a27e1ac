//! Kafka's wire protocol as Rust structs: the codec, the messages, the records of Kafka's own topics. Bytes in,
//! values out, and back; opens no socket, knows no broker state. Record batches are `ottla_model`'s.

// The derive names this crate from outside and from within.
extern crate self as ottla_protocol;

pub mod api;
pub mod codec;
pub mod control;
pub mod header;
pub mod internal;
#[cfg(feature = "json")]
pub mod json;
pub mod messages;
pub mod metadata;
pub mod records;

pub use api::{Api, ApiKey, Listeners, Request, RequestVisitor};
pub use codec::{DecodeError, EncodeError, Encoded, Message, Piece, Reader, VersionRange, Writer};
pub use ottla_derive::Message;
pub use records::Records;
