//! AlterClientQuotas (key 49), versions 0–1 (KIP-546).
//!
//! * 1: flexible.

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// Changes to client quotas.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 49, versions = 0..=1, flexible = 1)]
pub struct AlterClientQuotasRequest {
    /// The changes, by entity.
    pub entries: Vec<RequestEntryData>,
    /// Whether to check only, and change nothing.
    pub validate_only: bool,
}

/// The changes for one entity.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct RequestEntryData {
    /// The entity, in parts.
    pub entity: Vec<EntityData>,
    /// The changes.
    pub ops: Vec<OpData>,
}

/// A part of the entity that quotas are for: a user, a client id, an address.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct EntityData {
    /// What the part names: user, client-id or ip.
    pub entity_type: CompactString,
    /// The name; null for the default of all.
    #[field(nullable, default = empty)]
    pub entity_name: Option<CompactString>,
}

/// One quota to set or to remove.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OpData {
    /// The quota's name.
    pub key: CompactString,
    /// The quota; without meaning if it is removed.
    pub value: f64,
    /// Whether to remove the quota rather than to set it.
    pub remove: bool,
}

/// What became of the changes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 49, versions = 0..=1, flexible = 1)]
pub struct AlterClientQuotasResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by entity.
    pub entries: Vec<ResponseEntryData>,
}

/// What became of one entity.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ResponseEntryData {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The entity, in parts.
    pub entity: Vec<EntityData>,
}
