//! One connection to a Kafka-compatible server, its API versions negotiated: what clients and brokers call others
//! with. It sends one request at a time and waits for the answer; which server to ask and whether to ask again is the
//! caller's business.

mod versions;

use std::net::SocketAddr;
use std::time::Duration;

use ottla_model::ErrorCode;
use ottla_network::{Requester, RequesterConfig, RequesterError};
use ottla_protocol::header::{decode_response, encode_request, response_correlation_id};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::{ApiKey, DecodeError, EncodeError, Request, VersionRange};

pub use versions::ServedVersions;

/// How to introduce oneself, and the limits of the connection.
#[derive(Debug, Clone)]
pub struct PeerConfig {
    /// `client.id`: stands in each request's header.
    pub client_id: String,
    /// How long a request may wait for its answer.
    pub request_time_max: Duration,
    /// Limits of the connection itself.
    pub requester: RequesterConfig,
}

impl Default for PeerConfig {
    /// Kafka's 30 seconds a request.
    fn default() -> Self {
        Self {
            client_id: "ottla".to_owned(),
            request_time_max: Duration::from_secs(30),
            requester: RequesterConfig::default(),
        }
    }
}

/// Why a call has no answer. After any but [`PeerError::NotServed`] and [`PeerError::Encode`] the connection is of no
/// further use.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The connection could not be made, or broke.
    #[error("{peer}: {source}")]
    Connection {
        /// The server.
        peer: SocketAddr,
        /// What happened.
        source: RequesterError,
    },
    /// No answer in time.
    #[error("{peer}: no answer to {api} within {limit:?}")]
    TimedOut {
        /// The server.
        peer: SocketAddr,
        /// What was asked.
        api: ApiKey,
        /// The limit.
        limit: Duration,
    },
    /// The server serves no version of the request that we know.
    #[error("{peer} does not serve {api} in any of our versions {ours}")]
    NotServed {
        /// The server.
        peer: SocketAddr,
        /// What was to be asked.
        api: ApiKey,
        /// The versions that we know.
        ours: VersionRange,
    },
    /// The server refused to tell its versions.
    #[error("{peer} answers the question for its API versions with {code}")]
    Versions {
        /// The server.
        peer: SocketAddr,
        /// Its answer.
        code: ErrorCode,
    },
    /// The answer belongs to another request.
    #[error("{peer} answers request {found} where {expected} is due")]
    Correlation {
        /// The server.
        peer: SocketAddr,
        /// The number in the answer.
        found: i32,
        /// The number of the request.
        expected: i32,
    },
    /// The request has a value that the negotiated version cannot carry.
    #[error("cannot write the request: {0}")]
    Encode(#[from] EncodeError),
    /// The answer cannot be read.
    #[error("{peer}: cannot read the answer to {api}: {source}")]
    Decode {
        /// The server.
        peer: SocketAddr,
        /// What was asked.
        api: ApiKey,
        /// What is wrong.
        source: DecodeError,
    },
}

/// A connection on which both sides know what the other speaks.
#[derive(Debug)]
pub struct Peer {
    requester: Requester,
    served: ServedVersions,
    config: PeerConfig,
    correlation_id: i32,
}

impl Peer {
    /// Connects and asks for the versions that are served: first in the newest version that we know, then, where the
    /// server does not know that one, in the newest that it names (KIP-511).
    ///
    /// # Errors
    /// When the server does not answer, or not with its versions.
    pub async fn connect(address: SocketAddr, config: PeerConfig) -> Result<Self, PeerError> {
        let requester = Requester::connect(address, &config.requester)
            .await
            .map_err(|source| PeerError::Connection { peer: address, source })?;
        let mut peer = Self { requester, served: ServedVersions::default(), config, correlation_id: 0 };
        peer.served = peer.negotiate().await?;
        Ok(peer)
    }

    async fn negotiate(&mut self) -> Result<ServedVersions, PeerError> {
        let ours = ApiKey::ApiVersions.api().versions;
        let request = ApiVersionsRequest {
            client_software_name: "ottla".into(),
            client_software_version: env!("CARGO_PKG_VERSION").into(),
            ..ApiVersionsRequest::default()
        };
        let mut version = ours.last;
        loop {
            let frame = self.exchange(&request, version).await?;
            // An unknown version is answered in version 0, which no other answer can be mistaken for: it stands first.
            let response = decode_response::<ApiVersionsRequest>(frame.clone(), version)
                .or_else(|_| decode_response::<ApiVersionsRequest>(frame.clone(), 0));
            let response = response.map_err(|source| self.decode_error(ApiKey::ApiVersions, source))?;
            if response.error_code.is_none() {
                return Ok(ServedVersions::new(&response.api_keys));
            }
            let fallback = decode_response::<ApiVersionsRequest>(frame, 0)
                .ok()
                .filter(|_| response.error_code == ErrorCode::UNSUPPORTED_VERSION)
                .and_then(|response| ServedVersions::new(&response.api_keys).newest_of(ApiKey::ApiVersions))
                .unwrap_or(0);
            if response.error_code != ErrorCode::UNSUPPORTED_VERSION || fallback >= version {
                return Err(PeerError::Versions { peer: self.address(), code: response.error_code });
            }
            version = fallback;
        }
    }

    /// The server's address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.requester.peer()
    }

    /// The versions that the server serves.
    #[must_use]
    pub const fn served(&self) -> &ServedVersions {
        &self.served
    }

    /// Asks, in the newest version that both sides know, and waits for the answer.
    ///
    /// Cancelling may leave an answer in the connection; the next call then fails.
    ///
    /// # Errors
    /// When there is no answer, or none that can be read.
    pub async fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, PeerError> {
        let version = self.served.newest_of(R::API).ok_or_else(|| PeerError::NotServed {
            peer: self.address(),
            api: R::API,
            ours: R::API.api().versions,
        })?;
        let frame = self.exchange(request, version).await?;
        decode_response::<R>(frame, version).map_err(|source| self.decode_error(R::API, source))
    }

    async fn exchange<R: Request>(&mut self, request: &R, version: i16) -> Result<bytes::Bytes, PeerError> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let expected = self.correlation_id;
        let peer = self.address();
        let limit = self.config.request_time_max;
        let request =
            encode_request(request, version, expected, Some(&self.config.client_id))?.into_bytes()?;
        let exchange = async {
            self.requester.send(&[request]).await?;
            self.requester.receive().await
        };
        let frame = tokio::time::timeout(limit, exchange)
            .await
            .map_err(|_| PeerError::TimedOut { peer, api: R::API, limit })?
            .map_err(|source| PeerError::Connection { peer, source })?;
        let found = response_correlation_id(&frame).map_err(|source| self.decode_error(R::API, source))?;
        if found != expected {
            return Err(PeerError::Correlation { peer, found, expected });
        }
        Ok(frame)
    }

    fn decode_error(&self, api: ApiKey, source: DecodeError) -> PeerError {
        PeerError::Decode { peer: self.address(), api, source }
    }
}
