//! The two protocols: in the first a producer keeps its epoch, in the second each end raises it (KIP-890).

use ottla_model::ErrorCode;
use ottla_testkit::TestBroker;

use super::client::{begin, committed, ends};
use crate::requests::create_topic;

#[test]
fn the_first_protocol_adds_writes_and_ends_in_one_epoch() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    let producer = begin(&mut connection, "x");
    for version in [0, 3, 4] {
        for committed in [true, false] {
            let code = producer.end(&mut connection, version, committed).error_code;
            assert_eq!(code, ErrorCode::INVALID_TXN_STATE, "nothing is open");
        }
    }
    assert_eq!(producer.add(&mut connection, 0, "t", &[0, 1]), [ErrorCode::NONE; 2]);
    for partition in [0, 1] {
        let written = producer.produce(&mut connection, 9, ("t", partition), 0, &["a", "b"]);
        assert_eq!((written.error_code, written.base_offset.get()), (ErrorCode::NONE, 0));
    }
    assert_eq!(ends(&mut connection, "t", 0), (2, 0));
    assert_eq!(producer.end(&mut connection, 4, true).error_code, ErrorCode::NONE);
    assert_eq!(producer.end(&mut connection, 4, true).error_code, ErrorCode::NONE, "again");
    assert_eq!(producer.end(&mut connection, 4, false).error_code, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(ends(&mut connection, "t", 0), (3, 3), "the marker has an offset");
    producer.add(&mut connection, 3, "t", &[0]);
    let written = producer.produce(&mut connection, 9, ("t", 0), 2, &["c"]);
    assert_eq!(written.error_code, ErrorCode::NONE, "the sequence goes on over transactions");
    assert_eq!(producer.end(&mut connection, 4, false).error_code, ErrorCode::NONE);
    assert_eq!(committed(&mut connection, "t", 0), ["a", "b"]);
    assert_eq!(committed(&mut connection, "t", 1), ["a", "b"]);
}

#[test]
fn in_the_second_protocol_a_write_joins_and_each_end_raises_the_epoch() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let first = begin(&mut connection, "x");
    let empty = first.end(&mut connection, 5, true);
    assert_eq!((empty.error_code, empty.producer_id.get()), (ErrorCode::INVALID_TXN_STATE, -1));
    let mut producer = first.clone();
    producer.finish(&mut connection, false);
    assert_eq!((producer.producer_id, producer.epoch), (first.producer_id, 1), "an abort of nothing");
    let again = first.end(&mut connection, 5, false);
    assert_eq!((again.error_code, again.producer_epoch.get()), (ErrorCode::NONE, 1));
    assert_eq!(first.end(&mut connection, 5, true).error_code, ErrorCode::INVALID_TXN_STATE);

    producer.write(&mut connection, ("t", 0), 0, &["a"]);
    producer.write(&mut connection, ("t", 0), 1, &["b"]);
    let before = producer.clone();
    producer.finish(&mut connection, true);
    assert_eq!(producer.epoch, 2);
    let again = before.end(&mut connection, 5, true);
    assert_eq!((again.error_code, again.producer_epoch.get()), (ErrorCode::NONE, 2));
    assert_eq!(before.end(&mut connection, 5, false).error_code, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(producer.end(&mut connection, 5, true).error_code, ErrorCode::INVALID_TXN_STATE);
    let late = before.produce(&mut connection, 12, ("t", 0), 2, &["late"]);
    assert_eq!(late.error_code, ErrorCode::INVALID_PRODUCER_EPOCH);
    producer.write(&mut connection, ("t", 0), 0, &["c"]);
    producer.finish(&mut connection, true);
    assert_eq!(committed(&mut connection, "t", 0), ["a", "b", "c"]);
}

#[test]
fn a_batch_sent_again_within_its_transaction_is_known() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let mut producer = begin(&mut connection, "x");
    producer.write(&mut connection, ("t", 0), 0, &["a"]);
    let again = producer.produce(&mut connection, 12, ("t", 0), 0, &["a"]);
    assert_eq!((again.error_code, again.base_offset.get()), (ErrorCode::NONE, 0));
    let gap = producer.produce(&mut connection, 12, ("t", 0), 5, &["f"]);
    assert_eq!(gap.error_code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    producer.finish(&mut connection, true);
    assert_eq!(committed(&mut connection, "t", 0), ["a"]);
}
