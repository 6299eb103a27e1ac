//! A second instance of a producer takes its id over, and epochs that run out.

use ottla_model::ErrorCode;
use ottla_testkit::TestBroker;

use super::client::{TIMEOUT_MS, begin, committed, ends, init_as};
use crate::requests::create_topic;

#[test]
fn a_second_instance_aborts_what_the_first_has_open_and_the_first_cannot_go_on() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let first = begin(&mut connection, "x");
    first.write(&mut connection, ("t", 0), 0, &["lost"]);
    let refused = init_as(&mut connection, "x", 5, TIMEOUT_MS, None);
    assert_eq!(refused.error_code, ErrorCode::CONCURRENT_TRANSACTIONS);
    let mut second = begin(&mut connection, "x");
    assert_eq!((second.producer_id, second.epoch), (first.producer_id, 2));
    let late = first.produce(&mut connection, 12, ("t", 0), 1, &["lost"]);
    assert_eq!(late.error_code, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(first.end(&mut connection, 5, true).error_code, ErrorCode::PRODUCER_FENCED);
    second.write(&mut connection, ("t", 0), 0, &["kept"]);
    second.finish(&mut connection, true);
    assert_eq!(committed(&mut connection, "t", 0), ["kept"]);
}

#[test]
fn a_producer_that_names_itself_goes_on_and_its_retry_gets_the_same_answer() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let first = begin(&mut connection, "x");
    let had = Some((first.producer_id, first.epoch));
    for _ in 0..2 {
        let next = init_as(&mut connection, "x", 5, TIMEOUT_MS, had);
        assert_eq!((next.error_code, next.producer_epoch.get()), (ErrorCode::NONE, 1));
    }
    let next = init_as(&mut connection, "x", 5, TIMEOUT_MS, Some((first.producer_id, 1)));
    assert_eq!((next.error_code, next.producer_epoch.get()), (ErrorCode::NONE, 2));
    let old = init_as(&mut connection, "x", 5, TIMEOUT_MS, had);
    assert_eq!(old.error_code, ErrorCode::PRODUCER_FENCED);
}

#[test]
fn before_epochs_run_out_another_id_is_given_and_what_was_open_is_aborted() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let first = begin(&mut connection, "x");
    let mut epoch = first.epoch;
    while epoch < i16::MAX - 1 {
        let next = init_as(&mut connection, "x", 4, TIMEOUT_MS, None);
        assert_eq!((next.error_code, next.producer_id.get()), (ErrorCode::NONE, first.producer_id));
        assert_eq!(next.producer_epoch.get(), epoch + 1);
        epoch += 1;
    }
    let last = first.at(epoch);
    last.write(&mut connection, ("t", 0), 0, &["open at the edge"]);
    let refused = init_as(&mut connection, "x", 4, TIMEOUT_MS, None);
    assert_eq!(refused.error_code, ErrorCode::CONCURRENT_TRANSACTIONS);
    let next = begin(&mut connection, "x");
    assert_ne!(next.producer_id, first.producer_id);
    assert_eq!(next.epoch, 0);
    assert_eq!(last.end(&mut connection, 5, true).error_code, ErrorCode::PRODUCER_FENCED);
    assert_eq!(last.end(&mut connection, 4, true).error_code, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    let late = last.produce(&mut connection, 12, ("t", 0), 1, &["late"]);
    assert_eq!(late.error_code, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(ends(&mut connection, "t", 0), (2, 2), "the marker has come");
    assert!(committed(&mut connection, "t", 0).is_empty());
}
