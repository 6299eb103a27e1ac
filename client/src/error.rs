//! Why a call of the client failed, with what was asked and of whom.

use std::io;
use std::time::Duration;

use ottla_model::{ErrorCode, NodeId};
use ottla_peer::PeerError;

/// A failed call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// None of the bootstrap servers could be asked; the reasons, in the order of the servers.
    #[error("no bootstrap server can be reached: {}", .reasons.join("; "))]
    Unreachable {
        /// One reason a server.
        reasons: Vec<String>,
    },
    /// A broker's advertised name does not resolve.
    #[error("broker {node} is advertised as {host}:{port}, which does not resolve: {source}")]
    Resolve {
        /// The broker.
        node: NodeId,
        /// Its advertised host.
        host: String,
        /// Its advertised port.
        port: i32,
        /// The resolver's answer.
        source: io::Error,
    },
    /// The metadata name a leader that they do not list.
    #[error("broker {node} is not in the cluster's metadata")]
    UnknownNode {
        /// The broker.
        node: NodeId,
    },
    /// A connection failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The cluster refuses.
    #[error("the cluster answers with {code}")]
    Refused {
        /// Its answer.
        code: ErrorCode,
    },
    /// The answer leaves out something that was asked for.
    #[error("the answer leaves out what was asked for")]
    Incomplete,
    /// The call took too long, tries after the first included.
    #[error("not done within {limit:?}: {last}")]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// Why the last try failed.
        last: String,
    },
}
