//! EndTxn (key 26), versions 0–5.
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: a fenced producer has its own error code (KIP-588).
//! * 3: flexible.
//! * 4: a transaction that must be aborted has its own error code (KIP-890).
//! * 5: each end raises the producer's epoch, and the answer says it (KIP-890).

use ottla_model::{ErrorCode, ProducerEpoch, ProducerId, TransactionalId};

use crate::Message;

/// A transaction ends.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 26, versions = 0..=5, flexible = 3)]
pub struct EndTxnRequest {
    /// The transaction's id.
    pub transactional_id: TransactionalId,
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// Whether it is committed rather than aborted.
    pub committed: bool,
}

/// Whether the transaction has ended.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 26, versions = 0..=5, flexible = 3)]
pub struct EndTxnResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The producer's id from here on; −1 if it is not said.
    #[field(versions = 5.., default = -1, ignorable)]
    pub producer_id: ProducerId,
    /// The producer's epoch from here on; −1 if it is not said.
    #[field(versions = 5.., default = -1, ignorable)]
    pub producer_epoch: ProducerEpoch,
}
