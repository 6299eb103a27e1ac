//! One connection a broker, made when first needed and dropped when it fails. Which broker to ask is the caller's.

use std::collections::HashMap;
use std::net::SocketAddr;

use ottla_model::NodeId;
use ottla_peer::{Peer, PeerConfig, PeerError};
use ottla_protocol::Request;

use crate::bootstrap::{Bootstrap, resolve};
use crate::error::ClientError;
use crate::metadata::ClusterMetadata;

/// The connections of a client.
#[derive(Debug)]
pub(crate) struct Pool {
    bootstrap: Bootstrap,
    config: PeerConfig,
    any: Option<Peer>,
    nodes: HashMap<NodeId, Peer>,
}

impl Pool {
    pub(crate) fn new(bootstrap: Bootstrap, config: PeerConfig) -> Self {
        Self { bootstrap, config, any: None, nodes: HashMap::new() }
    }

    /// Asks whichever server answers.
    pub(crate) async fn call_any<R: Request>(&mut self, request: &R) -> Result<R::Response, ClientError> {
        let mut peer = match self.any.take() {
            Some(peer) => peer,
            None => self.connect_any().await?,
        };
        let answer = peer.call(request).await;
        if still_usable(&answer) {
            self.any = Some(peer);
        }
        Ok(answer?)
    }

    /// Asks one broker.
    pub(crate) async fn call_node<R: Request>(
        &mut self,
        node: NodeId,
        metadata: &ClusterMetadata,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        let mut peer = match self.nodes.remove(&node) {
            Some(peer) => peer,
            None => self.connect_node(node, metadata).await?,
        };
        let answer = peer.call(request).await;
        if still_usable(&answer) {
            self.nodes.insert(node, peer);
        }
        Ok(answer?)
    }

    async fn connect_any(&self) -> Result<Peer, ClientError> {
        let mut reasons = Vec::new();
        for (host, port) in self.bootstrap.servers() {
            let addresses = match resolve(host, *port).await {
                Ok(addresses) => addresses,
                Err(error) => {
                    reasons.push(format!("{host}:{port}: {error}"));
                    continue;
                }
            };
            match connect_first(&addresses, &self.config).await {
                Ok(peer) => return Ok(peer),
                Err(errors) => reasons.extend(errors.iter().map(ToString::to_string)),
            }
        }
        Err(ClientError::Unreachable { reasons })
    }

    async fn connect_node(&self, node: NodeId, metadata: &ClusterMetadata) -> Result<Peer, ClientError> {
        let (host, port) = metadata.broker(node).ok_or(ClientError::UnknownNode { node })?;
        let unresolved = |source| ClientError::Resolve { node, host: host.to_owned(), port, source };
        let number = u16::try_from(port).map_err(|error| unresolved(std::io::Error::other(error)))?;
        let addresses = resolve(host, number).await.map_err(unresolved)?;
        match connect_first(&addresses, &self.config).await {
            Ok(peer) => Ok(peer),
            Err(mut errors) => Err(match errors.pop() {
                Some(error) => error.into(),
                None => unresolved(std::io::ErrorKind::NotFound.into()),
            }),
        }
    }
}

/// A host may have several addresses of which one answers: the first that does is taken.
async fn connect_first(addresses: &[SocketAddr], config: &PeerConfig) -> Result<Peer, Vec<PeerError>> {
    let mut errors = Vec::new();
    for address in addresses {
        match Peer::connect(*address, config.clone()).await {
            Ok(peer) => return Ok(peer),
            Err(error) => errors.push(error),
        }
    }
    Err(errors)
}

const fn still_usable<T>(answer: &Result<T, PeerError>) -> bool {
    matches!(answer, Ok(_) | Err(PeerError::NotServed { .. } | PeerError::Encode(_)))
}
