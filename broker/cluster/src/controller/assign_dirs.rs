//! AssignReplicasToDirs: a broker says in which of its log directories replicas are (KIP-858). Nothing else of a partition
//! changes by it.

use ottla_model::{ErrorCode, PartitionIndex, Uuid};
use ottla_protocol::messages::assign_replicas_to_dirs::{
    AssignReplicasToDirsRequest, AssignReplicasToDirsResponse, ResponseDirectoryData, ResponsePartitionData,
    ResponseTopicData,
};
use ottla_protocol::metadata::{MetadataRecord, PartitionChangeRecord};

use super::{Decision, RECORDS_PER_REQUEST_MAX};
use crate::features::METADATA_VERSION;
use crate::image::MetadataImage;
use crate::link::ControllerResponse;

/// 3.7-IV2: the first metadata version whose partitions have directories.
const DIRECTORIES_SINCE: i16 = 17;

pub(super) fn decide(image: &MetadataImage, request: &AssignReplicasToDirsRequest) -> Decision {
    if image.feature_level(METADATA_VERSION) < DIRECTORIES_SINCE {
        return refused(ErrorCode::UNSUPPORTED_VERSION);
    }
    let Some(broker) = image.broker(request.broker_id) else {
        return refused(ErrorCode::BROKER_ID_NOT_REGISTERED);
    };
    if broker.epoch != request.broker_epoch {
        return refused(ErrorCode::STALE_BROKER_EPOCH);
    }
    let mut records = Vec::new();
    let mut directories = Vec::with_capacity(request.directories.len());
    for directory in &request.directories {
        let mut topics = Vec::with_capacity(directory.topics.len());
        for topic in &directory.topics {
            let partitions = topic.partitions.iter().map(|asked| {
                let index = asked.partition_index;
                let assigned = assign(image, request, directory.id, topic.topic_id, index);
                let error_code = assigned.as_ref().err().copied().unwrap_or(ErrorCode::NONE);
                records.extend(assigned.ok().flatten());
                ResponsePartitionData { partition_index: index, error_code }
            });
            topics.push(ResponseTopicData { topic_id: topic.topic_id, partitions: partitions.collect() });
        }
        directories.push(ResponseDirectoryData { id: directory.id, topics });
    }
    if records.len() > RECORDS_PER_REQUEST_MAX {
        return refused(ErrorCode::INVALID_REQUEST);
    }
    let response = AssignReplicasToDirsResponse { directories, ..AssignReplicasToDirsResponse::default() };
    Decision { records, response: ControllerResponse::AssignReplicasToDirs(response) }
}

/// The record that puts a replica into a directory; none where it is there already.
fn assign(
    image: &MetadataImage,
    request: &AssignReplicasToDirsRequest,
    directory: Uuid,
    topic_id: Uuid,
    partition_id: PartitionIndex,
) -> Result<Option<MetadataRecord>, ErrorCode> {
    let topic = image.topic_by_id(&topic_id).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?;
    let partition = topic.partition(partition_id).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let place = partition.replicas.iter().position(|replica| *replica == request.broker_id);
    let place = place.ok_or(ErrorCode::NOT_LEADER_OR_FOLLOWER)?;
    let mut directories = partition.directories.clone();
    // A log of a version before directories had ids lists none.
    directories.resize(partition.replicas.len(), Uuid::ZERO);
    let Some(slot) = directories.get_mut(place).filter(|slot| **slot != directory) else { return Ok(None) };
    *slot = directory;
    let change = PartitionChangeRecord {
        partition_id,
        topic_id,
        directories: Some(directories),
        ..PartitionChangeRecord::default()
    };
    Ok(Some(change.into()))
}

fn refused(error_code: ErrorCode) -> Decision {
    let response = AssignReplicasToDirsResponse { error_code, ..AssignReplicasToDirsResponse::default() };
    Decision { records: Vec::new(), response: ControllerResponse::AssignReplicasToDirs(response) }
}
