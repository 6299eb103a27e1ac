//! Metadata record 20, version 0 (KIP-835): the active controller writes it when nothing else happens.

use crate::Message;

/// Nothing happens; the log moves on.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 20, versions = 0..=0, flexible = 0)]
pub struct NoOpRecord {}
