//! What the broker knows of one connection: where it came in, and what software is at the other end. Dies with it.

use std::net::SocketAddr;
use std::sync::Arc;

use compact_str::CompactString;
use ottla_network::ConnectionInfo;
use ottla_protocol::api::ApiKey;

/// One connection's state.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// The listener that accepted it: clients are told this listener's addresses.
    pub(crate) listener: Arc<str>,
    pub(crate) peer: SocketAddr,
    /// As ApiVersions told it.
    pub(crate) software: Option<ClientSoftware>,
    /// The last request's key, for whoever has to say what the connection was at.
    pub(crate) last_api: Option<ApiKey>,
    /// A request waits for others of its group: until it is answered, the connection's next one is not begun.
    pub(crate) one_at_a_time: bool,
}

/// What a client says it is (KIP-511).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientSoftware {
    pub(crate) name: CompactString,
    pub(crate) version: CompactString,
}

impl ConnectionState {
    pub(crate) fn new(info: &ConnectionInfo) -> Self {
        Self {
            listener: Arc::clone(&info.listener),
            peer: info.peer,
            software: None,
            last_api: None,
            one_at_a_time: false,
        }
    }

    /// Who it is and what it was at, for the log.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{} on {}", self.peer, self.listener);
        if let Some(ClientSoftware { name, version }) = &self.software {
            text.push_str(&format!(", {name} {version}"));
        }
        if let Some(api) = self.last_api {
            text.push_str(&format!(", {api}"));
        }
        text
    }
}
