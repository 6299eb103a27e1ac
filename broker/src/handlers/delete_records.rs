//! DeleteRecords: records go at the start of a log, up to an offset (KIP-107). They cannot be read once the answer is
//! there, and do not come back after a crash; their files go with the next look for what may be deleted.

use std::collections::HashSet;
use std::sync::Arc;

use ottla_model::{ErrorCode, LeaderEpoch, Offset, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};

use super::shared;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::error_map;
use crate::internal_topics;

/// All records that are committed.
const UP_TO_HIGH_WATERMARK: Offset = Offset::UNKNOWN;

pub(crate) fn handle(call: &mut Call<'_>, request: DeleteRecordsRequest) -> Outcome {
    let (broker, to) = (call.broker_arc(), call.reply_to());
    Outcome::later(async move {
        let pool = broker.pool.clone();
        let refused = refuse_all(&request, ErrorCode::NOT_LEADER_OR_FOLLOWER);
        let deleted = pool.run(move || delete_all(&broker, request)).await;
        to.reply(&deleted.unwrap_or(refused))
    })
}

/// Waits for the disk.
fn delete_all(broker: &Broker, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let mut moved = Vec::new();
    let mut seen = HashSet::new();
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for asked in &topic.partitions {
            if !seen.insert((topic.name.clone(), asked.partition_index)) {
                continue;
            }
            let deleted = delete(broker, &topic.name, asked).map(|(partition, low_watermark)| {
                moved.push((partition.directory(), topics.len(), partitions.len()));
                low_watermark
            });
            partitions.push(result(asked, deleted));
        }
        topics.push(DeleteRecordsTopicResult { name: topic.name, partitions });
    }
    let mut response = DeleteRecordsResponse { topics, throttle_time_ms: 0 };
    make_durable(moved, &mut response);
    response
}

type Moved = (Arc<ottla_storage::LogDir>, usize, usize);

/// Writes the log starts down, one file a directory. Where that fails the records may come back.
fn make_durable(moved: Vec<Moved>, response: &mut DeleteRecordsResponse) {
    let mut written: Vec<(Arc<ottla_storage::LogDir>, bool)> = Vec::new();
    for (directory, topic, partition) in moved {
        let known = written.iter().find(|(other, _)| Arc::ptr_eq(other, &directory)).map(|(_, ok)| *ok);
        let is_written = known.unwrap_or_else(|| {
            let result = directory.checkpoint_log_starts();
            if let Err(error) = &result {
                tracing::error!(directory = %directory.path().display(), %error, "log starts not written");
            }
            written.push((Arc::clone(&directory), result.is_ok()));
            result.is_ok()
        });
        let answer = response.topics.get_mut(topic).and_then(|topic| topic.partitions.get_mut(partition));
        if let Some(answer) = answer.filter(|_| !is_written) {
            answer.error_code = ErrorCode::KAFKA_STORAGE_ERROR;
            answer.low_watermark = Offset::UNKNOWN;
        }
    }
}

fn delete(
    broker: &Broker,
    topic: &TopicName,
    asked: &DeleteRecordsPartition,
) -> Result<(Arc<crate::partition::Partition>, Offset), ErrorCode> {
    if internal_topics::is_internal(topic) && broker.image.peek().topic(topic.as_str()).is_some() {
        return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
    }
    let index = asked.partition_index;
    let held = broker.partitions.topic(topic).ok_or_else(|| shared::why_not_held(broker, topic, index))?;
    let partition = shared::find_partition(broker, &held, index)?;
    partition.check_leader(LeaderEpoch::UNKNOWN).map_err(|error| error_map::of_partition(&error))?;
    if !partition.settings().log.deletes {
        return Err(ErrorCode::POLICY_VIOLATION);
    }
    let high_watermark = partition.positions().high_watermark;
    let offset = if asked.offset == UP_TO_HIGH_WATERMARK { high_watermark } else { asked.offset };
    if offset < Offset::ZERO || offset > high_watermark {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    partition.check_writable().map_err(|error| error_map::of_partition(&error))?;
    let low_watermark = partition.log().raise_log_start(offset).map_err(|error| error_map::of_log(&error))?;
    partition.log_start_moved();
    Ok((Arc::clone(partition), low_watermark))
}

fn result(
    asked: &DeleteRecordsPartition,
    deleted: Result<Offset, ErrorCode>,
) -> DeleteRecordsPartitionResult {
    let (low_watermark, error_code) = match deleted {
        Ok(low_watermark) => (low_watermark, ErrorCode::NONE),
        Err(code) => (Offset::UNKNOWN, code),
    };
    DeleteRecordsPartitionResult { partition_index: asked.partition_index, low_watermark, error_code }
}

fn refuse_all(request: &DeleteRecordsRequest, code: ErrorCode) -> DeleteRecordsResponse {
    let topics = request.topics.iter().map(|topic| DeleteRecordsTopicResult {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(|asked| result(asked, Err(code))).collect(),
    });
    DeleteRecordsResponse { topics: topics.collect(), throttle_time_ms: 0 }
}
