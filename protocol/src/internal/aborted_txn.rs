//! An entry of a transaction index (`.txnindex`), version 0. The version stands before it. The index itself is no
//! concern of this crate.

use ottla_model::{Offset, ProducerId};

use crate::Message;

/// A transaction that was aborted.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0)]
pub struct AbortedTxn {
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The first offset of the transaction.
    pub first_offset: Offset,
    /// The offset of its abort marker.
    pub last_offset: Offset,
    /// The last stable offset when the transaction was aborted.
    pub last_stable_offset: Offset,
}
