//! Batches that unfold far: they are checked beside the reactor, which goes on serving, and answered as any other.

use std::io::ErrorKind;

use bytes::Bytes;
use ottla_model::ErrorCode;
use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::{Codec, Compression};
use ottla_protocol::Records;
use ottla_protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{
    PRODUCE, base_offsets, batch, create_topic, create_topic_with, fetch, now_ms, produce, produce_request,
};

/// Far more than a reactor decompresses itself.
const UNFOLDED_BYTES: usize = 128 << 20;

fn bomb(unfolded_bytes: usize) -> Bytes {
    let zeros = vec![0; unfolded_bytes];
    let mut builder = BatchBuilder::new(Compression::of(Codec::Zstd));
    let record = NewRecord { timestamp_ms: now_ms(), key: None, value: Some(&zeros), headers: &[] };
    builder.append(&record).unwrap();
    builder.finish_bytes().unwrap()
}

fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::builder().set("num.network.threads", "1").start();
    let connection = broker.connect();
    (broker, connection)
}

/// A request for the partitions 0, 1, … of one topic.
fn request_of(topic: &str, batches: Vec<Bytes>) -> ProduceRequest {
    let mut request = produce_request(topic, 0, -1, None);
    let data = (0..).zip(batches);
    let data = data.map(|(index, records): (i32, _)| PartitionProduceData {
        index: index.into(),
        records: Some(Records::Inline(records)),
    });
    request.topic_data[0].partition_data = data.collect();
    request
}

fn codes(response: &ProduceResponse) -> Vec<(i32, ErrorCode)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    partitions.map(|partition| (partition.index.get(), partition.error_code)).collect()
}

#[test]
fn the_reactor_serves_its_other_connections_while_a_bomb_is_checked() {
    let (broker, mut bomber) = start();
    create_topic_with(&mut bomber, "unfolding", 3, &[("compression.type", "lz4")]);
    create_topic(&mut bomber, "ordinary", 1);
    let request = request_of("unfolding", vec![batch(1), bomb(UNFOLDED_BYTES), batch(2)]);
    let mut other = broker.connect();
    assert_eq!(produce(&mut other, "ordinary", 0, batch(1)).error_code, ErrorCode::NONE);

    let number = bomber.send(&request, PRODUCE);
    assert_eq!(produce(&mut other, "ordinary", 0, batch(1)).error_code, ErrorCode::NONE);
    bomber.stream().set_nonblocking(true).unwrap();
    let answered = bomber.stream().peek(&mut [0; 1]);
    assert_eq!(
        answered.map_err(|error| error.kind()),
        Err(ErrorKind::WouldBlock),
        "the bomb is answered later"
    );
    bomber.stream().set_nonblocking(false).unwrap();

    let response = bomber.receive::<ProduceRequest>(PRODUCE, number);
    assert_eq!(codes(&response), [(0, ErrorCode::NONE), (1, ErrorCode::NONE), (2, ErrorCode::NONE)]);
    for partition in 0..3 {
        let stored = fetch(&mut other, "unfolding", partition, 0);
        assert_eq!(base_offsets(stored), [0], "partition {partition}");
    }
}

#[test]
fn what_follows_a_bomb_on_its_connection_comes_after_it() {
    let (_broker, mut connection) = start();
    create_topic(&mut connection, "plain", 1);
    let first = connection.send(&produce_request("plain", 0, -1, Some(bomb(8 << 20))), PRODUCE);
    let second = connection.send(&produce_request("plain", 0, -1, Some(batch(1))), PRODUCE);
    for (number, offset) in [(first, 0), (second, 1)] {
        let response = connection.receive::<ProduceRequest>(PRODUCE, number);
        assert_eq!(codes(&response), [(0, ErrorCode::NONE)]);
        assert_eq!(response.responses[0].partition_responses[0].base_offset.get(), offset);
    }
}

#[test]
fn a_bomb_is_refused_for_its_own_reasons_and_its_neighbours_are_not() {
    let (_broker, mut connection) = start();
    let limits = [("compression.type", "snappy"), ("max.message.bytes", "65536")];
    create_topic_with(&mut connection, "tight", 3, &limits);
    create_topic_with(&mut connection, "small-records", 3, &[("max.decompressed.message.bytes", "3000000")]);
    for (topic, code) in
        [("tight", ErrorCode::MESSAGE_TOO_LARGE), ("small-records", ErrorCode::INVALID_RECORD)]
    {
        let request = request_of(topic, vec![batch(1), bomb(8 << 20), batch(1)]);
        let response = connection.call(&request, PRODUCE);
        assert_eq!(codes(&response), [(0, ErrorCode::NONE), (1, code), (2, ErrorCode::NONE)], "{topic}");
    }
}
