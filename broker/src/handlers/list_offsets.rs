//! ListOffsets: the offset of a time, of an end of the log, or of its latest record. Times are searched where a disk
//! may be waited for; the ends are known.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ottla_model::{ErrorCode, LeaderEpoch, Offset, PartitionIndex, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};

use super::shared;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::error_map;
use crate::partition::read::Isolation;
use crate::partition::{Partition, PartitionError};

/// The end of what the reader may see.
const LATEST: i64 = -1;
/// The log start.
const EARLIEST: i64 = -2;
/// The record with the largest timestamp.
const MAX_TIMESTAMP: i64 = -3;
/// The first offset on this broker's own disks; without tiers, the log start.
const EARLIEST_LOCAL: i64 = -4;
/// The last offset in a remote tier; without tiers, none.
const LATEST_TIERED: i64 = -5;
/// The first offset that is to go to a remote tier; without tiers, none.
const EARLIEST_PENDING_UPLOAD: i64 = -6;
/// No timestamp goes with the offset, or there is no offset.
const UNKNOWN_TIMESTAMP_MS: i64 = -1;

/// The first version that answers with leader epochs.
const EPOCHS_SINCE: i16 = 4;

/// The first version in which a special time has its meaning.
const fn since(timestamp: i64) -> i16 {
    match timestamp {
        MAX_TIMESTAMP => 7,
        EARLIEST_LOCAL => 8,
        LATEST_TIERED => 9,
        EARLIEST_PENDING_UPLOAD => 11,
        ..EARLIEST_PENDING_UPLOAD => i16::MAX,
        _ => 0,
    }
}

/// What was asked of one partition.
#[derive(Debug, Clone, Copy)]
struct Asked {
    version: i16,
    index: PartitionIndex,
    epoch: LeaderEpoch,
    timestamp: i64,
    isolation: Isolation,
}

/// An answer, or what is still to be searched.
enum Found {
    Answer(ListOffsetsPartitionResponse),
    Search(Arc<Partition>, Asked),
}

pub(crate) fn handle(call: &mut Call<'_>, request: ListOffsetsRequest) -> Outcome {
    let broker = call.broker();
    let Ok(isolation) = Isolation::try_from(request.isolation_level) else {
        let index = |asked: &ListOffsetsPartition| asked.partition_index;
        let topics = request.topics.into_iter();
        let topics = topics.map(|topic| (topic.name, topic.partitions.iter().map(index).collect()));
        return call.reply(&refuse_all(topics.collect(), ErrorCode::UNKNOWN_SERVER_ERROR));
    };
    let mut repeated = repeated_partitions(&request);
    let mut searches = false;
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut found = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let place = repeated.get_mut(&(topic.name.clone(), partition.partition_index));
            let answer = match place {
                None => look_up(broker, &topic.name, asked(partition, isolation, call.version())),
                // A partition that is named several times is refused once.
                Some(true) => continue,
                Some(told) => {
                    *told = true;
                    Found::Answer(refusal(partition.partition_index, ErrorCode::INVALID_REQUEST))
                }
            };
            searches |= matches!(answer, Found::Search(..));
            found.push(answer);
        }
        topics.push((topic.name, found));
    }
    let to = call.reply_to();
    if !searches {
        return to.reply(&search_all(topics)).into();
    }
    let broker = call.broker_arc();
    Outcome::later(async move {
        let names: Vec<_> = topics.iter().map(|(name, found)| (name.clone(), indices(found))).collect();
        match broker.pool.run(move || search_all(topics)).await {
            Ok(response) => to.reply(&response),
            Err(error) => to.reply(&refuse_all(names, error_map::of_pool(error))),
        }
    })
}

fn asked(partition: &ListOffsetsPartition, isolation: Isolation, version: i16) -> Asked {
    Asked {
        version,
        index: partition.partition_index,
        epoch: partition.current_leader_epoch,
        timestamp: partition.timestamp,
        isolation,
    }
}

/// The partitions that a request names more than once, none of them told yet: which of the times is meant?
fn repeated_partitions(request: &ListOffsetsRequest) -> HashMap<(TopicName, PartitionIndex), bool> {
    let mut seen = HashSet::new();
    let mut repeated = HashMap::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            let key = (topic.name.clone(), partition.partition_index);
            if !seen.insert(key.clone()) {
                repeated.insert(key, false);
            }
        }
    }
    repeated
}

