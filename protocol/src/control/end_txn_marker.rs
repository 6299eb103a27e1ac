//! End of a transaction (control record types 0 abort and 1 commit), version 0. On the log, the version stands before it.

use crate::Message;

/// The value of a transaction's commit or abort marker.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0)]
pub struct EndTxnMarker {
    /// The epoch of the transaction coordinator that wrote the marker.
    pub coordinator_epoch: i32,
}
