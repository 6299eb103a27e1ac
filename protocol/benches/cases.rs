//! What is measured, for the benches and for the counting of instructions: the same inputs for our code and for crate
//! kafka-protocol, each as a closure that does the work once.

use bytes::{Bytes, BytesMut};
use compact_str::format_compact;
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable as _, Encodable as _};
use kafka_protocol::records as their_records;
use ottla_model::batch::{BatchBuilder, NewRecord, RecordBatch};
use ottla_model::compression::Compression;
use ottla_model::{NodeId, Offset, PartitionIndex, TopicName};
use ottla_protocol::Records;
use ottla_protocol::codec::Message as _;
use ottla_protocol::messages::fetch::{FetchResponse, FetchableTopicResponse, PartitionData};
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};

/// The newest version of each that names topics rather than to number them.
const PRODUCE_VERSION: i16 = 12;
const FETCH_VERSION: i16 = 12;
const METADATA_VERSION: i16 = 12;
const NOW_MS: i64 = 1_700_000_000_000;
/// Records in each batch that is built or walked.
const BATCH_RECORDS: usize = 100;

/// The most of the other's instructions that each piece of work may take, in hundredths.
pub const PERCENT_MAX: u64 = 50;

/// A piece of work by both.
pub struct Case {
    /// What is done.
    pub name: String,
    /// Makes the input and shows, by what comes of it, that both do the same.
    pub make: Box<dyn Fn() -> Work>,
}

/// The work once, on an input that is made already.
pub struct Work {
    /// By us.
    pub ours: Box<dyn FnMut()>,
    /// By crate kafka-protocol.
    pub theirs: Box<dyn FnMut()>,
}

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, make: Box<dyn Fn() -> Work>| cases.push(Case { name, make });
    for partitions in [1, 10, 100] {
        let name = format!("decode Produce, partitions: {partitions}");
        add(name, Box::new(move || decode_produce(partitions)));
    }
    for topics in [1, 1000] {
        let name = format!("encode Fetch, topics: {topics}");
        add(name, Box::new(move || encode_fetch(topics)));
    }
    for topics in [1, 1000] {
        let name = format!("encode Metadata, topics: {topics}");
        add(name, Box::new(move || encode_metadata(topics)));
    }
    for bytes in [10, 100, 1024] {
        let name = format!("build a batch of {BATCH_RECORDS} × {bytes} B");
        add(name, Box::new(move || build_batch(bytes)));
    }
    for bytes in [10, 100, 1024] {
        let name = format!("iterate a batch of {BATCH_RECORDS} × {bytes} B");
        add(name, Box::new(move || iterate_batch(bytes)));
    }
    cases
}

fn work(mut ours: impl FnMut() + 'static, mut theirs: impl FnMut() + 'static) -> Work {
    // What is measured is not the first time, which fills caches and finds out what the processor can do.
    ours();
    theirs();
    Work { ours: Box::new(ours), theirs: Box::new(theirs) }
}

fn decode_produce(partitions: i32) -> Work {
    let partition =
        |index| PartitionProduceData { index: PartitionIndex::new(index), records: Some(batch(100).into()) };
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: [TopicProduceData {
            name: "orders".into(),
            partition_data: (0..partitions).map(partition).collect(),
            ..TopicProduceData::default()
        }]
        .into(),
        ..ProduceRequest::default()
    };
    let bytes = request.to_bytes(PRODUCE_VERSION).expect("it encodes");
    let same = bytes.clone();
    work(
        move || drop(ProduceRequest::decode(bytes.clone(), PRODUCE_VERSION).expect("it decodes")),
        move || drop(theirs::ProduceRequest::decode(&mut same.clone(), PRODUCE_VERSION).expect("it decodes")),
    )
}

fn encode_fetch(topics: usize) -> Work {
    let records = batch(100);
    let topic = |at| FetchableTopicResponse {
        topic: TopicName::new(format_compact!("topic-{at}")),
        partitions: vec![PartitionData {
            high_watermark: Offset::new(1_000_000),
            last_stable_offset: Offset::new(1_000_000),
            log_start_offset: Offset::ZERO,
            aborted_transactions: None,
            records: Some(Records::Inline(records.clone())),
            ..PartitionData::default()
        }],
        ..FetchableTopicResponse::default()
    };
    let ours = FetchResponse { responses: (0..topics).map(topic).collect(), ..FetchResponse::default() };
    let mut bytes = ours.to_bytes(FETCH_VERSION).expect("it encodes");
    let whole = bytes.clone();
    let same = theirs::FetchResponse::decode(&mut bytes, FETCH_VERSION).expect("it decodes");
    let mut encoded = BytesMut::new();
    same.encode(&mut encoded, FETCH_VERSION).expect("it encodes");
    assert_eq!(encoded, whole);
    work(
        move || drop(ours.encode(FETCH_VERSION).expect("it encodes")),
        move || same.encode(&mut BytesMut::new(), FETCH_VERSION).expect("it encodes"),
    )
}

