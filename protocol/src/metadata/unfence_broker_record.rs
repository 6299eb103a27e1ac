//! Metadata record 8, version 0.

use ottla_model::NodeId;

use crate::Message;

/// A broker is no longer fenced. Superseded by
/// [`BrokerRegistrationChangeRecord`](super::BrokerRegistrationChangeRecord).
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 8, versions = 0..=0, flexible = 0)]
pub struct UnfenceBrokerRecord {
    /// The broker.
    pub id: NodeId,
    /// The broker's epoch.
    pub epoch: i64,
}
