//! OffsetForLeaderEpoch: where an epoch ended, for consumers and followers that look for the place where their log
//! parts from ours (KIP-101, KIP-320).

use ottla_model::{ErrorCode, LeaderEpoch};
use ottla_network::Outcome;
use ottla_protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};

use super::shared;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::error_map;
use crate::partition_map::HeldTopic;

pub(crate) fn handle(call: &mut Call<'_>, request: OffsetForLeaderEpochRequest) -> Outcome {
    let broker = call.broker();
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let held = broker.partitions.topic(&topic.topic);
        let answer = |partition: &OffsetForLeaderPartition| match &held {
            Some(held) => {
                end_of_epoch(broker, held, partition).unwrap_or_else(|code| refusal(partition, code))
            }
            None => refusal(partition, shared::why_not_held(broker, &topic.topic, partition.partition)),
        };
        let partitions = topic.partitions.iter().map(answer).collect();
        topics.push(OffsetForLeaderTopicResult { topic: topic.topic, partitions });
    }
    call.reply(&OffsetForLeaderEpochResponse { topics, ..OffsetForLeaderEpochResponse::default() })
}

fn end_of_epoch(
    broker: &Broker,
    topic: &HeldTopic,
    asked: &OffsetForLeaderPartition,
) -> Result<EpochEndOffset, ErrorCode> {
    let partition = shared::find_partition(broker, topic, asked.partition)?;
    partition.check_leader(asked.current_leader_epoch).map_err(|error| error_map::of_partition(&error))?;
    let answer = EpochEndOffset { partition: asked.partition, ..EpochEndOffset::default() };
    let end = match asked.leader_epoch {
        LeaderEpoch::UNKNOWN => None,
        epoch => partition.log().end_offset_for_epoch(epoch),
    };
    Ok(match end {
        Some(end) => EpochEndOffset { leader_epoch: end.epoch, end_offset: end.end_offset, ..answer },
        None => answer,
    })
}

fn refusal(asked: &OffsetForLeaderPartition, error_code: ErrorCode) -> EpochEndOffset {
    EpochEndOffset { error_code, partition: asked.partition, ..EpochEndOffset::default() }
}
