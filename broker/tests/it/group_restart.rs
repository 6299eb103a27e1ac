//! What groups are after a restart: everything that was acknowledged, and for the rest Kafka's codes, by which members
//! find back without a person. Each process is killed, so nothing was written in good order.

use ottla_model::ErrorCode;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_testkit::{TestBroker, TestProcess};

use crate::BROKER;
use crate::group_requests::{commit, committed, heartbeat, join, join_anew, join_request, ready, sync};
use crate::requests::create_topic;

fn process() -> TestProcess {
    TestProcess::builder(BROKER).set("group.initial.rebalance.delay.ms", "0").start()
}

#[test]
fn a_member_goes_on_in_its_generation_and_what_it_committed_is_there() {
    let broker = process();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    ready(&mut connection, "g");
    let joined = join_anew(&mut connection, "g");
    let (member, generation) = (joined.member_id.to_string(), joined.generation_id);
    let synced = sync(&mut connection, "g", &member, generation, &[(&member, b"all")]);
    assert_eq!(synced.error_code, ErrorCode::NONE);
    let mut broker = Some(broker);
    for offset in 1..=3 {
        assert_eq!(commit(&mut connection, "g", &member, generation, "t", offset), ErrorCode::NONE);
        let plan = broker.take().unwrap().kill();
        let started = plan.start();
        connection = started.connect();
        broker = Some(started);
        ready(&mut connection, "g");
        assert_eq!(committed(&mut connection, "g", "t"), offset);
        assert_eq!(heartbeat(&mut connection, "g", &member, generation, None), ErrorCode::NONE);
        assert_eq!(
            heartbeat(&mut connection, "g", &member, generation - 1, None),
            ErrorCode::ILLEGAL_GENERATION
        );
        assert_eq!(heartbeat(&mut connection, "g", "other", generation, None), ErrorCode::UNKNOWN_MEMBER_ID);
        let again = sync(&mut connection, "g", &member, generation, &[]);
        assert_eq!((again.error_code, &again.assignment[..]), (ErrorCode::NONE, &b"all"[..]));
    }
}

#[test]
fn a_round_that_was_not_assigned_is_forgotten_and_its_members_join_anew() {
    let broker = process();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    let joined = join_anew(&mut connection, "g");
    let broker = broker.kill().start();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    let code = heartbeat(&mut connection, "g", &joined.member_id, joined.generation_id, None);
    assert_eq!(code, ErrorCode::UNKNOWN_MEMBER_ID);
    let code = sync(&mut connection, "g", &joined.member_id, joined.generation_id, &[]).error_code;
    assert_eq!(code, ErrorCode::UNKNOWN_MEMBER_ID);
    let again = join_anew(&mut connection, "g");
    assert_eq!(again.error_code, ErrorCode::NONE);
}

