//! AllocateProducerIds: blocks of producer ids, never given twice. A broker that stops wastes the rest of its block.

use ottla_model::{ErrorCode, ProducerId};
use ottla_protocol::messages::allocate_producer_ids::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse,
};
use ottla_protocol::metadata::{MetadataRecord, ProducerIdsRecord};

use super::Decision;
use crate::image::MetadataImage;
use crate::link::ControllerResponse;

/// Ids in a block, as in Kafka.
pub(super) const BLOCK_LEN: i32 = 1000;

pub(super) fn decide(image: &MetadataImage, request: &AllocateProducerIdsRequest) -> Decision {
    let registered =
        image.broker(request.broker_id).is_some_and(|broker| broker.epoch == request.broker_epoch);
    if !registered {
        return refused(ErrorCode::STALE_BROKER_EPOCH);
    }
    let start = image.next_producer_id();
    let Some(next) = start.get().checked_add(i64::from(BLOCK_LEN)) else {
        return refused(ErrorCode::UNKNOWN_SERVER_ERROR);
    };
    let record = ProducerIdsRecord {
        broker_id: request.broker_id,
        broker_epoch: request.broker_epoch,
        next_producer_id: ProducerId::new(next),
    };
    let response = AllocateProducerIdsResponse {
        producer_id_start: start,
        producer_id_len: BLOCK_LEN,
        ..AllocateProducerIdsResponse::default()
    };
    Decision {
        records: vec![MetadataRecord::ProducerIds(record)],
        response: ControllerResponse::AllocateProducerIds(response),
    }
}

fn refused(error_code: ErrorCode) -> Decision {
    let response = AllocateProducerIdsResponse { error_code, ..AllocateProducerIdsResponse::default() };
    Decision { records: Vec::new(), response: ControllerResponse::AllocateProducerIds(response) }
}
