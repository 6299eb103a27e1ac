//! UpdateRaftVoter (key 82), version 0, flexible (KIP-853). A voter says where it can be reached now.

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Uuid};

use crate::Message;

/// Where a voter can be reached, and what it speaks.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 82, versions = 0..=0, flexible = 0)]
pub struct UpdateRaftVoterRequest {
    /// The cluster that the sender belongs to, or null.
    #[field(nullable, default = empty)]
    pub cluster_id: Option<CompactString>,
    /// The leader epoch that the sender knows of.
    pub current_leader_epoch: LeaderEpoch,
    /// The voter.
    pub voter_id: NodeId,
    /// The directory of the voter's log.
    pub voter_directory_id: Uuid,
    /// Where it can be reached, by listener.
    pub listeners: Vec<Listener>,
    /// The protocol versions that the voter supports.
    #[field(name = "kRaftVersionFeature")]
    pub kraft_version_feature: KRaftVersionFeature,
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

/// A range of the quorum's protocol versions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct KRaftVersionFeature {
    /// The lowest level it supports.
    pub min_supported_version: i16,
    /// The highest level it supports.
    pub max_supported_version: i16,
}

/// Whether the quorum knows it now.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 82, versions = 0..=0, flexible = 0)]
pub struct UpdateRaftVoterResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The leader, if this node is not it.
    #[field(tag = 0)]
    pub current_leader: CurrentLeader,
}

/// The leader, and where it can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct CurrentLeader {
    /// The leader; −1 if there is none or it is unknown.
    #[field(default = -1)]
    pub leader_id: NodeId,
    /// The leader's epoch; −1 if it is unknown.
    #[field(default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: i32,
}
