//! KRaft version (control record type 5), version 0: the protocol version of the quorum changes (KIP-853).

use crate::Message;

/// The value of a change of the quorum's protocol version.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0, flexible = 0)]
pub struct KRaftVersionRecord {
    /// The version that the writer used for this value.
    pub version: i16,
    /// The quorum's protocol version from here on.
    #[field(name = "kRaftVersion")]
    pub kraft_version: i16,
}
