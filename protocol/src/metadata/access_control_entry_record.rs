//! Metadata record 18, version 0.

use compact_str::CompactString;
use ottla_model::Uuid;

use crate::Message;

/// An access control entry is made.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 18, versions = 0..=0, flexible = 0)]
pub struct AccessControlEntryRecord {
    /// The entry's id.
    pub id: Uuid,
    /// What kind of resource: 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// How the name is meant: 3 literally, 4 as a prefix.
    pub pattern_type: i8,
    /// Whom it is about, such as `User:alice`.
    pub principal: CompactString,
    /// The host it is about; `*` for every one.
    pub host: CompactString,
    /// What may or may not be done.
    pub operation: i8,
    /// 2 deny, 3 allow.
    pub permission_type: i8,
}
