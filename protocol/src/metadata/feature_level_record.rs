//! Metadata record 12, version 0 (KIP-584). The first is the metadata version's.

use compact_str::CompactString;

use crate::Message;

/// A feature's level changes.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 12, versions = 0..=0, flexible = 0)]
pub struct FeatureLevelRecord {
    /// The feature's name.
    pub name: CompactString,
    /// The level that is in force from here on; 0 takes the feature back.
    pub feature_level: i16,
}
