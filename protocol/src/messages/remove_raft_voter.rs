//! RemoveRaftVoter (key 81), version 0, flexible (KIP-853).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, Uuid};

use crate::Message;

/// A voter that leaves a quorum.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 81, versions = 0..=0, flexible = 0)]
pub struct RemoveRaftVoterRequest {
    /// The cluster that the sender belongs to, or null.
    #[field(nullable, default = empty)]
    pub cluster_id: Option<CompactString>,
    /// The voter.
    pub voter_id: NodeId,
    /// The directory of the voter's log.
    pub voter_directory_id: Uuid,
}

/// Whether the voter has left.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 81, versions = 0..=0, flexible = 0)]
pub struct RemoveRaftVoterResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
