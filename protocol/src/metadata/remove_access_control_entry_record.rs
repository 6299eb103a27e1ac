//! Metadata record 19, version 0.

use ottla_model::Uuid;

use crate::Message;

/// An access control entry is removed.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 19, versions = 0..=0, flexible = 0)]
pub struct RemoveAccessControlEntryRecord {
    /// The entry's id.
    pub id: Uuid,
}
