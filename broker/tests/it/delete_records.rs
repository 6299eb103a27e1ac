//! DeleteRecords: what is refused, what can no longer be read, and that it stays so.

use ottla_model::{ErrorCode, Offset};
use ottla_protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};
use ottla_testkit::{Connection, TestProcess};

use crate::BROKER;
use crate::group_requests::ready;
use crate::requests::{append, batch, create_topic, create_topic_with, fetch, list_offset};

fn delete(connection: &mut Connection, topic: &str, offset: i64) -> (ErrorCode, i64) {
    let request = DeleteRecordsRequest {
        topics: vec![DeleteRecordsTopic {
            name: topic.into(),
            partitions: vec![DeleteRecordsPartition { partition_index: 0.into(), offset: offset.into() }],
        }],
        timeout_ms: 30_000,
    };
    let answer = connection.call(&request, 2).topics.remove(0).partitions.remove(0);
    (answer.error_code, answer.low_watermark.get())
}

#[test]
fn records_below_the_offset_are_gone_also_after_a_kill() {
    let broker = TestProcess::builder(BROKER).start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    append(&mut connection, "t", 0, batch(10));
    assert_eq!(delete(&mut connection, "t", 4), (ErrorCode::NONE, 4));
    assert_eq!(delete(&mut connection, "t", 2), (ErrorCode::NONE, 4), "back is nowhere");
    assert_eq!(fetch(&mut connection, "t", 0, 3).error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
    assert_eq!(fetch(&mut connection, "t", 0, 4).error_code, ErrorCode::NONE);
    assert_eq!(list_offset(&mut connection, "t", -2, 7).offset, Offset::new(4));
    let broker = broker.kill().start();
    let mut connection = broker.connect();
    assert_eq!(list_offset(&mut connection, "t", -2, 7).offset, Offset::new(4));
    assert_eq!(delete(&mut connection, "t", -1), (ErrorCode::NONE, 10), "up to the high watermark");
    assert_eq!(list_offset(&mut connection, "t", -2, 7).offset, Offset::new(10));
    assert_eq!(append(&mut connection, "t", 0, batch(1)), 10);
}

#[test]
fn what_cannot_be_deleted_has_kafkas_code() {
    let broker = ottla_testkit::TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    append(&mut connection, "t", 0, batch(3));
    create_topic_with(&mut connection, "compacted", 1, &[("cleanup.policy", "compact")]);
    create_topic_with(&mut connection, "both", 1, &[("cleanup.policy", "compact,delete")]);
    ready(&mut connection, "g");
    for (topic, offset, code) in [
        ("t", 4, ErrorCode::OFFSET_OUT_OF_RANGE),
        ("t", -2, ErrorCode::OFFSET_OUT_OF_RANGE),
        ("missing", 0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("compacted", 0, ErrorCode::POLICY_VIOLATION),
        ("__consumer_offsets", 0, ErrorCode::INVALID_TOPIC_EXCEPTION),
    ] {
        assert_eq!(delete(&mut connection, topic, offset), (code, -1), "{topic} {offset}");
    }
    assert_eq!(delete(&mut connection, "both", 0), (ErrorCode::NONE, 0));
}
