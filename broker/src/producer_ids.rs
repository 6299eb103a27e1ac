//! Producer ids, handed out one by one from blocks that the controller gives to this broker. A restart takes a new
//! block; ids of an old one are lost, never reused.

use std::sync::Arc;

use ottla_cluster::{ControllerLink, ControllerRequest, ControllerResponse};
use ottla_model::{ErrorCode, NodeId, ProducerId};
use ottla_network::Repeats;
use ottla_protocol::messages::allocate_producer_ids::AllocateProducerIdsRequest;
use parking_lot::Mutex;

/// The ids at hand.
pub(crate) struct ProducerIds {
    node_id: NodeId,
    controller: Arc<dyn ControllerLink>,
    block: Mutex<Block>,
    /// One request for a block at a time; whoever comes meanwhile waits for it and takes from the same block.
    refill: tokio::sync::Mutex<()>,
    /// Producers ask again and again.
    failures: Repeats,
}

#[derive(Default)]
struct Block {
    next: i64,
    end: i64,
}

impl ProducerIds {
    pub(crate) fn new(node_id: NodeId, controller: Arc<dyn ControllerLink>) -> Self {
        Self {
            node_id,
            controller,
            block: Mutex::default(),
            refill: tokio::sync::Mutex::new(()),
            failures: Repeats::default(),
        }
    }

    /// An id that no producer had before. Dropping the future loses at most a block of ids.
    ///
    /// # Errors
    /// The controller's code, or that the coordinator is loading while there is no controller to ask.
    pub(crate) async fn next(&self, broker_epoch: i64) -> Result<ProducerId, ErrorCode> {
        loop {
            if let Some(id) = self.take() {
                return Ok(id);
            }
            let _refill = self.refill.lock().await;
            if let Some(id) = self.take() {
                return Ok(id);
            }
            self.fetch_block(broker_epoch).await?;
        }
    }

    fn take(&self) -> Option<ProducerId> {
        let mut block = self.block.lock();
        let id = block.next;
        (id < block.end).then(|| {
            block.next += 1;
            ProducerId::new(id)
        })
    }

    async fn fetch_block(&self, broker_epoch: i64) -> Result<(), ErrorCode> {
        let request = AllocateProducerIdsRequest { broker_id: self.node_id, broker_epoch };
        let reply = match self.controller.call(ControllerRequest::AllocateProducerIds(request)).await {
            Ok(reply) => reply,
            Err(error) => {
                if let Some(left_out) = self.failures.due() {
                    tracing::warn!(%error, left_out, "no block of producer ids: idempotent producers have to wait");
                }
                return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
            }
        };
        let ControllerResponse::AllocateProducerIds(response) = reply.response else {
            return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
        };
        if !response.error_code.is_none() || response.producer_id_len <= 0 {
            if let Some(left_out) = self.failures.due() {
                let code = response.error_code;
                tracing::warn!(%code, left_out, "no block of producer ids: idempotent producers have to wait");
            }
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        let next = response.producer_id_start.get();
        *self.block.lock() = Block { next, end: next.saturating_add(i64::from(response.producer_id_len)) };
        Ok(())
    }
}
