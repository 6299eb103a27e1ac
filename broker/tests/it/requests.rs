//! Requests and batches as the tests here need them, with the parts of the answers that they look at.

use bytes::{Bytes, BytesMut};
use ottla_model::batch::{BatchBuilder, NewRecord, RecordBatch, compute_crc};
use ottla_model::compression::Compression;
use ottla_model::{Clock as _, ErrorCode, Offset, ProducerEpoch, ProducerId, SystemClock, Uuid};
use ottla_protocol::Records;
use ottla_protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use ottla_protocol::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData,
};
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
};
use ottla_protocol::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use ottla_testkit::Connection;

/// The versions that most tests speak: the newest that names topics by name.
pub(crate) const PRODUCE: i16 = 12;
pub(crate) const FETCH: i16 = 12;

pub(crate) fn now_ms() -> i64 {
    SystemClock.now_ms()
}

/// A batch of so many small records, dated now.
pub(crate) fn batch(count: usize) -> Bytes {
    batch_at(count, now_ms(), Compression::NONE)
}

pub(crate) fn batch_at(count: usize, timestamp_ms: i64, compression: Compression) -> Bytes {
    fill(BatchBuilder::new(compression), count, timestamp_ms)
}

/// A batch of one record with a value of so many bytes that do not compress.
pub(crate) fn batch_of_bytes(size: usize) -> Bytes {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    let value: Vec<u8> = (0..size).map(|_| noise()).collect();
    let mut builder = BatchBuilder::new(Compression::NONE);
    let record = NewRecord { timestamp_ms: now_ms(), key: None, value: Some(&value), headers: &[] };
    builder.append(&record).unwrap();
    builder.finish_bytes().unwrap()
}

/// A batch of one record from an idempotent producer.
pub(crate) fn batch_from(producer_id: i64, epoch: i16, sequence: i32) -> Bytes {
    let builder = BatchBuilder::new(Compression::NONE).with_producer(
        ProducerId::new(producer_id),
        ProducerEpoch::new(epoch),
        sequence,
    );
    fill(builder, 1, now_ms())
}

fn fill(mut builder: BatchBuilder, count: usize, timestamp_ms: i64) -> Bytes {
    for number in 0..count {
        let (key, value) = (format!("key-{number}"), format!("value-{number}"));
        let record = NewRecord {
            timestamp_ms,
            key: Some(key.as_bytes()),
            value: Some(value.as_bytes()),
            headers: &[],
        };
        builder.append(&record).unwrap();
    }
    builder.finish_bytes().unwrap()
}

/// The batch with some bytes exchanged and the checksum made right again.
pub(crate) fn patched(batch: &Bytes, at: usize, bytes: &[u8]) -> Bytes {
    let mut patched = BytesMut::from(&batch[..]);
    patched[at..at + bytes.len()].copy_from_slice(bytes);
    let header: [u8; 61] = patched[..61].try_into().unwrap();
    let crc = compute_crc(&header, &patched[61..]);
    patched[17..21].copy_from_slice(&crc.to_be_bytes());
    patched.freeze()
}

/// Creates a topic and requires that this succeeds.
pub(crate) fn create_topic(connection: &mut Connection, name: &str, partitions: i32) -> Uuid {
    create_topic_with(connection, name, partitions, &[])
}

pub(crate) fn create_topic_with(
    connection: &mut Connection,
    name: &str,
    partitions: i32,
    configs: &[(&str, &str)],
) -> Uuid {
    let response = connection.call(&create_request(name, partitions, configs), 7);
    let topic = &response.topics[0];
    assert_eq!(topic.error_code, ErrorCode::NONE, "{:?}", topic.error_message);
    topic.topic_id
}

pub(crate) fn create_request(name: &str, partitions: i32, configs: &[(&str, &str)]) -> CreateTopicsRequest {
    let config = |(name, value): &(&str, &str)| CreatableTopicConfig {
        name: (*name).into(),
        value: Some((*value).into()),
    };
    CreateTopicsRequest {
        topics: vec![CreatableTopic {
            name: name.into(),
            num_partitions: partitions,
            replication_factor: 1,
            configs: configs.iter().map(config).collect(),
            ..CreatableTopic::default()
        }],
        ..CreateTopicsRequest::default()
    }
}

/// The code of the only topic.
pub(crate) fn created(response: &CreateTopicsResponse) -> ErrorCode {
    assert_eq!(response.topics.len(), 1);
    response.topics[0].error_code
}