fn encode_metadata(topics: usize) -> Work {
    let nodes = [1, 2, 3].map(NodeId::new);
    let topic = |at| MetadataResponseTopic {
        name: Some(TopicName::new(format_compact!("topic-{at}"))),
        partitions: (0..3)
            .map(|index| MetadataResponsePartition {
                partition_index: PartitionIndex::new(index),
                leader_id: nodes[0],
                replica_nodes: nodes.to_vec(),
                isr_nodes: nodes.to_vec(),
                ..MetadataResponsePartition::default()
            })
            .collect(),
        ..MetadataResponseTopic::default()
    };
    let broker = |node_id| MetadataResponseBroker {
        node_id,
        host: "broker.example.org".into(),
        port: 9092,
        ..MetadataResponseBroker::default()
    };
    let ours = MetadataResponse {
        brokers: nodes.map(broker).to_vec(),
        topics: (0..topics).map(topic).collect(),
        ..MetadataResponse::default()
    };
    let mut bytes = ours.to_bytes(METADATA_VERSION).expect("it encodes");
    let whole = bytes.clone();
    let same = theirs::MetadataResponse::decode(&mut bytes, METADATA_VERSION).expect("it decodes");
    let mut encoded = BytesMut::new();
    same.encode(&mut encoded, METADATA_VERSION).expect("it encodes");
    assert_eq!(encoded, whole);
    work(
        move || drop(ours.encode(METADATA_VERSION).expect("it encodes")),
        move || same.encode(&mut BytesMut::new(), METADATA_VERSION).expect("it encodes"),
    )
}

fn build_batch(value_bytes: usize) -> Work {
    let values = vec![Bytes::from(vec![b'x'; value_bytes]); BATCH_RECORDS];
    let record = |offset: i64| their_records::Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: -1,
        producer_epoch: -1,
        timestamp_type: their_records::TimestampType::Creation,
        offset,
        // It makes one batch of records whose sequences go with their offsets, and one of each if they do not.
        sequence: i32::try_from(offset).expect("a small number") - 1,
        timestamp: NOW_MS,
        key: None,
        value: Some(values[0].clone()),
        headers: IndexMap::new(),
    };
    let records: Vec<_> = (0..BATCH_RECORDS as i64).map(record).collect();
    let options =
        their_records::RecordEncodeOptions { version: 2, compression: their_records::Compression::None };
    let ours = move || {
        let capacity = BATCH_RECORDS * (value_bytes + 16);
        let mut builder = BatchBuilder::with_capacity(Compression::NONE, capacity);
        let record = |value| NewRecord { timestamp_ms: NOW_MS, value: Some(value), ..NewRecord::default() };
        builder.extend(values.iter().map(|value| record(value))).expect("they fit");
        builder.finish_bytes().expect("a batch")
    };
    let theirs = move || {
        let mut buffer = BytesMut::with_capacity(BATCH_RECORDS * (value_bytes + 16) + 61);
        their_records::RecordBatchEncoder::encode(&mut buffer, &records, &options).expect("a batch");
        buffer
    };
    assert_eq!(theirs(), ours());
    work(move || drop(ours()), move || drop(theirs()))
}

fn iterate_batch(value_bytes: usize) -> Work {
    let bytes = batch(value_bytes);
    let same = bytes.clone();
    work(
        move || {
            let batch = RecordBatch::split_first(&mut bytes.clone()).expect("a batch").expect("all of it");
            batch.verify_crc().expect("the right checksum");
            let records = batch.records(0).expect("records");
            let values = records.iter().map(|record| record.expect("a record").value.map_or(0, <[u8]>::len));
            assert_eq!(values.sum::<usize>(), BATCH_RECORDS * value_bytes);
        },
        move || {
            let set = their_records::RecordBatchDecoder::decode(&mut same.clone()).expect("a batch");
            let values = set.records.iter().map(|record| record.value.as_ref().map_or(0, Bytes::len));
            assert_eq!(values.sum::<usize>(), BATCH_RECORDS * value_bytes);
        },
    )
}

/// A batch without compression.
fn batch(value_bytes: usize) -> Bytes {
    let value = vec![b'x'; value_bytes];
    let mut builder = BatchBuilder::new(Compression::NONE);
    for _ in 0..BATCH_RECORDS {
        let record = NewRecord { timestamp_ms: NOW_MS, value: Some(&value), ..NewRecord::default() };
        builder.append(&record).expect("it fits");
    }
    builder.finish_bytes().expect("a batch")
}
