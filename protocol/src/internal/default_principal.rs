//! A principal inside an Envelope request (KIP-590), version 0. The version stands before it.

use compact_str::CompactString;

use crate::Message;

/// A principal, as Kafka's default serialiser writes it.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0, flexible = 0)]
pub struct DefaultPrincipalData {
    /// The principal's type.
    #[field(name = "type")]
    pub kind: CompactString,
    /// The principal's name.
    pub name: CompactString,
    /// Whether a delegation token proved it.
    pub token_authenticated: bool,
}
