//! Peers that mean harm or speak something else: each costs its own connection and nothing more.

use std::time::Duration;

use bytes::Bytes;
use ottla_model::compression::{Codec, Compression};
use ottla_model::{ErrorCode, batch::BatchBuilder, batch::NewRecord};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_testkit::{TestBroker, frame};

use crate::requests::{
    append, batch, create_topic, create_topic_with, log_end, now_ms, produce, produce_request,
};

/// A process's own memory, as the system counts it.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn lengths_that_no_frame_has_close_the_connection() {
    let broker = TestBroker::start();
    for length in [0, -1, i32::MIN, i32::MAX, 104_857_601] {
        let mut connection = broker.connect();
        connection.send_bytes(&length.to_be_bytes());
        connection.expect_end();
    }
}

#[test]
fn other_protocols_on_the_port_are_closed_and_cost_no_memory() {
    let broker = TestBroker::start();
    let before = resident_bytes();
    let greetings: [&[u8]; 3] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03],
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ];
    for _ in 0..100 {
        for greeting in greetings {
            let mut connection = broker.connect();
            connection.send_bytes(greeting);
            connection.expect_end();
        }
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "{grown} bytes more");
}

#[test]
fn counts_beyond_what_is_there_cost_nothing() {
    let broker = TestBroker::start();
    let before = resident_bytes();
    // Metadata and Fetch that claim 2³¹−1 topics, and a compact count of ten bytes.
    let frames: [&[u8]; 3] = [
        &[0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff],
        &[
            0, 1, 0, 4, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0x7f, 0xff, 0xff, 0xff,
        ],
        &[0, 3, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ];
    for _ in 0..100 {
        for frame in frames {
            let mut connection = broker.connect();
            connection.send_frame(frame);
            connection.expect_end();
        }
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "{grown} bytes more");
}

#[test]
fn half_a_request_then_a_close_is_forgotten() {
    let broker = TestBroker::start();
    let request = frame(&ApiVersionsRequest::default(), 0, 1);
    for sent in 0..request.len() {
        let mut connection = broker.connect();
        connection.send_bytes(&i32::try_from(request.len()).unwrap().to_be_bytes());
        connection.send_bytes(&request[..sent]);
        drop(connection);
    }
    assert_eq!(broker.connect().call(&ApiVersionsRequest::default(), 0).error_code, ErrorCode::NONE);
}

#[test]
fn a_request_that_trickles_in_is_answered_when_it_is_whole() {
    let broker = TestBroker::start();
    let mut slow = broker.connect();
    let mut quick = broker.connect();
    let request = frame(&ApiVersionsRequest::default(), 0, 1);
    let mut bytes = i32::try_from(request.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(&request);
    let (last, first) = bytes.split_last().unwrap();
    for byte in first {
        slow.send_bytes(&[*byte]);
        assert_eq!(quick.call(&ApiVersionsRequest::default(), 0).error_code, ErrorCode::NONE);
    }
    slow.expect_silence(Duration::from_millis(10));
    slow.send_bytes(&[*last]);
    assert_eq!(slow.receive::<ApiVersionsRequest>(0, 1).error_code, ErrorCode::NONE);
}

#[test]
fn a_produce_cut_anywhere_appends_nothing() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "whole", 1);
    let request = frame(&produce_request("whole", 0, -1, Some(batch(2))), 9, 1);
    for length in (0..request.len()).step_by(7) {
        let mut broken = broker.connect();
        broken.send_bytes(&i32::try_from(request.len()).unwrap().to_be_bytes());
        broken.send_bytes(&request[..length]);
        broken.finish_sending();
        broken.expect_end();
    }
    assert_eq!(log_end(&mut connection, "whole"), 0);
    assert_eq!(append(&mut connection, "whole", 0, batch(1)), 0);
}

/// A batch of one record of zeros, far smaller than its content.
fn bomb(codec: Codec, bytes: usize) -> Bytes {
    let value = vec![0; bytes];
    let mut builder = BatchBuilder::new(Compression::of(codec));
    let record = NewRecord { timestamp_ms: now_ms(), key: None, value: Some(&value), headers: &[] };
    builder.append(&record).unwrap();
    builder.finish_bytes().unwrap()
}

#[test]
fn a_record_that_unfolds_beyond_the_limit_is_refused() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic_with(&mut connection, "packed", 1, &[("max.decompressed.message.bytes", "1000000")]);
    for codec in [Codec::Gzip, Codec::Zstd, Codec::Lz4] {
        let small = produce(&mut connection, "packed", 0, bomb(codec, 500_000));
        assert_eq!(small.error_code, ErrorCode::NONE, "{codec}");
        let large = produce(&mut connection, "packed", 0, bomb(codec, 20_000_000));
        assert_eq!(large.error_code, ErrorCode::INVALID_RECORD, "{codec}");
    }
}
