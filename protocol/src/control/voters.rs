//! Voters (control record type 6), version 0: the voter set of the quorum changes (KIP-853).

use compact_str::CompactString;
use ottla_model::{NodeId, Uuid};

use crate::Message;

/// The value of a change of the voter set (KIP-853).
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0, flexible = 0)]
pub struct VotersRecord {
    /// The version that the writer used for this value.
    pub version: i16,
    /// The voters from here on.
    pub voters: Vec<Voter>,
}

/// A voter of the quorum, and where it can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Voter {
    /// The voter.
    pub voter_id: NodeId,
    /// The directory of the voter's log; zero if it is unknown.
    pub voter_directory_id: Uuid,
    /// Where the voter can be reached, by listener.
    pub endpoints: Vec<Endpoint>,
    /// The protocol versions that the voter supports.
    #[field(name = "kRaftVersionFeature")]
    pub kraft_version_feature: KRaftVersionFeature,
}

/// Where the voter can be reached, on one listener.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Endpoint {
    /// The listener's name.
    pub name: CompactString,
    /// The host that clients connect to.
    pub host: CompactString,
    /// The port that clients connect to.
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
