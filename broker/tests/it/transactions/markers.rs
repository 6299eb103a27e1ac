//! WriteTxnMarkers: markers that another coordinator, or a tool, asks for.

use ottla_model::ErrorCode;
use ottla_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest,
};
use ottla_testkit::{Connection, TestBroker};

use super::client::{Producer, begin, committed, ends};
use crate::requests::create_topic;

struct Wanted<'a> {
    topic: &'a str,
    partition: i32,
    epoch: i16,
    coordinator_epoch: i32,
    version: i8,
}

fn mark(connection: &mut Connection, by: &Producer, wanted: &Wanted<'_>) -> ErrorCode {
    let request = WriteTxnMarkersRequest {
        markers: vec![WritableTxnMarker {
            producer_id: by.producer_id.into(),
            producer_epoch: wanted.epoch.into(),
            transaction_result: false,
            topics: vec![WritableTxnMarkerTopic {
                name: wanted.topic.into(),
                partition_indexes: vec![wanted.partition.into()],
            }],
            coordinator_epoch: wanted.coordinator_epoch,
            transaction_version: wanted.version,
        }],
    };
    let answer = connection.call(&request, 2);
    answer.markers[0].topics[0].partitions[0].error_code
}

#[test]
fn a_marker_by_force_ends_a_transaction_and_is_judged_by_epoch_and_coordinator() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    begin(&mut connection, "x");
    let producer = begin(&mut connection, "x");
    producer.write(&mut connection, ("t", 0), 0, &["a"]);
    let epoch = producer.epoch;
    let usual = Wanted { topic: "t", partition: 0, epoch, coordinator_epoch: 0, version: 0 };
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    for (wanted, code) in [
        (Wanted { epoch: epoch - 1, ..usual }, ErrorCode::INVALID_PRODUCER_EPOCH),
        (Wanted { partition: 9, ..usual }, unknown),
        (Wanted { topic: "nowhere", ..usual }, unknown),
        (Wanted { version: 2, ..usual }, ErrorCode::INVALID_PRODUCER_EPOCH),
        (Wanted { coordinator_epoch: -2, ..usual }, ErrorCode::TRANSACTION_COORDINATOR_FENCED),
        (Wanted { ..usual }, ErrorCode::NONE),
        (Wanted { ..usual }, ErrorCode::NONE),
        (Wanted { version: 2, ..usual }, ErrorCode::NONE),
        (Wanted { coordinator_epoch: -1, ..usual }, ErrorCode::TRANSACTION_COORDINATOR_FENCED),
    ] {
        let (topic, partition, marker_epoch) = (wanted.topic, wanted.partition, wanted.epoch);
        assert_eq!(
            mark(&mut connection, &producer, &wanted),
            code,
            "{topic}-{partition} epoch {marker_epoch} version {} coordinator {}",
            wanted.version,
            wanted.coordinator_epoch
        );
    }
    assert_eq!(ends(&mut connection, "t", 0).0, ends(&mut connection, "t", 0).1, "nothing is open");
    assert!(committed(&mut connection, "t", 0).is_empty());
    // The coordinator knows nothing of it: the producer goes on, and its partition joins once more.
    producer.write(&mut connection, ("t", 0), 1, &["b"]);
    assert_eq!(producer.end(&mut connection, 5, true).error_code, ErrorCode::NONE);
    assert_eq!(committed(&mut connection, "t", 0), ["b"]);
}
