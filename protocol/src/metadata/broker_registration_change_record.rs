//! Metadata record 17, versions 0–3.
//!
//! * 1: controlled shutdown.
//! * 2: log directories (KIP-858).
//! * 3: cordoned log directories.

use ottla_model::{NodeId, Uuid};

use crate::Message;

/// A broker's registration changes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 17, versions = 0..=3, flexible = 0)]
pub struct BrokerRegistrationChangeRecord {
    /// The broker.
    pub broker_id: NodeId,
    /// The broker's epoch: the offset of its registration record.
    pub broker_epoch: i64,
    /// −1: no longer fenced; 0: as before; 1: fenced.
    #[field(tag = 0)]
    pub fenced: i8,
    /// 0: as before; 1: it is shutting down in good order.
    #[field(versions = 1.., tag = 1)]
    pub in_controlled_shutdown: i8,
    /// The ids of its log directories that are online; empty: as before.
    #[field(versions = 2.., tag = 2)]
    pub log_dirs: Vec<Uuid>,
    /// The ids of its log directories that take no new partitions; null: as before.
    #[field(versions = 3.., tag = 3, nullable)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}
