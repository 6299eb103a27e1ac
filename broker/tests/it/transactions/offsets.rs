//! Offsets that a group commits within a transaction.

use ottla_model::ErrorCode;
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use ottla_testkit::{Connection, TestBroker};

use super::client::begin;
use crate::group_requests;
use crate::requests::create_topic;

/// What the group has committed, for one who does not wait for open transactions and one who does.
fn offsets(connection: &mut Connection) -> [(ErrorCode, i64); 2] {
    [false, true].map(|require_stable| {
        let request = OffsetFetchRequest {
            groups: vec![OffsetFetchRequestGroup {
                group_id: "g".into(),
                member_epoch: -1,
                topics: Some(vec![OffsetFetchRequestTopics {
                    name: "t".into(),
                    partition_indexes: vec![0.into()],
                    ..OffsetFetchRequestTopics::default()
                }]),
                ..OffsetFetchRequestGroup::default()
            }],
            require_stable,
            ..OffsetFetchRequest::default()
        };
        let answer = connection.call(&request, 9);
        let partition = &answer.groups[0].topics[0].partitions[0];
        (partition.error_code, partition.committed_offset.get())
    })
}

fn start() -> (TestBroker, Connection) {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    group_requests::ready(&mut connection, "g");
    (broker, connection)
}

const NONE: ErrorCode = ErrorCode::NONE;
const UNSTABLE: ErrorCode = ErrorCode::UNSTABLE_OFFSET_COMMIT;

#[test]
fn offsets_count_once_their_transaction_is_committed_and_not_if_it_is_aborted() {
    let (_broker, mut connection) = start();
    let mut producer = begin(&mut connection, "x");
    assert_eq!(producer.commit_offset(&mut connection, 5, "g", ("t", 0), 5), NONE, "the group joins by it");
    assert_eq!(offsets(&mut connection), [(NONE, -1), (UNSTABLE, -1)]);
    producer.finish(&mut connection, true);
    assert_eq!(offsets(&mut connection), [(NONE, 5); 2]);
    assert_eq!(producer.commit_offset(&mut connection, 5, "g", ("t", 0), 9), NONE);
    producer.finish(&mut connection, false);
    assert_eq!(offsets(&mut connection), [(NONE, 5); 2]);
}

#[test]
fn in_the_first_protocol_the_group_is_added_before() {
    let (_broker, mut connection) = start();
    let producer = begin(&mut connection, "x");
    let refused = producer.commit_offset(&mut connection, 3, "g", ("t", 0), 5);
    assert_eq!(refused, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(producer.add_offsets(&mut connection, 3, "g"), NONE);
    for version in 0..=4 {
        let offset = 5 + i64::from(version);
        assert_eq!(producer.commit_offset(&mut connection, version, "g", ("t", 0), offset), NONE);
    }
    assert_eq!(producer.end(&mut connection, 4, true).error_code, NONE);
    assert_eq!(offsets(&mut connection), [(NONE, 9); 2]);
}

#[test]
fn what_cannot_be_committed_is_refused_and_the_rest_stands() {
    let (_broker, mut connection) = start();
    let mut producer = begin(&mut connection, "x");
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(producer.commit_offset(&mut connection, 5, "g", ("t", 9), 5), unknown);
    assert_eq!(producer.commit_offset(&mut connection, 5, "g", ("nowhere", 0), 5), unknown);
    assert_eq!(producer.commit_offset(&mut connection, 5, "", ("t", 0), 5), ErrorCode::INVALID_GROUP_ID);
    assert_eq!(producer.commit_offset(&mut connection, 5, "g", ("t", 0), 7), NONE);
    producer.finish(&mut connection, true);
    assert_eq!(offsets(&mut connection), [(NONE, 7); 2]);
}
