//! A producer that falls silent: its transaction is aborted, so that nobody waits for it; and ids that nobody uses.

use ottla_model::ErrorCode;
use ottla_testkit::TestBroker;

use super::client::{begin, begin_within, committed, ends};
use super::telling::describe;
use crate::requests::create_topic;

#[test]
fn a_silent_producers_transaction_is_aborted_and_it_cannot_come_back() {
    let check = "transaction.abort.timed.out.transaction.cleanup.interval.ms";
    let broker = TestBroker::builder().set(check, "20").start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    for (partition, version) in [(0, 12), (1, 9)] {
        let id = format!("x{partition}");
        let producer = begin_within(&mut connection, &id, 100);
        producer.add(&mut connection, 3, "t", &[partition]);
        let written = producer.produce(&mut connection, version, ("t", partition), 0, &["lost"]);
        assert_eq!(written.error_code, ErrorCode::NONE);
        while describe(&mut connection, &id).transaction_state != "CompleteAbort" {}
        assert_eq!(describe(&mut connection, &id).producer_epoch.get(), 1);
        assert_eq!(ends(&mut connection, "t", partition), (2, 2));
        assert!(committed(&mut connection, "t", partition).is_empty());
        let late = producer.produce(&mut connection, version, ("t", partition), 1, &["late"]);
        assert_eq!(late.error_code, ErrorCode::INVALID_PRODUCER_EPOCH);
        assert_eq!(producer.end(&mut connection, 4, true).error_code, ErrorCode::PRODUCER_FENCED);
        assert_eq!(begin(&mut connection, &id).epoch, 2);
    }
}

#[test]
fn an_id_that_nobody_uses_is_forgotten() {
    let broker = TestBroker::builder()
        .set("transactional.id.expiration.ms", "50")
        .set("transaction.remove.expired.transaction.cleanup.interval.ms", "20")
        .start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let open = begin(&mut connection, "open");
    open.write(&mut connection, ("t", 0), 0, &["v"]);
    let idle = begin(&mut connection, "idle");
    while describe(&mut connection, "idle").error_code != ErrorCode::TRANSACTIONAL_ID_NOT_FOUND {}
    assert_eq!(describe(&mut connection, "open").transaction_state, "Ongoing");
    let code = idle.end(&mut connection, 5, false).error_code;
    assert_eq!(code, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    assert_ne!(begin(&mut connection, "idle").producer_id, idle.producer_id);
}
