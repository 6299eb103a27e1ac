//! AllocateProducerIds (key 67), version 0, flexible (KIP-730). A broker asks its controller for it.

use ottla_model::{ErrorCode, NodeId, ProducerId};

use crate::Message;

/// A broker's wish for a block of producer ids.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 67, versions = 0..=0, flexible = 0)]
pub struct AllocateProducerIdsRequest {
    /// The broker.
    pub broker_id: NodeId,
    /// The broker's epoch: the offset of its registration record.
    #[field(default = -1)]
    pub broker_epoch: i64,
}

/// A block of producer ids.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 67, versions = 0..=0, flexible = 0)]
pub struct AllocateProducerIdsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The first id of the block.
    pub producer_id_start: ProducerId,
    /// The number of ids in the block.
    pub producer_id_len: i32,
}
