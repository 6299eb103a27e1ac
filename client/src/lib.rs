//! The client library: finds a cluster by its bootstrap addresses, asks each partition's leader, and asks again where
//! an error says that it may help. So far it holds what the tools need: metadata and offsets.

mod bootstrap;
mod error;
mod metadata;
mod offsets;
mod pool;

use std::time::Duration;

use ottla_peer::PeerConfig;

pub use bootstrap::{Bootstrap, BootstrapError};
pub use error::ClientError;
pub use metadata::{ClusterMetadata, Leader, PartitionMetadata, TopicMetadata};
pub use offsets::{FoundOffset, OffsetSpec, PartitionOffset, TopicPartition};

use crate::pool::Pool;

/// Settings of a [`Client`]; defaults are those of Kafka's own.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Connections: `client.id`, `request.timeout.ms`, limits.
    pub peer: PeerConfig,
    /// `default.api.timeout.ms`: how long a call may take in all, tries after the first included.
    pub call_time_max: Duration,
    /// `retry.backoff.ms`: the pause before a call is tried again.
    pub retry_backoff: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            peer: PeerConfig::default(),
            call_time_max: Duration::from_secs(60),
            retry_backoff: Duration::from_millis(100),
        }
    }
}

/// A client of one cluster. It connects when first needed, one connection a broker, and asks one thing at a time.
#[derive(Debug)]
pub struct Client {
    pool: Pool,
    config: ClientConfig,
}

impl Client {
    /// A client that will look for its cluster at these addresses.
    #[must_use]
    pub fn new(bootstrap: Bootstrap, config: ClientConfig) -> Self {
        Self { pool: Pool::new(bootstrap, config.peer.clone()), config }
    }
}
