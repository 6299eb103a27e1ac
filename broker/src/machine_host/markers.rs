//! A transaction's marker in one partition, whoever asks for it: the coordinator here, or another by WriteTxnMarkers. In
//! `__consumer_offsets` it goes through the group machine, which has offsets that wait for it.

use std::sync::Arc;

use ottla_coordinator::{Event, MarkerOrder, MarkerOutcome, Partitions, Reply};
use ottla_model::batch::EndTxnMarker;
use ottla_model::{ErrorCode, PartitionIndex, ProducerEpoch, ProducerId, TopicName};
use ottla_storage::MarkerRule;

use super::shard::{Asked, Delivery};
use crate::context::Broker;
use crate::error_map;
use crate::internal_topics::CONSUMER_OFFSETS;
use crate::partition::Partition;

/// What a marker says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marker {
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) coordinator_epoch: i32,
    pub(crate) committed: bool,
    /// Whether the end of the transaction raised the epoch.
    pub(crate) epoch_raised: bool,
}

/// Writes the markers of an order, as far as it can be done now.
pub(super) fn carry_out(broker: &Broker, order: &MarkerOrder) -> MarkerOutcome {
    let marker = Marker {
        producer_id: order.producer_id,
        producer_epoch: order.producer_epoch,
        coordinator_epoch: order.coordinator_epoch,
        committed: order.committed,
        epoch_raised: order.epoch_raised,
    };
    let mut unwritten = Partitions::new();
    let mut superseded = false;
    for (topic, indexes) in &order.partitions {
        for index in indexes {
            let held = find(broker, topic, *index);
            if order.may_be_written && held.as_ref().is_ok_and(|partition| has_ended(partition, marker)) {
                continue;
            }
            let code = held.and_then(|partition| write_to(broker, &partition, marker)).err();
            match code.unwrap_or(ErrorCode::NONE) {
                ErrorCode::NONE => {}
                // The topic was deleted, and the transaction's records with it.
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {}
                // The producer has gone on in a newer epoch, which a marker of this one cannot have let it do.
                ErrorCode::INVALID_PRODUCER_EPOCH => {
                    tracing::warn!(transactional_id = %order.id, %topic, partition = %index, "a marker is not needed any more");
                }
                ErrorCode::TRANSACTION_COORDINATOR_FENCED => superseded = true,
                code => {
                    tracing::debug!(transactional_id = %order.id, %topic, partition = %index, %code, "a marker has to wait");
                    unwritten.entry(topic.clone()).or_default().insert(*index);
                }
            }
        }
    }
    MarkerOutcome {
        id: order.id.clone(),
        producer_id: order.producer_id,
        producer_epoch: order.producer_epoch,
        unwritten,
        superseded,
    }
}

/// Whether a log that a start left closed would have to be opened, which waits for the disk.
pub(super) fn has_closed(broker: &Broker, order: &MarkerOrder) -> bool {
    let is_closed = |topic: &TopicName, index| find(broker, topic, index).is_ok_and(|it| !it.is_ready());
    order.partitions.iter().any(|(topic, indexes)| indexes.iter().any(|index| is_closed(topic, *index)))
}

/// Writes a marker to a partition that is led here.
pub(crate) fn write(
    broker: &Broker,
    topic: &TopicName,
    index: PartitionIndex,
    marker: Marker,
) -> Result<(), ErrorCode> {
    write_to(broker, &find(broker, topic, index)?, marker)
}

fn find(broker: &Broker, topic: &TopicName, index: PartitionIndex) -> Result<Arc<Partition>, ErrorCode> {
    let held = broker.partitions.topic(topic);
    match held.as_ref().and_then(|held| held.partition(index)) {
        Some(partition) => Ok(Arc::clone(partition)),
        None => Err(match broker.image.peek().partition(topic.as_str(), index) {
            None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Some(partition) if partition.replicas.contains(&broker.node_id) => ErrorCode::KAFKA_STORAGE_ERROR,
            Some(_) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        }),
    }
}

/// Whether the transaction has ended in a partition: nothing of it is open, and the producer's epoch has come so far.
fn has_ended(partition: &Partition, marker: Marker) -> bool {
    let known = partition.log().producer(marker.producer_id);
    known.is_some_and(|it| it.transaction_start.is_none() && it.producer_epoch >= marker.producer_epoch)
}

fn write_to(broker: &Broker, partition: &Arc<Partition>, marker: Marker) -> Result<(), ErrorCode> {
    if partition.topic().as_str() == CONSUMER_OFFSETS {
        return write_to_group(broker, partition.index(), marker);
    }
    // The append is made under a lock that others take on reactors.
    partition.ready().map_err(|error| error_map::of_partition(&error))?;
    let Marker { producer_id, producer_epoch, coordinator_epoch, committed, epoch_raised } = marker;
    let now_ms = broker.clock.now_ms();
    let batch = EndTxnMarker { committed, coordinator_epoch }.to_batch(producer_id, producer_epoch, now_ms);
    let batch = batch.map_err(|error| {
        tracing::error!(partition = %partition.name(), %error, "a marker makes no batch");
        ErrorCode::UNKNOWN_SERVER_ERROR
    })?;
    let rule = if epoch_raised { MarkerRule::Above } else { MarkerRule::NotBelow };
    let appended = partition.append_marker(batch, rule, now_ms);
    appended.map(drop).map_err(|error| error_map::of_partition(&error))
}

fn write_to_group(broker: &Broker, index: PartitionIndex, marker: Marker) -> Result<(), ErrorCode> {
    let Marker { producer_id, producer_epoch, coordinator_epoch, committed, epoch_raised } = marker;
    let event =
        Event::EndTransaction { producer_id, producer_epoch, coordinator_epoch, committed, epoch_raised };
    match broker.groups.ask_partition(index, event) {
        Asked::Answered(Delivery { reply: Reply::EndTransaction(ErrorCode::NONE), .. }) => Ok(()),
        Asked::Answered(Delivery { reply: Reply::EndTransaction(code), .. }) => Err(code),
        // The machine answers at once, and in kind; a panic in it closes the channel.
        _ => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
    }
}
