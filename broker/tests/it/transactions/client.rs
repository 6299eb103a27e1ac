//! A transactional producer request by request, and a reader of what is committed.

use std::collections::BTreeSet;

use bytes::Bytes;
use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{ErrorCode, ProducerEpoch, ProducerId};
use ottla_protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ottla_protocol::messages::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ottla_protocol::messages::describe_transactions::DescribeTransactionsRequest;
use ottla_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ottla_protocol::messages::list_offsets::ListOffsetsRequest;
use ottla_protocol::messages::produce::{PartitionProduceResponse, ProduceRequest};
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ottla_testkit::Connection;

use crate::requests::{
    batches_of, fetch_request, fetched, list_offsets_request, now_ms, produce_request, produced,
};

/// How long a transaction may take where nothing else is said.
pub(crate) const TIMEOUT_MS: i32 = 60_000;

/// A transactional id with its producer.
#[derive(Debug, Clone)]
pub(crate) struct Producer {
    pub(crate) id: String,
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
}

/// Asks until the id has a coordinator that is loaded, as clients do.
pub(crate) fn ready(connection: &mut Connection, id: &str) {
    let find = FindCoordinatorRequest { key: id.into(), key_type: 1, ..FindCoordinatorRequest::default() };
    while !connection.call(&find, 1).error_code.is_none() {}
    let describe = DescribeTransactionsRequest { transactional_ids: vec![id.into()] };
    while connection.call(&describe, 0).transaction_states[0].error_code.is_retriable() {}
}

/// InitProducerId, once, with the producer that the client has had so far.
pub(crate) fn init_as(
    connection: &mut Connection,
    id: &str,
    version: i16,
    timeout_ms: i32,
    had: Option<(i64, i16)>,
) -> InitProducerIdResponse {
    let (producer_id, epoch) = had.unwrap_or((-1, -1));
    let request = InitProducerIdRequest {
        transactional_id: Some(id.into()),
        transaction_timeout_ms: timeout_ms,
        producer_id: producer_id.into(),
        producer_epoch: epoch.into(),
        ..InitProducerIdRequest::default()
    };
    connection.call(&request, version)
}

/// InitProducerId until it is answered, as clients do.
pub(crate) fn begin_within(connection: &mut Connection, id: &str, timeout_ms: i32) -> Producer {
    ready(connection, id);
    loop {
        let answer = init_as(connection, id, 5, timeout_ms, None);
        if answer.error_code.is_none() {
            let (producer_id, epoch) = (answer.producer_id.get(), answer.producer_epoch.get());
            return Producer { id: id.to_owned(), producer_id, epoch };
        }
        assert!(answer.error_code.is_retriable(), "{}", answer.error_code);
    }
}

pub(crate) fn begin(connection: &mut Connection, id: &str) -> Producer {
    begin_within(connection, id, TIMEOUT_MS)
}

/// A transactional batch of values.
pub(crate) fn batch(producer: (i64, i16), sequence: i32, values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::NONE)
        .with_producer(ProducerId::new(producer.0), ProducerEpoch::new(producer.1), sequence)
        .with_transactional(true);
    for value in values {
        let record =
            NewRecord { timestamp_ms: now_ms(), key: None, value: Some(value.as_bytes()), headers: &[] };
        builder.append(&record).unwrap();
    }
    builder.finish_bytes().unwrap()
}

impl Producer {
    pub(crate) fn at(&self, epoch: i16) -> Self {
        Self { epoch, ..self.clone() }
    }

