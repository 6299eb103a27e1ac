//! AddRaftVoter (key 80), versions 0–1, all flexible (KIP-853).
//!
//! * 1: whether the answer waits for the other voters (KIP-1186).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId, Uuid};

use crate::Message;

/// A voter that joins a quorum.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 80, versions = 0..=1, flexible = 0)]
pub struct AddRaftVoterRequest {
    /// The cluster that the sender belongs to, or null.
    #[field(nullable, default = empty)]
    pub cluster_id: Option<CompactString>,
    /// How long to wait, in milliseconds.
    pub timeout_ms: i32,
    /// The voter.
    pub voter_id: NodeId,
    /// The directory of the voter's log.
    pub voter_directory_id: Uuid,
    /// Where it can be reached, by listener.
    pub listeners: Vec<Listener>,
    /// Whether to answer only when the other voters have the change.
    #[field(versions = 1.., default = true)]
    pub ack_when_committed: bool,
}

/// Where the node can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Listener {
    /// The listener's name.
    pub name: CompactString,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: u16,
}

/// Whether the voter has joined.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 80, versions = 0..=1, flexible = 0)]
pub struct AddRaftVoterResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
