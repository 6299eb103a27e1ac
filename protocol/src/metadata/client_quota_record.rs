//! Metadata record 14, version 0.

use compact_str::CompactString;

use crate::Message;

/// A client quota is set or ends.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 14, versions = 0..=0, flexible = 0)]
pub struct ClientQuotaRecord {
    /// Whom it is about: every part must match.
    pub entity: Vec<EntityData>,
    /// The quota's name, such as `producer_byte_rate`.
    pub key: CompactString,
    /// The quota.
    pub value: f64,
    /// Whether the quota ends.
    pub remove: bool,
}

/// One part of whom a quota is about.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct EntityData {
    /// `user`, `client-id` or `ip`.
    pub entity_type: CompactString,
    /// The name; null stands for all that have none of their own.
    #[field(nullable, default = empty)]
    pub entity_name: Option<CompactString>,
}
