//! DeleteShareGroupOffsets (key 92), version 0, flexible (KIP-932).

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, TopicName, Uuid};

use crate::Message;

/// Topics that a share group forgets.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 92, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupOffsetsRequest {
    /// The group.
    pub group_id: GroupId,
    /// The partitions, by topic.
    pub topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
}

/// A topic to forget.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteShareGroupOffsetsRequestTopic {
    /// The topic's name.
    pub topic_name: TopicName,
}

/// Which topics were forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 92, versions = 0..=0, flexible = 0)]
pub struct DeleteShareGroupOffsetsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
    /// The answers, by topic.
    pub responses: Vec<DeleteShareGroupOffsetsResponseTopic>,
}

/// What became of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: TopicName,
    /// The topic's id.
    pub topic_id: Uuid,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable)]
    pub error_message: Option<CompactString>,
}
