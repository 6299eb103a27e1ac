//! DescribeClientQuotas (key 48), versions 0–1 (KIP-546).
//!
//! * 1: flexible.

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// A question for client quotas.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 48, versions = 0..=1, flexible = 1)]
pub struct DescribeClientQuotasRequest {
    /// What the entity has to be, by part.
    pub components: Vec<ComponentData>,
    /// Whether entities with further parts do not match.
    pub strict: bool,
}

/// What one part of the entity has to be.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ComponentData {
    /// What the part names: user, client-id or ip.
    pub entity_type: CompactString,
    /// 0: this name; 1: the default of all; 2: any name.
    pub match_type: i8,
    /// The name, or null.
    #[field(nullable, default = empty)]
    pub r#match: Option<CompactString>,
}

/// Client quotas.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 48, versions = 0..=1, flexible = 1)]
pub struct DescribeClientQuotasResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The quotas, by entity; null with an error.
    #[field(nullable, default = empty)]
    pub entries: Option<Vec<EntryData>>,
}

/// The quotas of one entity.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct EntryData {
    /// The entity, in parts.
    pub entity: Vec<EntityData>,
    /// The quotas.
    pub values: Vec<ValueData>,
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

/// One quota.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ValueData {
    /// The quota's name.
    pub key: CompactString,
    /// The quota.
    pub value: f64,
}
