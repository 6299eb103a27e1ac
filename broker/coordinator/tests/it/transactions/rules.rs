//! Rule by rule: fencing, epochs that run out, both protocols, time-outs, expiry, recovery. Expected values are those of
//! Apache Kafka 4.4.0.

use ottla_coordinator::{AppendFailure, Begun, Identity, TransactionState};
use ottla_model::{ErrorCode, ProducerEpoch};

use super::world::{Entry, World, identity};

const TIMEOUT_MS: i32 = 60_000;
const KEEPS: i16 = 0;
const RAISES: i16 = 2;

fn begin(world: &mut World, id: &str) -> (Begun, Identity) {
    let begun = world.init(id, TIMEOUT_MS, None).unwrap().expect("nothing stands in the way");
    (begun, identity(id, begun))
}

fn at_epoch(by: &Identity, epoch: i16) -> Identity {
    Identity { producer_epoch: ProducerEpoch::new(epoch), ..by.clone() }
}

fn state(world: &World) -> (TransactionState, i16) {
    let transaction = world.transaction("x");
    (transaction.state, transaction.producer_epoch.get())
}

#[test]
fn each_begin_raises_the_epoch_and_fences_whoever_was_there_before() {
    let mut world = World::new(1);
    let (first, old) = begin(&mut world, "x");
    let (second, new) = begin(&mut world, "x");
    assert_eq!((first.producer_epoch.get(), second.producer_epoch.get()), (0, 1));
    assert_eq!(first.producer_id, second.producer_id);
    assert_eq!(world.add(&old, 0, KEEPS), Ok(ErrorCode::PRODUCER_FENCED));
    assert_eq!(world.verify(&old, 0), Ok(ErrorCode::PRODUCER_FENCED));
    assert_eq!(world.end(&old, true, KEEPS), Ok(Err(ErrorCode::PRODUCER_FENCED)));
    assert_eq!(world.end(&old, true, RAISES), Ok(Err(ErrorCode::PRODUCER_FENCED)));
    assert_eq!(world.add(&at_epoch(&new, 2), 0, KEEPS), Ok(ErrorCode::PRODUCER_FENCED), "nor is a later one");
    assert_eq!(world.add(&new, 0, KEEPS), Ok(ErrorCode::NONE));
}

