//! DeleteTopics (key 20), versions 1–6.
//!
//! * 1: throttle time.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: nothing but a new error code for brokers that do not delete.
//! * 4: flexible.
//! * 5: error messages (KIP-599).
//! * 6: topics by name or by id (KIP-516).

use compact_str::CompactString;
use ottla_model::{ErrorCode, TopicName, Uuid};

use crate::Message;

/// Topics to delete.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 20, versions = 1..=6, flexible = 4)]
pub struct DeleteTopicsRequest {
    /// The topics to delete, each by name or by id.
    #[field(versions = 6..)]
    pub topics: Vec<DeleteTopicState>,
    /// The names of the topics to delete.
    #[field(versions = ..=5, ignorable)]
    pub topic_names: Vec<TopicName>,
    /// How long to wait for the deletion, in milliseconds.
    pub timeout_ms: i32,
}

/// A topic to delete, by name or by id.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeleteTopicState {
    /// The topic's name, or null where the id says it.
    #[field(nullable)]
    pub name: Option<TopicName>,
    /// The topic's id; zero where it is named instead, or unknown.
    pub topic_id: Uuid,
}

/// What became of the topics.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 20, versions = 1..=6, flexible = 4)]
pub struct DeleteTopicsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by topic.
    pub responses: Vec<DeletableTopicResult>,
}

/// What became of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DeletableTopicResult {
    /// The topic's name, or null where an id is unknown.
    #[field(nullable = 6.., default = empty)]
    pub name: Option<TopicName>,
    /// The topic's id; zero where it is named instead, or unknown.
    #[field(versions = 6.., ignorable)]
    pub topic_id: Uuid,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(versions = 5.., nullable, ignorable)]
    pub error_message: Option<CompactString>,
}
