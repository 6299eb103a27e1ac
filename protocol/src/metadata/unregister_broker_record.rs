//! Metadata record 1, version 0.

use ottla_model::NodeId;

use crate::Message;

/// A broker is no longer registered.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 1, versions = 0..=0, flexible = 0)]
pub struct UnregisterBrokerRecord {
    /// The broker.
    pub broker_id: NodeId,
    /// The broker's epoch: the offset of its registration record.
    pub broker_epoch: i64,
}
