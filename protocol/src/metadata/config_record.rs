//! Metadata record 4, version 0.

use compact_str::CompactString;

use crate::Message;

/// A config is set or taken back.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 4, versions = 0..=0, flexible = 0)]
pub struct ConfigRecord {
    /// What kind of resource: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// The config's name.
    pub name: CompactString,
    /// Its new value; null takes it back.
    #[field(nullable, default = empty)]
    pub value: Option<CompactString>,
}
