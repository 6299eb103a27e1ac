//! BrokerRegistration: a broker's process has started. Sessions and fencing are not needed while the only broker is
//! the controller's own process: it is in service from its registration on.

use std::sync::Arc;

use ottla_model::{ErrorCode, NodeId, PartitionIndex, Uuid};
use ottla_protocol::messages::broker_registration::{BrokerRegistrationRequest, BrokerRegistrationResponse};
use ottla_protocol::metadata::{
    BrokerEndpoint, BrokerFeature, BrokerRegistrationChangeRecord, MetadataRecord, PartitionChangeRecord,
    RegisterBrokerRecord,
};

use super::{ControllerSettings, Decision, Occasion};
use crate::image::{MetadataImage, PartitionImage};
use crate::link::ControllerResponse;

pub(super) fn decide(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &BrokerRegistrationRequest,
    occasion: &Occasion<'_>,
) -> Decision {
    if request.cluster_id != settings.cluster_id {
        return refused(ErrorCode::INCONSISTENT_CLUSTER_ID);
    }
    let epoch = occasion.next_offset.get();
    let mut records = vec![MetadataRecord::RegisterBroker(registration(request, epoch))];
    records.extend(elections(image, request));
    let response =
        BrokerRegistrationResponse { broker_epoch: epoch, ..BrokerRegistrationResponse::default() };
    Decision { records, response: ControllerResponse::BrokerRegistration(response) }
}

/// The broker stops in good order together with its controller. It is fenced from here on, so that whoever carries the
/// log on need not wait whether it still lives: Kafka's controller would, for a session's time.
pub(super) fn leave(image: &MetadataImage, id: NodeId) -> Option<MetadataRecord> {
    let broker = image.broker(id).filter(|broker| !broker.fenced)?;
    let change = BrokerRegistrationChangeRecord {
        broker_id: id,
        broker_epoch: broker.epoch,
        fenced: 1,
        ..BrokerRegistrationChangeRecord::default()
    };
    Some(change.into())
}

fn registration(request: &BrokerRegistrationRequest, epoch: i64) -> RegisterBrokerRecord {
    let endpoint = |listener: &ottla_protocol::messages::broker_registration::Listener| BrokerEndpoint {
        name: listener.name.clone(),
        host: listener.host.clone(),
        port: listener.port,
        security_protocol: listener.security_protocol,
    };
    let feature = |feature: &ottla_protocol::messages::broker_registration::Feature| BrokerFeature {
        name: feature.name.clone(),
        min_supported_version: feature.min_supported_version,
        max_supported_version: feature.max_supported_version,
    };
    RegisterBrokerRecord {
        broker_id: request.broker_id,
        incarnation_id: request.incarnation_id,
        broker_epoch: epoch,
        end_points: request.listeners.iter().map(endpoint).collect(),
        features: request.features.iter().map(feature).collect(),
        rack: request.rack.clone(),
        fenced: false,
        log_dirs: request.log_dirs.clone(),
        ..RegisterBrokerRecord::default()
    }
}

/// Leaders for the broker's partitions. After a clean stop its partitions are as they were and keep their epoch. After
/// any other, records that readers have seen may be lost and their offsets be given to others, so each partition that
/// it leads is led in a new epoch.
fn elections(image: &MetadataImage, request: &BrokerRegistrationRequest) -> Vec<MetadataRecord> {
    let broker = request.broker_id;
    let clean = image.broker(broker).is_some_and(|before| before.epoch == request.previous_broker_epoch);
    let mut topics: Vec<_> = image.topics().map(Arc::as_ref).collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    let mut changes = Vec::new();
    for topic in topics {
        for (index, partition) in (0..).map(PartitionIndex::new).zip(&topic.partitions) {
            let due = match partition.leader {
                NodeId::NONE => may_lead(partition, broker),
                leader => leader == broker && !clean,
            };
            if due {
                changes.push(MetadataRecord::PartitionChange(election(partition, topic.id, index, broker)));
            }
        }
    }
    changes
}

/// A replica in sync, an eligible one, or the only one there is.
fn may_lead(partition: &PartitionImage, broker: NodeId) -> bool {
    partition.isr.contains(&broker)
        || partition.eligible_leader_replicas.contains(&broker)
        || partition.replicas == [broker]
}

fn election(
    partition: &PartitionImage,
    topic_id: Uuid,
    index: PartitionIndex,
    broker: NodeId,
) -> PartitionChangeRecord {
    let mut change = PartitionChangeRecord {
        partition_id: index,
        topic_id,
        leader: broker,
        ..PartitionChangeRecord::default()
    };
    // The logs were recovered before the broker registered.
    if partition.leader_recovery_state != 0 {
        change.leader_recovery_state = 0;
    }
    if !partition.isr.contains(&broker) {
        change.isr = Some(vec![broker]);
    }
    if !partition.eligible_leader_replicas.is_empty() {
        change.eligible_leader_replicas = Some(Vec::new());
    }
    if !partition.last_known_elr.is_empty() {
        change.last_known_elr = Some(Vec::new());
    }
    change
}

fn refused(error_code: ErrorCode) -> Decision {
    let response = BrokerRegistrationResponse { error_code, ..BrokerRegistrationResponse::default() };
    Decision { records: Vec::new(), response: ControllerResponse::BrokerRegistration(response) }
}
