//! What readers of committed records see while transactions of several producers cross each other.

use ottla_model::ErrorCode;
use ottla_testkit::TestBroker;

use super::client::{begin, committed, committed_from, ends};
use crate::requests::{append, batch, create_topic};

#[test]
fn readers_of_committed_records_stop_at_the_first_open_transaction_and_skip_aborted_ones() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let (mut a, mut b) = (begin(&mut connection, "a"), begin(&mut connection, "b"));
    a.write(&mut connection, ("t", 0), 0, &["a0"]);
    b.write(&mut connection, ("t", 0), 0, &["b0"]);
    append(&mut connection, "t", 0, batch(1));
    assert_eq!(ends(&mut connection, "t", 0), (3, 0));
    a.write(&mut connection, ("t", 0), 1, &["a1"]);
    b.finish(&mut connection, true);
    assert_eq!(ends(&mut connection, "t", 0), (5, 0), "the other one is still open");
    assert_eq!(committed_from(&mut connection, "t", 0, 0), (vec![], 0));
    a.finish(&mut connection, false);
    assert_eq!(ends(&mut connection, "t", 0), (6, 6));
    assert_eq!(committed(&mut connection, "t", 0), ["b0", "value-0"]);
    a.write(&mut connection, ("t", 0), 0, &["a2"]);
    a.finish(&mut connection, true);
    assert_eq!(committed(&mut connection, "t", 0), ["b0", "value-0", "a2"]);
}

#[test]
fn a_transaction_over_many_partitions_shows_in_all_of_them_or_in_none() {
    const PARTITIONS: i32 = 100;
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", PARTITIONS);
    let mut producer = begin(&mut connection, "x");
    for (value, is_committed) in [("first", true), ("second", false), ("third", true)] {
        for partition in 0..PARTITIONS {
            // So many markers are written by a thread of their own, and a producer is told to wait for them.
            let wait = ErrorCode::CONCURRENT_TRANSACTIONS;
            let mut write =
                || producer.produce(&mut connection, 12, ("t", partition), 0, &[value]).error_code;
            let written = std::iter::repeat_with(&mut write).find(|code| *code != wait);
            assert_eq!(written, Some(ErrorCode::NONE));
        }
        producer.finish(&mut connection, is_committed);
    }
    let last = begin(&mut connection, "x");
    assert_eq!(last.producer_id, producer.producer_id);
    for partition in 0..PARTITIONS {
        assert_eq!(committed(&mut connection, "t", partition), ["first", "third"], "{partition}");
    }
}
