//! Record data are never copied: a decoded request shares the frame, an encoded answer shares the data or leaves holes.

use bytes::Bytes;
use ottla_model::PartitionIndex;
use ottla_protocol::Records;
use ottla_protocol::codec::Message as _;
use ottla_protocol::messages::fetch::{FetchResponse, FetchableTopicResponse, PartitionData};
use ottla_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};

const PARTITIONS: i32 = 100;
const RECORD_BYTES: usize = 64 << 10;
/// What a partition takes beside its records, in the message and on the wire.
const PARTITION_BYTES_MAX: u64 = 1024;

#[test]
fn decoding_a_produce_request_allocates_nothing_for_its_records() {
    let records = Bytes::from(vec![7; RECORD_BYTES]);
    let partition = |index| PartitionProduceData {
        index: PartitionIndex::new(index),
        records: Some(records.clone().into()),
    };
    let request = ProduceRequest {
        topic_data: [TopicProduceData {
            name: "orders".into(),
            partition_data: (0..PARTITIONS).map(partition).collect(),
            ..TopicProduceData::default()
        }]
        .into(),
        ..ProduceRequest::default()
    };
    let frame = request.to_bytes(12).expect("it encodes");
    let allocated = allocation_counter::measure(|| {
        assert_eq!(ProduceRequest::decode(frame.clone(), 12).as_ref(), Ok(&request));
    });
    assert!(allocated.bytes_total < PARTITION_BYTES_MAX * 100, "{allocated:?}");
}

#[test]
fn encoding_a_fetch_answer_allocates_nothing_for_its_records() {
    let shared = Records::Inline(Bytes::from(vec![7; RECORD_BYTES]));
    let hole = Records::Hole { len: 64 << 10, id: 3 };
    for records in [shared, hole] {
        let partition = |index| PartitionData {
            partition_index: PartitionIndex::new(index),
            records: Some(records.clone()),
            ..PartitionData::default()
        };
        let answer = FetchResponse {
            responses: vec![FetchableTopicResponse {
                topic: "orders".into(),
                partitions: (0..PARTITIONS).map(partition).collect(),
                ..FetchableTopicResponse::default()
            }],
            ..FetchResponse::default()
        };
        let allocated = allocation_counter::measure(|| {
            let encoded = answer.encode(12).expect("it encodes");
            assert!(encoded.len() > RECORD_BYTES * 100);
        });
        assert!(allocated.bytes_total < PARTITION_BYTES_MAX * 100, "{allocated:?}");
    }
}
