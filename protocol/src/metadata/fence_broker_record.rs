//! Metadata record 7, version 0.

use ottla_model::NodeId;

use crate::Message;

/// A broker is fenced. Superseded by [`BrokerRegistrationChangeRecord`](super::BrokerRegistrationChangeRecord).
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 7, versions = 0..=0, flexible = 0)]
pub struct FenceBrokerRecord {
    /// The broker.
    pub id: NodeId,
    /// The broker's epoch.
    pub epoch: i64,
}
