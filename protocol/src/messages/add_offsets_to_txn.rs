//! AddOffsetsToTxn (key 25), versions 0–4.
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: a fenced producer has its own error code (KIP-588).
//! * 3: flexible.
//! * 4: a transaction that must be aborted has its own error code (KIP-890).

use ottla_model::{ErrorCode, GroupId, ProducerEpoch, ProducerId, TransactionalId};

use crate::Message;

/// A group whose offsets join a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 25, versions = 0..=4, flexible = 3)]
pub struct AddOffsetsToTxnRequest {
    /// The transaction's id.
    pub transactional_id: TransactionalId,
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The group.
    pub group_id: GroupId,
}

/// Whether the group has joined.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 25, versions = 0..=4, flexible = 3)]
pub struct AddOffsetsToTxnResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
