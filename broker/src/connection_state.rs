//! What the broker knows of one connection: where it came in, and what software is at the other end. Dies with it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compact_str::CompactString;
use ottla_network::ConnectionInfo;
use ottla_protocol::api::ApiKey;

use crate::metrics::meter::Meter;
use crate::metrics::requests::Client;

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
    /// When the bytes of the request came that is served next.
    pub(crate) received_at: Instant,
    /// It is one too many of its address, and closed at this time.
    pub(crate) refused_until: Option<Instant>,
    /// As what it is counted among the connections.
    pub(crate) counted: Client,
}

/// What a client says it is (KIP-511).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientSoftware {
    pub(crate) name: CompactString,
    pub(crate) version: CompactString,
}

impl ConnectionState {
    /// `refused` is for how long a connection that is one too many stays open.
    pub(crate) fn new(info: &ConnectionInfo, meter: &Meter, refused: Duration) -> Self {
        let listener = Arc::clone(&info.listener);
        let nameless =
            Client { listener, software: CompactString::default(), version: CompactString::default() };
        Self {
            listener: Arc::clone(&info.listener),
            peer: info.peer,
            software: None,
            last_api: None,
            one_at_a_time: false,
            refused_until: (!refused.is_zero()).then(|| Instant::now() + refused),
            received_at: Instant::now(),
            counted: meter.connected(nameless),
        }
    }

    /// The client has said what software it is.
    pub(crate) fn name_client(&mut self, software: ClientSoftware, meter: &Meter) {
        if self.software.as_ref() == Some(&software) {
            return;
        }
        let ClientSoftware { name, version } = software.clone();
        let named = Client { listener: Arc::clone(&self.listener), software: name, version };
        meter.disconnected(&self.counted);
        self.counted = meter.connected(named);
        self.software = Some(software);
    }

    /// Who it is, for the log.
    pub(crate) fn describe_client(&self) -> String {
        let mut text = format!("{} on {}", self.peer, self.listener);
        if let Some(ClientSoftware { name, version }) = &self.software {
            text.push_str(&format!(", {name} {version}"));
        }
        text
    }

    /// Who it is and what it was at, for the log.
    pub(crate) fn describe(&self) -> String {
        let mut text = self.describe_client();
        if let Some(api) = self.last_api {
            text.push_str(&format!(", {api}"));
        }
        text
    }
}