#[test]
fn whom_nobody_knows_and_whose_producer_is_another_is_told_so() {
    let mut world = World::new(1);
    let (begun, _) = begin(&mut world, "x");
    let stranger = identity("y", begun);
    let other = Identity { producer_id: 7.into(), ..identity("x", begun) };
    for by in [&stranger, &other] {
        assert_eq!(world.add(by, 0, KEEPS), Ok(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
        assert_eq!(world.verify(by, 0), Ok(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
        assert_eq!(world.end(by, false, KEEPS), Ok(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING)));
        assert_eq!(world.end(by, false, RAISES), Ok(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING)));
    }
}

#[test]
fn a_time_out_is_positive_and_within_the_limit() {
    let mut world = World::new(1);
    for (timeout_ms, ok) in [(-1, false), (0, false), (1, true), (900_000, true), (900_001, false)] {
        let code = world.init("x", timeout_ms, None).unwrap().err();
        assert_eq!(code, (!ok).then_some(ErrorCode::INVALID_TRANSACTION_TIMEOUT), "{timeout_ms}");
    }
}

#[test]
fn the_first_protocol_keeps_the_epoch_and_knows_a_repeated_end_by_the_state() {
    let mut world = World::new(2);
    let (_, by) = begin(&mut world, "x");
    assert_eq!(world.end(&by, true, KEEPS), Ok(Err(ErrorCode::INVALID_TXN_STATE)), "nothing is open");
    assert_eq!(world.end(&by, false, KEEPS), Ok(Err(ErrorCode::INVALID_TXN_STATE)));
    assert_eq!(world.verify(&by, 0), Ok(ErrorCode::TRANSACTION_ABORTABLE));
    assert_eq!(world.add(&by, 0, KEEPS), Ok(ErrorCode::NONE));
    assert_eq!(world.write(&by, 0, KEEPS, 1), Ok(ErrorCode::NONE));
    assert_eq!(world.write(&by, 1, KEEPS, 1), Ok(ErrorCode::TRANSACTION_ABORTABLE), "it was not added");
    assert_eq!(world.end(&by, true, KEEPS), Ok(Ok(None)));
    assert_eq!(state(&world), (TransactionState::CompleteCommit, 0));
    assert_eq!(world.end(&by, true, KEEPS), Ok(Ok(None)), "again");
    assert_eq!(world.end(&by, false, KEEPS), Ok(Err(ErrorCode::INVALID_TXN_STATE)));
    assert_eq!(world.partitions[0].outcomes(), [(1, true)]);
}

#[test]
fn the_second_protocol_raises_the_epoch_with_each_end_and_knows_a_repeated_one_by_it() {
    let mut world = World::new(1);
    let (_, by) = begin(&mut world, "x");
    assert_eq!(world.end(&by, true, RAISES), Ok(Err(ErrorCode::INVALID_TXN_STATE)), "nothing to commit");
    let after = world.end(&by, false, RAISES).unwrap().unwrap().unwrap();
    assert_eq!((after.producer_id, after.producer_epoch.get()), (by.producer_id, 1));
    assert_eq!(world.end(&by, false, RAISES), Ok(Ok(Some(after))), "again");
    assert_eq!(world.end(&by, true, RAISES), Ok(Err(ErrorCode::INVALID_TXN_STATE)));
    let by = identity("x", after);
    assert_eq!(world.write(&by, 0, RAISES, 1), Ok(ErrorCode::NONE), "it joins by that");
    let after = world.end(&by, true, RAISES).unwrap().unwrap().unwrap();
    assert_eq!(after.producer_epoch.get(), 2);
    assert_eq!(world.end(&by, true, RAISES), Ok(Ok(Some(after))), "again");
    assert_eq!(world.write(&by, 0, RAISES, 2), Ok(ErrorCode::PRODUCER_FENCED), "a late record");
    assert_eq!(world.end(&identity("x", after), true, RAISES), Ok(Err(ErrorCode::INVALID_TXN_STATE)));
    let marker = world.partitions[0].entries[1];
    assert_eq!(
        marker,
        Entry::Marker { producer_id: by.producer_id, epoch: ProducerEpoch::new(2), committed: true }
    );
}

#[test]
fn an_open_transaction_is_aborted_in_an_epoch_of_its_own_before_another_producer_begins() {
    for version in [KEEPS, RAISES] {
        let mut world = World::new(1);
        let (_, by) = begin(&mut world, "x");
        world.add(&by, 0, version).unwrap();
        world.write(&by, 0, version, 1).unwrap();
        let refused = world.init("x", TIMEOUT_MS, None).unwrap();
        assert_eq!(refused, Err(ErrorCode::CONCURRENT_TRANSACTIONS));
        assert_eq!(state(&world), (TransactionState::CompleteAbort, 1));
        assert_eq!(begin(&mut world, "x").0.producer_epoch.get(), 2);
        assert_eq!(world.partitions[0].outcomes(), [(1, false)]);
    }
}

#[test]
fn while_markers_wait_nobody_gets_on_and_everybody_is_told_to_come_again() {
    for version in [KEEPS, RAISES] {
        let mut world = World::new(2);
        let (_, by) = begin(&mut world, "x");
        for partition in [0, 1] {
            world.add(&by, partition, version).unwrap();
            world.write(&by, partition, version, 1).unwrap();
        }
        world.partitions[1].is_away = true;
        let ended = world.end(&by, true, version).unwrap().expect("it is decided");
        let epoch = ended.map_or(0, |begun| begun.producer_epoch.get());
        assert_eq!(state(&world), (TransactionState::PrepareCommit, epoch));
        let wait = ErrorCode::CONCURRENT_TRANSACTIONS;
        assert_eq!(world.end(&by, true, version), Ok(Err(wait)));
        assert_eq!(world.end(&by, false, version), Ok(Err(ErrorCode::INVALID_TXN_STATE)));
        assert_eq!(world.add(&at_epoch(&by, epoch), 0, version), Ok(wait));
        assert_eq!(world.init("x", TIMEOUT_MS, None), Ok(Err(wait)));
        world.advance(1_000).unwrap();
        assert_eq!(world.partitions[0].entries.len(), 2, "one marker, however often the others are tried");
        world.partitions[1].is_away = false;
        world.advance(1_000).unwrap();
        assert_eq!(state(&world).0, TransactionState::CompleteCommit);
        assert_eq!(world.partitions[1].outcomes(), [(1, true)]);
    }
}

#[test]
fn a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced() {
    for version in [KEEPS, RAISES] {
        let mut world = World::new(1);
        let (_, by) = begin(&mut world, "x");
        world.add(&by, 0, version).unwrap();
        world.write(&by, 0, version, 1).unwrap();
        world.advance(i64::from(TIMEOUT_MS) - 1_000).unwrap();
        assert_eq!(state(&world).0, TransactionState::Ongoing);
        world.advance(12_000).unwrap();
        assert_eq!(state(&world), (TransactionState::CompleteAbort, 1));
        assert_eq!(world.write(&by, 0, version, 1), Ok(ErrorCode::PRODUCER_FENCED));
        // In TV2 a commit one epoch behind could be one that came again, of a transaction that was aborted.
        let code = if version == KEEPS { ErrorCode::PRODUCER_FENCED } else { ErrorCode::INVALID_TXN_STATE };
        assert_eq!(world.end(&by, true, version), Ok(Err(code)));
        assert_eq!(world.partitions[0].outcomes(), [(1, false)]);
    }
}

#[test]
fn many_that_take_too_long_all_end_though_each_is_an_append_of_its_own() {
    let mut world = World::new(1);
    for number in 0..50 {
        let (_, by) = begin(&mut world, &format!("x{number}"));
        world.write(&by, 0, RAISES, number).unwrap();
    }
    world.failure = Some(AppendFailure::Unavailable);
    world.advance(i64::from(TIMEOUT_MS) + 20_000).unwrap();
    assert!(world.partitions[0].has_open(), "nothing could be written");
    world.failure = None;
    world.advance(10_000).unwrap();
    assert!(!world.partitions[0].has_open());
    assert_eq!(world.partitions[0].outcomes().len(), 50);
}

#[test]
fn a_producer_whose_epochs_are_used_up_gets_another_id_and_the_old_one_is_fenced() {
    let mut world = World::new(1);
    let (first, _) = begin(&mut world, "x");
    let mut last = first;
    while last.producer_id == first.producer_id {
        let (begun, _) = begin(&mut world, "x");
        assert!(begun.producer_epoch.get() >= 0);
        if begun.producer_id != first.producer_id {
            assert_eq!((last.producer_epoch.get(), begun.producer_epoch.get()), (i16::MAX - 1, 0));
        }
        last = begun;
    }
    let old = Identity { producer_id: first.producer_id, ..at_epoch(&identity("x", last), i16::MAX - 1) };
    assert_eq!(world.add(&old, 0, KEEPS), Ok(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
    assert_eq!(world.end(&old, true, KEEPS), Ok(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING)));
}

/// A world in which the producer has come to its last epoch.
fn at_the_edge(version: i16) -> (World, Begun, Identity) {
    let mut world = World::new(1);
    let mut begun = begin(&mut world, "x").0;
    while begun.producer_epoch.get() < i16::MAX - 1 {
        begun = world.init("x", TIMEOUT_MS, Some(begun)).unwrap().expect("the present producer goes on");
    }
    let by = identity("x", begun);
    world.add(&by, 0, version).unwrap();
    assert_eq!(world.write(&by, 0, version, 1), Ok(ErrorCode::NONE));
    (world, begun, by)
}

#[test]
fn at_the_last_epoch_an_end_still_ends_and_leads_to_another_producer() {
    let (mut world, begun, by) = at_the_edge(RAISES);
    let after = world.end(&by, true, RAISES).unwrap().unwrap().unwrap();
    assert_ne!(after.producer_id, begun.producer_id);
    assert_eq!(after.producer_epoch.get(), 0);
    assert_eq!(world.end(&by, true, RAISES), Ok(Ok(Some(after))), "again");
    assert_eq!(world.partitions[0].outcomes(), [(1, true)]);
    assert_eq!(world.write(&identity("x", after), 0, RAISES, 2), Ok(ErrorCode::NONE));
    assert_eq!(world.write(&by, 0, RAISES, 3), Ok(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
}

#[test]
fn at_the_last_epoch_a_time_out_ends_the_transaction_and_a_late_end_does_not() {
    for version in [KEEPS, RAISES] {
        let (mut world, begun, by) = at_the_edge(version);
        world.advance(i64::from(TIMEOUT_MS) + 12_000).unwrap();
        assert_eq!(state(&world), (TransactionState::CompleteAbort, i16::MAX));
        let late = world.end(&by, true, version).unwrap();
        assert!(late.is_err(), "{late:?}");
        let next = begin(&mut world, "x").0;
        assert_ne!(next.producer_id, begun.producer_id);
        assert_eq!(next.producer_epoch.get(), 0);
        assert_eq!(world.partitions[0].outcomes(), [(1, false)]);
        assert!(!world.partitions[0].has_open());
    }
}

#[test]
fn a_producer_that_names_itself_goes_on_and_its_retry_gets_the_same_answer() {
    let mut world = World::new(1);
    let (begun, _) = begin(&mut world, "x");
    let next = world.init("x", TIMEOUT_MS, Some(begun)).unwrap().unwrap();
    assert_eq!((next.producer_id, next.producer_epoch.get()), (begun.producer_id, 1));
    assert_eq!(world.init("x", TIMEOUT_MS, Some(begun)), Ok(Ok(next)), "again");
    let again = world.init("x", TIMEOUT_MS, Some(next)).unwrap().unwrap();
    assert_eq!(again.producer_epoch.get(), 2);
    let fenced = world.init("x", TIMEOUT_MS, Some(begun)).unwrap();
    assert_eq!(fenced, Err(ErrorCode::PRODUCER_FENCED), "two behind is somebody else");
    let other = Begun { producer_id: 7.into(), ..again };
    assert_eq!(world.init("x", TIMEOUT_MS, Some(other)), Ok(Err(ErrorCode::PRODUCER_FENCED)));
}

#[test]
fn an_id_that_nobody_uses_is_forgotten_and_one_with_an_open_transaction_is_not() {
    let mut world = World::new(1);
    begin(&mut world, "idle");
    let open = world.init("open", 900_000, None).unwrap().unwrap();
    world.add(&identity("open", open), 0, KEEPS).unwrap();
    world.config.expiration = std::time::Duration::from_secs(60);
    world.start().unwrap();
    world.advance(60 * 60 * 1_000 - 1).unwrap();
    assert!(world.machine.transaction(&"idle".into()).is_some());
    world.advance(2).unwrap();
    assert!(world.machine.transaction(&"idle".into()).is_none());
    world.start().unwrap();
    assert!(world.machine.transaction(&"idle".into()).is_none(), "a tombstone is in the log");
}

#[test]
fn what_could_not_be_written_has_not_happened() {
    let mut world = World::new(1);
    let (_, by) = begin(&mut world, "x");
    world.write(&by, 0, RAISES, 1).unwrap();
    for (failure, code) in [
        (AppendFailure::Unavailable, ErrorCode::COORDINATOR_NOT_AVAILABLE),
        (AppendFailure::NotLeader, ErrorCode::NOT_COORDINATOR),
    ] {
        world.failure = Some(failure);
        assert_eq!(world.end(&by, true, RAISES), Ok(Err(code)));
        assert_eq!(world.init("x", TIMEOUT_MS, None), Ok(Err(code)));
        assert_eq!(state(&world), (TransactionState::Ongoing, 0));
    }
    world.failure = None;
    assert!(world.end(&by, true, RAISES).unwrap().is_ok());
}

#[test]
fn wherever_the_process_dies_the_next_one_ends_what_was_decided_with_one_marker_each() {
    for version in [KEEPS, RAISES] {
        for committed in [true, false] {
            // The end appends: its decision, three markers, its completion.
            for appends in 1..=5 {
                let mut world = World::new(3);
                let (_, by) = begin(&mut world, "x");
                for partition in 0..3 {
                    world.add(&by, partition, version).unwrap();
                    world.write(&by, partition, version, 1).unwrap();
                }
                world.appends_left = Some(appends);
                assert!(world.end(&by, committed, version).is_err(), "it dies");
                world.start().unwrap();
                let ended = if committed {
                    TransactionState::CompleteCommit
                } else {
                    TransactionState::CompleteAbort
                };
                assert_eq!(state(&world).0, ended);
                for partition in &world.partitions {
                    assert_eq!(partition.outcomes(), [(1, committed)]);
                    assert_eq!(partition.entries.len(), 2, "one record, one marker");
                }
            }
        }
    }
}
