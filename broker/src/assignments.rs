//! Tells the controller in which log directory each replica here is (KIP-858), where the metadata says otherwise or leaves
//! it open. Decides nothing: by the time it is told the log is there.

use std::collections::BTreeMap;

use ottla_cluster::{ControllerRequest, MetadataImage};
use ottla_model::{PartitionIndex, Uuid};
use ottla_protocol::messages::assign_replicas_to_dirs::{
    AssignReplicasToDirsRequest, RequestDirectoryData, RequestPartitionData, RequestTopicData,
};

use crate::context::Broker;

/// Tells where all partitions are, those aside of which the image knows it.
pub(crate) fn tell_all(broker: &Broker, image: &MetadataImage) {
    if broker.log_dirs.states().count() > 1 {
        let all = broker.partitions.all();
        tell(broker, image, all.iter().map(|partition| (partition.topic_id(), partition.index())));
    }
}

/// Tells where these partitions are, those aside of which the image knows it. Waits for nothing: what becomes of it the
/// next image shows, and the next start tells what was lost.
pub(crate) fn tell(
    broker: &Broker,
    image: &MetadataImage,
    partitions: impl Iterator<Item = (Uuid, PartitionIndex)>,
) {
    let mut places: BTreeMap<Uuid, BTreeMap<Uuid, Vec<RequestPartitionData>>> = BTreeMap::new();
    for (topic_id, index) in partitions {
        if let Some(directory) = unknown_place(broker, image, topic_id, index) {
            let topics = places.entry(directory).or_default();
            topics.entry(topic_id).or_default().push(RequestPartitionData { partition_index: index });
        }
    }
    if places.is_empty() {
        return;
    }
    let topics = |topics: BTreeMap<Uuid, Vec<RequestPartitionData>>| {
        topics.into_iter().map(|(topic_id, partitions)| RequestTopicData { topic_id, partitions }).collect()
    };
    let directories = places.into_iter().map(|(id, of)| RequestDirectoryData { id, topics: topics(of) });
    let epoch = image.broker(broker.node_id).map_or(-1, |registered| registered.epoch);
    let request = AssignReplicasToDirsRequest {
        broker_id: broker.node_id,
        broker_epoch: epoch,
        directories: directories.collect(),
    };
    // The call has been made when it returns; only its answer would be waited for.
    drop(broker.controller.call(ControllerRequest::AssignReplicasToDirs(request)));
}

/// The directory that a partition is in, if the image does not say so.
fn unknown_place(
    broker: &Broker,
    image: &MetadataImage,
    topic_id: Uuid,
    index: PartitionIndex,
) -> Option<Uuid> {
    let held = broker.partitions.topic_by_id(&topic_id)?;
    let is_in = held.partition(index)?.directory().id()?;
    let known = image.topic_by_id(&topic_id)?.partition(index)?;
    let place = known.replicas.iter().position(|replica| *replica == broker.node_id)?;
    (known.directories.get(place) != Some(&is_in)).then_some(is_in)
}