pub(crate) fn produce_request(
    topic: &str,
    partition: i32,
    acks: i16,
    records: Option<Bytes>,
) -> ProduceRequest {
    ProduceRequest {
        acks,
        timeout_ms: 30_000,
        topic_data: [TopicProduceData {
            name: topic.into(),
            partition_data: [PartitionProduceData {
                index: partition.into(),
                records: records.map(Records::Inline),
            }]
            .into(),
            ..TopicProduceData::default()
        }]
        .into(),
        ..ProduceRequest::default()
    }
}

/// The answer for the only partition.
pub(crate) fn produced(response: ProduceResponse) -> PartitionProduceResponse {
    let [topic] = <[_; 1]>::try_from(response.responses).unwrap();
    let [partition] = <[_; 1]>::try_from(topic.partition_responses).unwrap();
    partition
}

/// Produces to a partition with acks=all.
pub(crate) fn produce(
    connection: &mut Connection,
    topic: &str,
    partition: i32,
    records: Bytes,
) -> PartitionProduceResponse {
    produced(connection.call(&produce_request(topic, partition, -1, Some(records)), PRODUCE))
}

/// Produces and requires that this succeeds; gives the base offset.
pub(crate) fn append(connection: &mut Connection, topic: &str, partition: i32, records: Bytes) -> i64 {
    let answer = produce(connection, topic, partition, records);
    assert_eq!(answer.error_code, ErrorCode::NONE, "{:?}", answer.error_message);
    answer.base_offset.get()
}

/// A fetch that does not wait.
pub(crate) fn fetch_request(topic: &str, partition: i32, offset: i64) -> FetchRequest {
    FetchRequest {
        topics: vec![FetchTopic {
            topic: topic.into(),
            partitions: vec![FetchPartition {
                partition: partition.into(),
                fetch_offset: offset.into(),
                partition_max_bytes: 1 << 20,
                ..FetchPartition::default()
            }],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

/// The answer for the only partition.
pub(crate) fn fetched(response: FetchResponse) -> PartitionData {
    assert_eq!(response.error_code, ErrorCode::NONE);
    let [topic] = <[_; 1]>::try_from(response.responses).unwrap();
    let [partition] = <[_; 1]>::try_from(topic.partitions).unwrap();
    partition
}

/// Fetches at once from a partition.
pub(crate) fn fetch(connection: &mut Connection, topic: &str, partition: i32, offset: i64) -> PartitionData {
    fetched(connection.call(&fetch_request(topic, partition, offset), FETCH))
}

/// The bytes of a fetch's records.
pub(crate) fn bytes_of(partition: PartitionData) -> Bytes {
    assert_eq!(partition.error_code, ErrorCode::NONE);
    partition.records.expect("records are never null").into_inline().expect("a decoded field has its bytes")
}

/// The whole batches of a fetch's records.
pub(crate) fn batches_of(partition: PartitionData) -> Vec<RecordBatch> {
    let mut bytes = bytes_of(partition);
    let mut batches = Vec::new();
    while let Some(batch) = RecordBatch::split_first(&mut bytes).unwrap() {
        batch.verify_crc().unwrap();
        batches.push(batch);
    }
    batches
}

/// The base offsets of a fetch's whole batches.
pub(crate) fn base_offsets(partition: PartitionData) -> Vec<i64> {
    batches_of(partition).iter().map(|batch| batch.header().base_offset().get()).collect()
}

/// The offset that goes with a time or a special number.
pub(crate) fn list_offset(
    connection: &mut Connection,
    topic: &str,
    timestamp: i64,
    version: i16,
) -> ListOffsetsPartitionResponse {
    let request = list_offsets_request(topic, 0, timestamp);
    let response = connection.call(&request, version);
    response.topics[0].partitions[0].clone()
}

pub(crate) fn list_offsets_request(topic: &str, partition: i32, timestamp: i64) -> ListOffsetsRequest {
    ListOffsetsRequest {
        replica_id: (-1).into(),
        topics: vec![ListOffsetsTopic {
            name: topic.into(),
            partitions: vec![ListOffsetsPartition {
                partition_index: partition.into(),
                timestamp,
                ..ListOffsetsPartition::default()
            }],
        }],
        ..ListOffsetsRequest::default()
    }
}

/// The end of a partition's log.
pub(crate) fn log_end(connection: &mut Connection, topic: &str) -> i64 {
    let answer = list_offset(connection, topic, -1, 7);
    assert_eq!(answer.error_code, ErrorCode::NONE);
    answer.offset.get()
}

pub(crate) const UNKNOWN: Offset = Offset::UNKNOWN;
