//! From what a machine wants written to a batch at the end of its partition, and from what went wrong to the machine's
//! words for it. One event's records are one batch.

use std::sync::Arc;

use ottla_coordinator::{Append, AppendFailure, Record};
use ottla_model::batch::{BatchBuilder, BuildError, CheckedBatch, EndTxnMarker, NO_SEQUENCE, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{ProducerEpoch, ProducerId};
use ottla_storage::{AppendInfo, LogError, MarkerRule};

use crate::partition::append::Acks;
use crate::partition::{Partition, PartitionError};

/// Appends what a machine wants written.
pub(super) fn append(
    partition: &Arc<Partition>,
    wanted: &Append,
    compression: Compression,
    now_ms: i64,
) -> Result<(), AppendFailure> {
    let batch = match wanted {
        Append::Nothing => return Ok(()),
        Append::Records { records, transaction } => batch_of(records, *transaction, compression, now_ms),
        Append::Marker { producer_id, producer_epoch, coordinator_epoch, committed, epoch_raised } => {
            let marker = EndTxnMarker { committed: *committed, coordinator_epoch: *coordinator_epoch };
            let rule = if *epoch_raised { MarkerRule::Above } else { MarkerRule::NotBelow };
            return marker
                .to_batch(*producer_id, *producer_epoch, now_ms)
                .map_err(|error| {
                    tell(partition, &error, "a marker makes no batch");
                    AppendFailure::Other
                })
                .and_then(|batch| appended(partition, partition.append_marker(batch, rule, now_ms)));
        }
    };
    let batch = batch.map_err(|error| {
        tell(partition, &error, "they make no batch");
        AppendFailure::TooLarge
    })?;
    let limit = partition.settings().rules.max_message_bytes;
    if batch.size() > limit {
        let size = batch.size();
        tell(partition, &format_args!("{size} bytes"), "they are larger than max.message.bytes allows");
        return Err(AppendFailure::TooLarge);
    }
    appended(
        partition,
        match wanted {
            Append::Records { transaction: Some(_), .. } => {
                partition.append_in_transaction(batch, Acks::InSync, now_ms)
            }
            _ => partition.append(batch, Acks::InSync, now_ms),
        },
    )
}

fn appended(partition: &Partition, outcome: Result<AppendInfo, PartitionError>) -> Result<(), AppendFailure> {
    outcome.map(drop).map_err(|error| failure(partition, &error))
}

fn batch_of(
    records: &[Record],
    transaction: Option<(ProducerId, ProducerEpoch)>,
    compression: Compression,
    now_ms: i64,
) -> Result<CheckedBatch, BuildError> {
    let bytes =
        |record: &Record| record.key.len() + record.value.as_ref().map_or(0, |value| value.len()) + 32;
    let mut builder = BatchBuilder::with_capacity(compression, records.iter().map(bytes).sum());
    if let Some((producer_id, producer_epoch)) = transaction {
        builder = builder.with_producer(producer_id, producer_epoch, NO_SEQUENCE).with_transactional(true);
    }
    for record in records {
        builder.append(&NewRecord {
            timestamp_ms: now_ms,
            key: Some(&record.key),
            value: record.value.as_deref(),
            headers: &[],
        })?;
    }
    builder.finish()
}

fn failure(partition: &Partition, error: &PartitionError) -> AppendFailure {
    match error {
        PartitionError::NotLeader { .. }
        | PartitionError::EpochFenced { .. }
        | PartitionError::EpochUnknown { .. }
        | PartitionError::Removed
        | PartitionError::Log(LogError::Closed | LogError::DirectoryFailed(_) | LogError::Io { .. }) => {
            AppendFailure::NotLeader
        }
        PartitionError::NotEnoughReplicas { .. } => AppendFailure::Unavailable,
        PartitionError::NotInTransaction { .. } => AppendFailure::NotInTransaction,
        PartitionError::Log(LogError::BatchTooLarge { .. }) => AppendFailure::TooLarge,
        PartitionError::Log(LogError::ProducerEpochFenced { .. }) => AppendFailure::ProducerFenced,
        PartitionError::Log(LogError::CoordinatorFenced { .. }) => AppendFailure::CoordinatorFenced,
        PartitionError::Log(error) => {
            tell(partition, &error, "the log refuses them");
            AppendFailure::Other
        }
    }
}

fn tell(partition: &Partition, error: &dyn std::fmt::Display, what: &'static str) {
    partition.place().flush.errors.of_coordinator(partition.name(), error, what);
}
