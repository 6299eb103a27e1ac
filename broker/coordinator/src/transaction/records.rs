//! From transactions to the bytes of `__transaction_state`, each value in the version that Kafka 4.4 writes, and back.

use bytes::Bytes;
use ottla_model::{ProducerEpoch, ProducerId, TransactionalId};
use ottla_protocol::codec::EncodeError;
use ottla_protocol::internal::transaction_log::{PartitionsSchema, TransactionLogKey, TransactionLogValue};
use ottla_protocol::internal::{CoordinatorRecordError, TransactionStateRecord};

use super::replay::TransactionRecordError;
use super::state::{Partitions, Transaction, TransactionState};
use crate::effects::Record;

/// The version of a value at this level of `transaction.version`: the newer one carries what KIP-890 needs.
pub(super) const fn value_version(transaction_version: i16) -> i16 {
    if transaction_version >= 1 { 1 } else { 0 }
}

/// The record's key and value as bytes; no transaction is a tombstone.
pub(super) fn encode(
    id: &TransactionalId,
    transaction: Option<&Transaction>,
    version: i16,
) -> Result<Record, EncodeError> {
    let key = TransactionLogKey { transactional_id: id.clone() };
    let value = transaction.map(value_of).map(|value| match version {
        0 => TransactionLogValue {
            previous_producer_id: ProducerId::NONE,
            next_producer_id: ProducerId::NONE,
            client_transaction_version: 0,
            ..value
        },
        _ => value,
    });
    let record = TransactionStateRecord::TransactionLog(key, value);
    let (key, value) = record.encode(version)?;
    Ok(Record { key, value })
}

/// What a record says: an id, and its transaction unless it is a tombstone.
pub(super) fn decode(
    key: Bytes,
    value: Option<Bytes>,
) -> Result<(TransactionalId, Option<Transaction>), TransactionRecordError> {
    let record = TransactionStateRecord::decode(key, value)?;
    let TransactionStateRecord::TransactionLog(key, value) = record;
    Ok((key.transactional_id, value.map(transaction_of).transpose()?))
}

fn value_of(transaction: &Transaction) -> TransactionLogValue {
    let partitions = transaction.partitions.iter().map(|(topic, indexes)| PartitionsSchema {
        topic: topic.clone(),
        partition_ids: indexes.iter().copied().collect(),
    });
    // As Kafka: an id that has no transaction yet has no list, a transaction without partitions an empty one.
    let is_empty = transaction.state == TransactionState::Empty;
    TransactionLogValue {
        producer_id: transaction.producer_id,
        previous_producer_id: transaction.previous_producer_id,
        next_producer_id: transaction.next_producer_id,
        producer_epoch: transaction.producer_epoch,
        transaction_timeout_ms: transaction.timeout_ms,
        transaction_status: transaction.state.number(),
        transaction_partitions: (!is_empty).then(|| partitions.collect()),
        transaction_last_update_timestamp_ms: transaction.last_update_ms,
        transaction_start_timestamp_ms: transaction.start_ms,
        client_transaction_version: transaction.client_version,
        ..TransactionLogValue::default()
    }
}

fn transaction_of(value: TransactionLogValue) -> Result<Transaction, TransactionRecordError> {
    let number = value.transaction_status;
    let state = TransactionState::from_number(number).ok_or(TransactionRecordError::State { number })?;
    let mut partitions = Partitions::new();
    for topic in value.transaction_partitions.unwrap_or_default() {
        partitions.entry(topic.topic).or_default().extend(topic.partition_ids);
    }
    Ok(Transaction {
        producer_id: value.producer_id,
        previous_producer_id: value.previous_producer_id,
        next_producer_id: value.next_producer_id,
        producer_epoch: value.producer_epoch,
        last_epoch: ProducerEpoch::NONE,
        timeout_ms: value.transaction_timeout_ms,
        state,
        partitions,
        last_update_ms: value.transaction_last_update_timestamp_ms,
        start_ms: value.transaction_start_timestamp_ms,
        client_version: value.client_transaction_version,
    })
}

/// A type of record that a newer Kafka writes.
pub(super) const fn is_unknown_type(error: &TransactionRecordError) -> bool {
    matches!(error, TransactionRecordError::Record(CoordinatorRecordError::UnknownType { .. }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ottla_model::batch::RecordBatch;

    use super::*;

    #[test]
    fn a_record_that_kafka_wrote_is_written_byte_for_byte_again() {
        let logs: [&'static [u8]; 2] = [
            include_bytes!("../../tests/data/kafka/__transaction_state-0.log"),
            include_bytes!("../../tests/data/kafka/__transaction_state-1.log"),
        ];
        let (mut compared, mut states) = (0, BTreeMap::new());
        for log in logs {
            let mut bytes = Bytes::from_static(log);
            while let Some(batch) = RecordBatch::split_first(&mut bytes).expect("a batch") {
                let records = batch.records(1 << 20).expect("records");
                for record in &records {
                    let record = record.expect("a record");
                    let key = Bytes::copy_from_slice(record.key.expect("a key"));
                    let value = record.value.map(Bytes::copy_from_slice);
                    let (id, transaction) = decode(key.clone(), value.clone()).expect("a known record");
                    let state = transaction.as_ref().map(|transaction| transaction.state.name());
                    *states.entry(state).or_insert(0) += 1;
                    // Kafka's order of topics is that of a hash map.
                    if transaction.as_ref().is_some_and(|transaction| transaction.partitions.len() > 1) {
                        continue;
                    }
                    assert_eq!(
                        encode(&id, transaction.as_ref(), 1).expect("it fits"),
                        Record { key, value },
                        "{id:?} {transaction:?}"
                    );
                    compared += 1;
                }
            }
        }
        let names: Vec<_> = states.keys().flatten().copied().collect();
        assert_eq!(
            names,
            ["CompleteAbort", "CompleteCommit", "Empty", "Ongoing", "PrepareAbort", "PrepareCommit"]
        );
        assert!(compared > 140, "{compared} records compared, of {states:?}");
    }

    #[test]
    fn a_value_without_the_fields_of_kip_890_is_read_and_written_too() {
        let id = TransactionalId::from("old");
        let before = Transaction::new(ProducerId::new(7), 60_000);
        let record = encode(&id, Some(&before), value_version(0)).expect("it fits");
        let (back, transaction) = decode(record.key, record.value).expect("a known record");
        let transaction = transaction.expect("no tombstone");
        assert_eq!((back, transaction.producer_id), (id, before.producer_id));
        assert_eq!(transaction.previous_producer_id, ProducerId::NONE);
    }

    #[test]
    fn a_state_that_nobody_knows_is_an_error() {
        let value = TransactionLogValue { transaction_status: 9, ..TransactionLogValue::default() };
        assert_eq!(transaction_of(value), Err(TransactionRecordError::State { number: 9 }));
    }
}