    pub(crate) fn named(&self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self.clone() }
    }

    pub(crate) fn with_producer_id(&self, producer_id: i64) -> Self {
        Self { producer_id, ..self.clone() }
    }

    pub(crate) fn produce_request(
        &self,
        topic: &str,
        partition: i32,
        sequence: i32,
        values: &[&str],
    ) -> ProduceRequest {
        let records = batch((self.producer_id, self.epoch), sequence, values);
        let request = produce_request(topic, partition, -1, Some(records));
        ProduceRequest { transactional_id: Some(self.id.as_str().into()), ..request }
    }

    pub(crate) fn produce(
        &self,
        connection: &mut Connection,
        version: i16,
        (topic, partition): (&str, i32),
        sequence: i32,
        values: &[&str],
    ) -> PartitionProduceResponse {
        produced(connection.call(&self.produce_request(topic, partition, sequence, values), version))
    }

    /// Produces by version 12, by which the partition joins, and requires that it succeeds.
    pub(crate) fn write(&self, connection: &mut Connection, at: (&str, i32), sequence: i32, values: &[&str]) {
        let answer = self.produce(connection, 12, at, sequence, values);
        assert_eq!(answer.error_code, ErrorCode::NONE, "{self:?}");
    }

    pub(crate) fn add(
        &self,
        connection: &mut Connection,
        version: i16,
        topic: &str,
        partitions: &[i32],
    ) -> Vec<ErrorCode> {
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.id.as_str().into(),
            v3_and_below_producer_id: self.producer_id.into(),
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![AddPartitionsToTxnTopic {
                name: topic.into(),
                partitions: partitions.iter().map(|index| (*index).into()).collect(),
            }],
            ..AddPartitionsToTxnRequest::default()
        };
        let answer = connection.call(&request, version);
        let topics = answer.results_by_topic_v3_and_below.iter();
        topics.flat_map(|topic| &topic.results_by_partition).map(|it| it.partition_error_code).collect()
    }

    pub(crate) fn end(&self, connection: &mut Connection, version: i16, committed: bool) -> EndTxnResponse {
        let request = EndTxnRequest {
            transactional_id: self.id.as_str().into(),
            producer_id: self.producer_id.into(),
            producer_epoch: self.epoch.into(),
            committed,
        };
        connection.call(&request, version)
    }

    /// Ends by version 5, goes on with the epoch that comes of it, and requires that it succeeds.
    pub(crate) fn finish(&mut self, connection: &mut Connection, committed: bool) {
        let answer = self.end(connection, 5, committed);
        assert_eq!(answer.error_code, ErrorCode::NONE, "{self:?}");
        (self.producer_id, self.epoch) = (answer.producer_id.get(), answer.producer_epoch.get());
    }

    pub(crate) fn add_offsets(&self, connection: &mut Connection, version: i16, group: &str) -> ErrorCode {
        let request = AddOffsetsToTxnRequest {
            transactional_id: self.id.as_str().into(),
            producer_id: self.producer_id.into(),
            producer_epoch: self.epoch.into(),
            group_id: group.into(),
        };
        connection.call(&request, version).error_code
    }

    pub(crate) fn commit_offset(
        &self,
        connection: &mut Connection,
        version: i16,
        group: &str,
        (topic, partition): (&str, i32),
        offset: i64,
    ) -> ErrorCode {
        let request = TxnOffsetCommitRequest {
            transactional_id: self.id.as_str().into(),
            group_id: group.into(),
            producer_id: self.producer_id.into(),
            producer_epoch: self.epoch.into(),
            generation_id_or_member_epoch: -1,
            topics: vec![TxnOffsetCommitRequestTopic {
                name: topic.into(),
                partitions: vec![TxnOffsetCommitRequestPartition {
                    partition_index: partition.into(),
                    committed_offset: offset.into(),
                    ..TxnOffsetCommitRequestPartition::default()
                }],
                ..TxnOffsetCommitRequestTopic::default()
            }],
            ..TxnOffsetCommitRequest::default()
        };
        connection.call(&request, version).topics[0].partitions[0].error_code
    }
}

/// The values that a reader of committed records gets of a partition from an offset on, and where it goes on.
pub(crate) fn committed_from(
    connection: &mut Connection,
    topic: &str,
    partition: i32,
    from: i64,
) -> (Vec<String>, i64) {
    let request = FetchRequest { isolation_level: 1, ..fetch_request(topic, partition, from) };
    let answer = fetched(connection.call(&request, 12));
    let mut aborted = answer.aborted_transactions.clone().unwrap_or_default();
    aborted.sort_by_key(|aborted| aborted.first_offset);
    let mut aborted = aborted.into_iter().peekable();
    let mut aborting: BTreeSet<i64> = BTreeSet::new();
    let (mut values, mut next) = (Vec::new(), from);
    for batch in batches_of(answer) {
        let header = batch.header();
        while let Some(begun) = aborted.next_if(|it| it.first_offset <= header.last_offset()) {
            aborting.insert(begun.producer_id.get());
        }
        next = header.next_offset().get();
        if header.is_control() {
            aborting.remove(&header.producer_id().get());
            continue;
        }
        if header.is_transactional() && aborting.contains(&header.producer_id().get()) {
            continue;
        }
        let base = header.base_offset().get();
        for (offset, record) in (base..).zip(&batch.records(1 << 20).unwrap()) {
            if offset >= from {
                values.push(String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap());
            }
        }
    }
    (values, next)
}

/// All of them.
pub(crate) fn committed(connection: &mut Connection, topic: &str, partition: i32) -> Vec<String> {
    let (mut all, mut from) = (Vec::new(), 0);
    loop {
        let (values, next) = committed_from(connection, topic, partition, from);
        if next == from {
            return all;
        }
        all.extend(values);
        from = next;
    }
}

/// The end of a partition, for one who reads everything and one who reads what is committed.
pub(crate) fn ends(connection: &mut Connection, topic: &str, partition: i32) -> (i64, i64) {
    let mut end = |isolation_level| {
        let request = ListOffsetsRequest { isolation_level, ..list_offsets_request(topic, partition, -1) };
        connection.call(&request, 7).topics[0].partitions[0].offset.get()
    };
    (end(0), end(1))
}
