//! FindCoordinator (key 10), versions 0–6.
//!
//! * 1: coordinators of transactions, too; throttle time and an error message.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: flexible.
//! * 4: several keys in one request (KIP-699).
//! * 5: nothing but a new error code (KIP-890).
//! * 6: coordinators of share groups, too (KIP-932).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId};

use crate::Message;

/// A question for the coordinator of a group, transaction or share-partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 10, versions = 0..=6, flexible = 3)]
pub struct FindCoordinatorRequest {
    /// What the coordinator is asked for: a group or a transaction.
    #[field(versions = ..=3)]
    pub key: CompactString,
    /// 0: a group; 1: a transaction; 2: a share-partition.
    #[field(versions = 1..)]
    pub key_type: i8,
    /// What the coordinators are asked for.
    #[field(versions = 4..)]
    pub coordinator_keys: Vec<CompactString>,
}

/// Which broker coordinates what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 10, versions = 0..=6, flexible = 3)]
pub struct FindCoordinatorResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    #[field(versions = ..=3)]
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(versions = 1..=3, nullable, default = empty, ignorable)]
    pub error_message: Option<CompactString>,
    /// The coordinator; −1 for none.
    #[field(versions = ..=3)]
    pub node_id: NodeId,
    /// The host to connect to.
    #[field(versions = ..=3)]
    pub host: CompactString,
    /// The port to connect to.
    #[field(versions = ..=3)]
    pub port: i32,
    /// The coordinators.
    #[field(versions = 4..)]
    pub coordinators: Vec<Coordinator>,
}

/// The coordinator for one key.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct Coordinator {
    /// What the coordinator was asked for.
    pub key: CompactString,
    /// The coordinator; −1 for none.
    pub node_id: NodeId,
    /// The host to connect to.
    pub host: CompactString,
    /// The port to connect to.
    pub port: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
