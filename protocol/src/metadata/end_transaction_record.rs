//! Metadata record 24, version 0 (KIP-866).

use crate::Message;

/// A metadata transaction ends, and its records count.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 24, versions = 0..=0, flexible = 0)]
pub struct EndTransactionRecord {}
