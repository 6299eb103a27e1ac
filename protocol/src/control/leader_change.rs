//! Leader change (control record type 2), versions 0–1: the first record of each leader's epoch in a metadata log.
//!
//! * 1: the voters' directories (KIP-853).

use ottla_model::{NodeId, Uuid};

use crate::Message;

/// The value of a leader change: the first batch of a new leader's epoch.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=1, flexible = 0)]
pub struct LeaderChangeMessage {
    /// The version that the writer used for this value.
    pub version: i16,
    /// The new leader.
    pub leader_id: NodeId,
    /// The voters of the quorum.
    pub voters: Vec<Voter>,
    /// The voters that chose this leader.
    pub granting_voters: Vec<Voter>,
}

/// A voter of the quorum.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Voter {
    /// The voter.
    pub voter_id: NodeId,
    /// The directory of the voter's log; zero if it is unknown.
    #[field(versions = 1..)]
    pub voter_directory_id: Uuid,
}