fn look_up(broker: &Broker, topic: &TopicName, asked: Asked) -> Found {
    if asked.version < since(asked.timestamp) {
        return Found::Answer(refusal(asked.index, ErrorCode::UNSUPPORTED_VERSION));
    }
    let held = broker.partitions.topic(topic);
    let partition = match &held {
        Some(held) => shared::find_partition(broker, held, asked.index),
        None => Err(shared::why_not_held(broker, topic, asked.index)),
    };
    match partition {
        Err(code) => Found::Answer(refusal(asked.index, code)),
        Ok(partition) => match known_offset(partition, asked) {
            Ok(Some(answer)) => Found::Answer(answer),
            Ok(None) => Found::Search(Arc::clone(partition), asked),
            Err(error) => Found::Answer(refusal(asked.index, error_map::of_partition(&error))),
        },
    }
}

/// The answer if it is known without a search.
fn known_offset(
    partition: &Partition,
    asked: Asked,
) -> Result<Option<ListOffsetsPartitionResponse>, PartitionError> {
    let epoch = partition.check_leader(asked.epoch)?;
    let positions = partition.positions();
    let (offset, leader_epoch) = match asked.timestamp {
        LATEST => (asked.isolation.end(&positions), epoch),
        EARLIEST | EARLIEST_LOCAL => {
            let start = positions.log_start;
            (start, partition.log().epoch_for_offset(start).unwrap_or(LeaderEpoch::UNKNOWN))
        }
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => (Offset::UNKNOWN, LeaderEpoch::UNKNOWN),
        _ => return Ok(None),
    };
    Ok(Some(answer(asked, UNKNOWN_TIMESTAMP_MS, offset, leader_epoch)))
}

fn search_all(topics: Vec<(TopicName, Vec<Found>)>) -> ListOffsetsResponse {
    let answer = |found| match found {
        Found::Answer(answer) => answer,
        Found::Search(partition, asked) => search(&partition, asked)
            .unwrap_or_else(|error| refusal(asked.index, error_map::of_partition(&error))),
    };
    let topic = |(name, found): (TopicName, Vec<Found>)| ListOffsetsTopicResponse {
        name,
        partitions: found.into_iter().map(answer).collect(),
    };
    ListOffsetsResponse { topics: topics.into_iter().map(topic).collect(), ..ListOffsetsResponse::default() }
}

/// Searches the log; may wait for a disk. What the reader may not see yet counts as not there.
fn search(partition: &Partition, asked: Asked) -> Result<ListOffsetsPartitionResponse, PartitionError> {
    let log = partition.log();
    let found = match asked.timestamp {
        MAX_TIMESTAMP => log.offset_of_max_timestamp()?,
        timestamp_ms => log.offset_for_time(timestamp_ms)?,
    };
    let end = asked.isolation.end(&partition.positions());
    Ok(match found.filter(|found| found.offset < end) {
        None => answer(asked, UNKNOWN_TIMESTAMP_MS, Offset::UNKNOWN, LeaderEpoch::UNKNOWN),
        Some(found) => answer(asked, found.timestamp_ms, found.offset, found.leader_epoch),
    })
}

/// The answer, with the epoch where the version has room for it.
fn answer(asked: Asked, timestamp: i64, offset: Offset, epoch: LeaderEpoch) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        partition_index: asked.index,
        timestamp,
        offset,
        leader_epoch: if asked.version < EPOCHS_SINCE { LeaderEpoch::UNKNOWN } else { epoch },
        ..ListOffsetsPartitionResponse::default()
    }
}

fn refusal(index: PartitionIndex, error_code: ErrorCode) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse { partition_index: index, error_code, ..Default::default() }
}

fn indices(found: &[Found]) -> Vec<PartitionIndex> {
    let index = |found: &Found| match found {
        Found::Answer(answer) => answer.partition_index,
        Found::Search(_, asked) => asked.index,
    };
    found.iter().map(index).collect()
}

fn refuse_all(topics: Vec<(TopicName, Vec<PartitionIndex>)>, code: ErrorCode) -> ListOffsetsResponse {
    let topic = |(name, indices): (TopicName, Vec<PartitionIndex>)| ListOffsetsTopicResponse {
        name,
        partitions: indices.into_iter().map(|index| refusal(index, code)).collect(),
    };
    ListOffsetsResponse { topics: topics.into_iter().map(topic).collect(), ..ListOffsetsResponse::default() }
}
