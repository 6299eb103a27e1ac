//! Transactions over the end of a broker: in good order and by kill -9.

use ottla_model::ErrorCode;
use ottla_testkit::{Connection, TestBroker, TestProcess};

use super::client::{Producer, begin, committed, ends, ready};
use super::telling::describe;
use crate::requests::create_topic;
use crate::{BROKER, group_requests};

/// One open transaction, one committed, one aborted, and one that was never begun.
fn fill(connection: &mut Connection) -> Producer {
    create_topic(connection, "t", 2);
    group_requests::ready(connection, "g");
    begin(connection, "empty");
    let mut kept = begin(connection, "kept");
    kept.write(connection, ("t", 0), 0, &["kept"]);
    kept.finish(connection, true);
    let mut lost = begin(connection, "lost");
    lost.write(connection, ("t", 0), 0, &["lost"]);
    lost.finish(connection, false);
    let open = begin(connection, "open");
    open.write(connection, ("t", 0), 0, &["open"]);
    open.write(connection, ("t", 1), 0, &["open"]);
    assert_eq!(open.commit_offset(connection, 5, "g", ("t", 0), 3), ErrorCode::NONE);
    open
}

/// Waits until the coordinators are loaded again.
fn wait(connection: &mut Connection) {
    for id in ["open", "kept", "lost", "empty"] {
        ready(connection, id);
    }
    group_requests::ready(connection, "g");
}

fn check(connection: &mut Connection, mut open: Producer) {
    for (id, state) in
        [("empty", "Empty"), ("kept", "CompleteCommit"), ("lost", "CompleteAbort"), ("open", "Ongoing")]
    {
        assert_eq!(describe(connection, id).transaction_state, state, "{id}");
    }
    assert_eq!(committed(connection, "t", 0), ["kept"]);
    assert_eq!(ends(connection, "t", 1), (1, 0));
    open.write(connection, ("t", 0), 1, &["more"]);
    open.finish(connection, true);
    assert_eq!(committed(connection, "t", 0), ["kept", "open", "more"]);
    assert_eq!(committed(connection, "t", 1), ["open"]);
    open.write(connection, ("t", 0), 0, &["after"]);
    open.finish(connection, true);
    assert_eq!(committed(connection, "t", 0), ["kept", "open", "more", "after"]);
}

#[test]
fn after_a_stop_in_good_order_everything_goes_on_where_it_was() {
    let mut broker = TestBroker::start();
    let open = fill(&mut broker.connect());
    broker.restart();
    let mut connection = broker.connect();
    wait(&mut connection);
    check(&mut connection, open);
}

#[test]
fn after_a_kill_everything_that_was_answered_goes_on_where_it_was() {
    let process = TestProcess::builder(BROKER).start();
    let open = fill(&mut process.connect());
    let process = process.kill().start();
    let mut connection = process.connect();
    wait(&mut connection);
    check(&mut connection, open);
}
