//! InitProducerId (key 22), versions 0–6; 6 is unstable and not advertised.
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.
//! * 3: a producer may name its present id and epoch, to raise the epoch (KIP-360).
//! * 4: a fenced producer has its own error code (KIP-588).
//! * 5: nothing but a new error code (KIP-890).
//! * 6: two-phase commit (KIP-939).

use ottla_model::{ErrorCode, ProducerEpoch, ProducerId, TransactionalId};

use crate::Message;

/// A wish for a producer id.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 22, versions = 0..=6, flexible = 2)]
pub struct InitProducerIdRequest {
    /// The transactional producer, or null for one that is merely idempotent or neither.
    #[field(nullable, default = empty)]
    pub transactional_id: Option<TransactionalId>,
    /// When a transaction without an end is aborted, in milliseconds.
    pub transaction_timeout_ms: i32,
    /// The id that the producer has, to raise its epoch; −1 for none.
    #[field(versions = 3.., default = -1)]
    pub producer_id: ProducerId,
    /// The epoch that the producer has; −1 for none.
    #[field(versions = 3.., default = -1)]
    pub producer_epoch: ProducerEpoch,
    /// Whether the producer takes part in two-phase commits.
    #[field(versions = 6.., name = "enable2Pc")]
    pub enable2pc: bool,
    /// Whether a prepared transaction stays open.
    #[field(versions = 6..)]
    pub keep_prepared_txn: bool,
}

/// A producer id and epoch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 22, versions = 0..=6, flexible = 2)]
pub struct InitProducerIdResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The producer's id; −1 for none.
    #[field(default = -1)]
    pub producer_id: ProducerId,
    /// The producer's epoch; −1 for none.
    pub producer_epoch: ProducerEpoch,
    /// The producer id of the transaction that stayed open; −1 for none.
    #[field(versions = 6.., default = -1)]
    pub ongoing_txn_producer_id: ProducerId,
    /// The producer epoch of the transaction that stayed open; −1 for none.
    #[field(versions = 6.., default = -1)]
    pub ongoing_txn_producer_epoch: ProducerEpoch,
}
