//! Metadata record 15, version 0 (KIP-730).

use ottla_model::{NodeId, ProducerId};

use crate::Message;

/// A broker gets a block of producer ids.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 15, versions = 0..=0, flexible = 0)]
pub struct ProducerIdsRecord {
    /// The broker that got the block.
    pub broker_id: NodeId,
    /// The broker's epoch: the offset of its registration record.
    #[field(default = -1)]
    pub broker_epoch: i64,
    /// The first producer id that nobody has.
    pub next_producer_id: ProducerId,
}
