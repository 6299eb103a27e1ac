//! Metadata record 29, version 0.

use ottla_model::NodeId;

use crate::Message;

/// A controller is no longer registered.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 29, versions = 0..=0, flexible = 0)]
pub struct UnregisterControllerRecord {
    /// The controller.
    pub controller_id: NodeId,
}
