//! UnregisterBroker: a broker that is not coming back is forgotten. The node's own broker cannot be: Kafka's controller
//! does it, and nothing is served until the node is started again.

use std::sync::Arc;

use compact_str::format_compact;
use ottla_model::{ErrorCode, NodeId, PartitionIndex};
use ottla_protocol::messages::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};
use ottla_protocol::metadata::{MetadataRecord, PartitionChangeRecord, UnregisterBrokerRecord};

use super::{ControllerSettings, Decision};
use crate::image::{MetadataImage, PartitionImage};
use crate::link::ControllerResponse;

pub(super) fn decide(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &UnregisterBrokerRequest,
) -> Decision {
    let id = request.broker_id;
    let Some(broker) = image.broker(id) else {
        let message = format_compact!("Broker ID {id} is not currently registered");
        return answer(Vec::new(), ErrorCode::BROKER_ID_NOT_REGISTERED, Some(message));
    };
    if id == settings.node_id {
        let message =
            format_compact!("Broker {id} is this node itself and serves: it cannot be unregistered.");
        return answer(Vec::new(), ErrorCode::INVALID_REQUEST, Some(message));
    }
    let mut records = bereave(image, id);
    let record = UnregisterBrokerRecord { broker_id: id, broker_epoch: broker.epoch };
    records.push(MetadataRecord::UnregisterBroker(record));
    answer(records, ErrorCode::NONE, None)
}

/// Its partitions without it: others lead where they can, and it is in sync with nobody, unless nobody else is.
fn bereave(image: &MetadataImage, id: NodeId) -> Vec<MetadataRecord> {
    let mut topics: Vec<_> = image.topics().map(Arc::as_ref).collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    let mut records = Vec::new();
    for topic in topics {
        for (partition_id, partition) in (0..).map(PartitionIndex::new).zip(&topic.partitions) {
            let change = PartitionChangeRecord {
                partition_id,
                topic_id: topic.id,
                ..PartitionChangeRecord::default()
            };
            records.extend(without(image, partition, id, change));
        }
    }
    records
}

fn without(
    image: &MetadataImage,
    partition: &PartitionImage,
    id: NodeId,
    mut change: PartitionChangeRecord,
) -> Option<MetadataRecord> {
    if partition.leader != id && !partition.isr.contains(&id) {
        return None;
    }
    let isr: Vec<NodeId> = partition.isr.iter().copied().filter(|node| *node != id).collect();
    if partition.leader == id {
        let is_alive = |node: &&NodeId| image.broker(**node).is_some_and(|broker| !broker.fenced);
        change.leader = isr.iter().find(is_alive).copied().unwrap_or(NodeId::NONE);
    } else if isr.is_empty() {
        return None;
    }
    if !isr.is_empty() && isr != partition.isr {
        change.isr = Some(isr);
    }
    Some(change.into())
}

fn answer(
    records: Vec<MetadataRecord>,
    error_code: ErrorCode,
    error_message: Option<compact_str::CompactString>,
) -> Decision {
    // Kafka gives an empty text where there is nothing to say.
    let error_message = error_message.or(Some(compact_str::CompactString::const_new("")));
    let response =
        UnregisterBrokerResponse { error_code, error_message, ..UnregisterBrokerResponse::default() };
    Decision { records, response: ControllerResponse::UnregisterBroker(response) }
}
