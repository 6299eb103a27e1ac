//! A regular expression that members of a consumer group subscribe to (KIP-848): key type 16 of `__consumer_offsets`,
//! value version 0.

use compact_str::CompactString;
use ottla_model::{GroupId, TopicName};

use crate::Message;

/// Names a regular expression of a consumer group.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 16, versions = 0..=0)]
pub struct ConsumerGroupRegularExpressionKey {
    /// The group.
    pub group_id: GroupId,
    /// The regular expression.
    pub regular_expression: CompactString,
}

/// The topics that match.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 16, versions = 0..=0, flexible = 0)]
pub struct ConsumerGroupRegularExpressionValue {
    /// The topics that match.
    pub topics: Vec<TopicName>,
    /// The metadata offset at which it was resolved.
    pub version: i64,
    /// When it was resolved, in milliseconds.
    pub timestamp: i64,
}