#[test]
fn a_rebalance_under_way_is_as_if_it_had_not_begun() {
    let broker = process();
    let (mut one, mut other) = (broker.connect(), broker.connect());
    ready(&mut one, "g");
    let joined = join_anew(&mut one, "g");
    let (member, generation) = (joined.member_id.to_string(), joined.generation_id);
    let synced = sync(&mut one, "g", &member, generation, &[(&member, b"all")]);
    assert_eq!(synced.error_code, ErrorCode::NONE);
    let newcomer = join(&mut other, "g", "", None).member_id;
    other.send(&join_request("g", &newcomer, None), 9);
    while heartbeat(&mut one, "g", &member, generation, None) != ErrorCode::REBALANCE_IN_PROGRESS {}

    let broker = broker.kill().start();
    let mut one = broker.connect();
    ready(&mut one, "g");
    assert_eq!(heartbeat(&mut one, "g", &member, generation, None), ErrorCode::NONE);
    assert_eq!(join(&mut one, "g", &newcomer, None).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn after_a_kill_in_the_middle_of_a_round_members_are_told_as_by_kafka_and_find_back() {
    // Once while the members of the next generation join, once while its leader has not assigned yet. The codes are those of
    // a running Apache Kafka 4.4.0 that was killed at the same two places.
    for all_have_joined in [false, true] {
        let broker = process();
        let (mut one, mut other) = (broker.connect(), broker.connect());
        create_topic(&mut one, "t", 1);
        ready(&mut one, "g");
        let joined = join_anew(&mut one, "g");
        let (first, generation) = (joined.member_id.to_string(), joined.generation_id);
        let synced = sync(&mut one, "g", &first, generation, &[(&first, b"all")]);
        assert_eq!(synced.error_code, ErrorCode::NONE);
        assert_eq!(commit(&mut one, "g", &first, generation, "t", 3), ErrorCode::NONE);
        let second = join(&mut other, "g", "", None).member_id.to_string();
        let number = other.send(&join_request("g", &second, None), 9);
        while heartbeat(&mut one, "g", &first, generation, None) != ErrorCode::REBALANCE_IN_PROGRESS {}
        if all_have_joined {
            assert_eq!(join(&mut one, "g", &first, None).generation_id, generation + 1);
            assert_eq!(other.receive::<JoinGroupRequest>(9, number).generation_id, generation + 1);
        }

        let broker = broker.kill().start();
        let (mut one, mut other) = (broker.connect(), broker.connect());
        ready(&mut one, "g");
        assert_eq!(committed(&mut one, "g", "t"), 3);
        for (member, at, code) in [
            (&first, generation, ErrorCode::NONE),
            (&first, generation + 1, ErrorCode::ILLEGAL_GENERATION),
            (&second, generation, ErrorCode::UNKNOWN_MEMBER_ID),
            (&second, generation + 1, ErrorCode::UNKNOWN_MEMBER_ID),
        ] {
            assert_eq!(heartbeat(&mut one, "g", member, at, None), code, "{member} at {at}");
        }
        let synced = sync(&mut one, "g", &first, generation + 1, &[(&first, b"one")]);
        assert_eq!(synced.error_code, ErrorCode::ILLEGAL_GENERATION);
        assert_eq!(join(&mut other, "g", &second, None).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
        // What clients do with these codes brings both back.
        let second = join(&mut other, "g", "", None).member_id.to_string();
        let number = other.send(&join_request("g", &second, None), 9);
        while heartbeat(&mut one, "g", &first, generation, None) != ErrorCode::REBALANCE_IN_PROGRESS {}
        let led = join(&mut one, "g", &first, None);
        let followed = other.receive::<JoinGroupRequest>(9, number);
        assert_eq!((led.error_code, led.generation_id), (ErrorCode::NONE, generation + 1));
        assert_eq!((followed.error_code, followed.generation_id), (ErrorCode::NONE, generation + 1));
        let synced = sync(&mut one, "g", &first, generation + 1, &[(&first, b"one"), (&second, b"two")]);
        assert_eq!((synced.error_code, &synced.assignment[..]), (ErrorCode::NONE, &b"one"[..]));
        let synced = sync(&mut other, "g", &second, generation + 1, &[]);
        assert_eq!((synced.error_code, &synced.assignment[..]), (ErrorCode::NONE, &b"two"[..]));
        assert_eq!(commit(&mut other, "g", &second, generation + 1, "t", 4), ErrorCode::NONE);
    }
}

#[test]
fn a_group_that_was_left_stays_empty_and_keeps_its_offsets() {
    let broker = process();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    ready(&mut connection, "g");
    let joined = join_anew(&mut connection, "g");
    let (member, generation) = (joined.member_id.to_string(), joined.generation_id);
    let synced = sync(&mut connection, "g", &member, generation, &[(&member, b"all")]);
    assert_eq!(synced.error_code, ErrorCode::NONE);
    assert_eq!(commit(&mut connection, "g", &member, generation, "t", 7), ErrorCode::NONE);
    let leave = LeaveGroupRequest {
        group_id: "g".into(),
        members: vec![MemberIdentity { member_id: member.as_str().into(), ..MemberIdentity::default() }],
        ..LeaveGroupRequest::default()
    };
    assert_eq!(connection.call(&leave, 5).error_code, ErrorCode::NONE);
    let broker = broker.kill().start();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    assert_eq!(heartbeat(&mut connection, "g", &member, generation, None), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(committed(&mut connection, "g", "t"), 7);
    // The next generation follows the last one that was written.
    assert!(join_anew(&mut connection, "g").generation_id > generation);
}

#[test]
fn commits_into_a_topic_that_asks_for_fsync_are_acknowledged_and_kept() {
    // Each record of the internal topic is forced to disk before its commit is acknowledged.
    let broker = TestBroker::builder()
        .set("log.flush.interval.messages", "1")
        .set("offsets.topic.num.partitions", "3");
    let mut broker = broker.start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    ready(&mut connection, "g");
    for offset in 0..20 {
        assert_eq!(commit(&mut connection, "g", "", -1, "t", offset), ErrorCode::NONE);
        assert_eq!(committed(&mut connection, "g", "t"), offset);
    }
    broker.restart();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    assert_eq!(committed(&mut connection, "g", "t"), 19);
}
