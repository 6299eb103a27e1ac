//! AlterReplicaLogDirs: partitions of this broker that are to lie in another of its directories. Only notes it; the mover
//! does it, and DescribeLogDirs shows how far it is.

use std::path::Path;

use ottla_model::{ErrorCode, PartitionIndex, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::alter_replica_log_dirs::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
};

use super::shared;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::log_dirs::DirState;

pub(crate) fn handle(call: &mut Call<'_>, request: AlterReplicaLogDirsRequest) -> Outcome {
    let broker = call.broker();
    let mut results: Vec<AlterReplicaLogDirTopicResult> = Vec::new();
    for dir in request.dirs {
        // Compared as text, as Kafka does: another way to write the same path is no directory of the configuration.
        let target = broker.log_dirs.states().find(|state| state.path == Path::new(dir.path.as_str()));
        let target = target.filter(|state| state.path.as_os_str() == dir.path.as_str());
        for topic in dir.topics {
            let partitions = topic.partitions.into_iter().map(|index| AlterReplicaLogDirPartitionResult {
                partition_index: index,
                error_code: alter(broker, &topic.name, index, target.as_ref())
                    .err()
                    .unwrap_or(ErrorCode::NONE),
            });
            let partitions: Vec<_> = partitions.collect();
            match results.iter_mut().find(|known| known.topic_name == topic.name) {
                Some(known) => known.partitions.extend(partitions),
                None => {
                    results.push(AlterReplicaLogDirTopicResult { topic_name: topic.name, partitions });
                }
            }
        }
    }
    call.reply(&AlterReplicaLogDirsResponse { results, ..AlterReplicaLogDirsResponse::default() })
}

fn alter(
    broker: &Broker,
    topic: &TopicName,
    index: PartitionIndex,
    target: Option<&DirState<'_>>,
) -> Result<(), ErrorCode> {
    let target = target.ok_or(ErrorCode::LOG_DIR_NOT_FOUND)?;
    let target = target.held.ok_or(ErrorCode::KAFKA_STORAGE_ERROR)?;
    let held = broker.partitions.topic(topic).ok_or_else(|| shared::why_not_held(broker, topic, index))?;
    let partition = shared::find_partition(broker, &held, index)?;
    broker.mover.request(partition, &target.dir);
    Ok(())
}
