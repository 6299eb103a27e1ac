//! A running group changes from the classic protocol to the newer one and back, and both kinds of members in one group.

use std::time::Duration;

use bytes::Bytes;
use ottla_coordinator::{AppendFailure, GroupConfig, MigrationPolicy};
use ottla_model::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use super::classic::{ClassicConsumer, assignment, joined};
use super::world::{Consumer, World};

fn world() -> World {
    let mut config = GroupConfig::default();
    config.classic.initial_rebalance_delay = Duration::ZERO;
    config.consumer.assignment_interval = Duration::ZERO;
    World::with(config)
}

/// A classic group of one member that has these partitions of topic `t`.
fn classic_group(world: &mut World, given: Bytes) -> ClassicConsumer {
    let mut member = ClassicConsumer::new(&["t"]);
    let answer = member.join(world);
    assert_eq!((answer.error_code, answer.leader), (ErrorCode::NONE, member.id.clone()));
    assert_eq!(member.sync(world, &[(member.id.clone(), given)]).error_code, ErrorCode::NONE);
    member
}

#[test]
fn a_classic_group_becomes_one_of_the_newer_protocol_when_such_a_member_joins() {
    let mut world = world();
    let topic = world.topic("t", 2);
    let mut old = classic_group(&mut world, assignment("t", &[0, 1], None));
    assert_eq!(old.numbers(topic), [0, 1]);
    let batches = world.log.len();
    let mut new = Consumer::new("new", &["t"]);
    new.beat(&mut world);
    assert_eq!((new.epoch, new.numbers(topic)), (2, vec![]), "its partitions are another's still");
    assert_eq!(world.types(batches), [vec![-2, 5, 3, 7, 6, 8, 5, 3], vec![7, 7, 6, 8]]);
    let group = world.describe();
    assert_eq!((group.group_epoch, group.group_state.as_str()), (2, "Reconciling"));
    let kinds: Vec<i8> = group.members.iter().map(|member| member.member_type).collect();
    assert_eq!(kinds.iter().sum::<i8>(), 1, "one of each");
    // The old member is told to join, gives up what it has to, and joins once more.
    assert_eq!(old.heartbeat(&mut world), ErrorCode::REBALANCE_IN_PROGRESS);
    let answer = old.join(&mut world);
    assert_eq!((answer.generation_id, answer.leader.as_str(), answer.members.len()), (1, "", 0));
    assert_eq!(answer.protocol_name.as_deref(), Some("range"));
    assert_eq!(old.sync(&mut world, &[]).error_code, ErrorCode::NONE);
    assert_eq!(old.numbers(topic).len(), 1);
    assert!(!new.beat(&mut world), "not given up yet");
    assert_eq!(old.heartbeat(&mut world), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(old.join(&mut world).generation_id, 2);
    assert_eq!(old.sync(&mut world, &[]).error_code, ErrorCode::NONE);
    assert_eq!(old.heartbeat(&mut world), ErrorCode::NONE);
    new.beat(&mut world);
    assert_eq!((old.numbers(topic).len(), new.numbers(topic).len()), (1, 1));
    assert_eq!(world.describe().group_state, "Stable");
}

#[test]
fn who_waits_in_a_round_of_the_classic_group_is_told_to_join_anew() {
    let mut world = world();
    world.topic("t", 2);
    let old = classic_group(&mut world, assignment("t", &[0, 1], None));
    let mut second = ClassicConsumer::new(&["t"]);
    let token = second.send_join(&mut world);
    second.id = joined(&world, token).member_id;
    let waits = second.send_join(&mut world);
    assert!(!world.answers.contains_key(&waits), "the first has to join, too");
    Consumer::new("new", &["t"]).beat(&mut world);
    assert_eq!(joined(&world, waits).error_code, ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(old.heartbeat(&mut world), ErrorCode::REBALANCE_IN_PROGRESS);
}

#[test]
fn a_group_is_not_taken_over_where_the_policy_forbids_it_or_it_cannot_be_read() {
    for (policy, code) in [
        (MigrationPolicy::Disabled, ErrorCode::GROUP_ID_NOT_FOUND),
        (MigrationPolicy::Downgrade, ErrorCode::GROUP_ID_NOT_FOUND),
        (MigrationPolicy::Upgrade, ErrorCode::NONE),
    ] {
        let mut world = world();
        world.configure(|config| config.consumer.migration = policy);
        world.topic("t", 2);
        let old = classic_group(&mut world, assignment("t", &[0], None));
        let answer = world.heartbeat(Consumer::new("new", &["t"]).whole());
        assert_eq!(answer.error_code, code, "{policy:?}");
        if code != ErrorCode::NONE {
            assert_eq!(old.heartbeat(&mut world), ErrorCode::NONE, "nothing has happened to it");
        }
    }
    for given in [Bytes::from_static(b"\0\x01\xff"), assignment("t", &[0], Some(b"secret"))] {
        let mut world = world();
        world.topic("t", 2);
        let mut old = ClassicConsumer::new(&["t"]);
        old.join(&mut world);
        old.send_sync(&mut world, &[(old.id.clone(), given)]);
        let answer = world.heartbeat(Consumer::new("new", &["t"]).whole());
        assert_eq!(answer.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
        assert!(
            answer.error_message.expect("a reason").contains("Group g stays one of the classic protocol")
        );
    }
}

#[test]
fn an_empty_group_changes_its_kind_whatever_the_policy() {
    let mut world = world();
    world.configure(|config| config.consumer.migration = MigrationPolicy::Disabled);
    let topic = world.topic("t", 1);
    let old = classic_group(&mut world, assignment("t", &[0], None));
    old.leave(&mut world);
    let mut new = Consumer::new("new", &["t"]);
    let batches = world.log.len();
    new.beat(&mut world);
    assert_eq!((new.epoch, new.numbers(topic)), (2, vec![0]));
    assert_eq!(world.types(batches), [vec![-2, 5, 3], vec![7, 6, 8]]);
    world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -1, ..new.alive() });
    let again = classic_group(&mut world, assignment("t", &[0], None));
    assert_eq!(again.generation, 1);
    assert_eq!(world.describe().error_code, ErrorCode::GROUP_ID_NOT_FOUND);
}

#[test]
fn when_the_last_member_of_the_newer_protocol_leaves_the_group_is_classic_and_joins_anew() {
    let mut world = world();
    let topic = world.topic("t", 2);
    let mut old = classic_group(&mut world, assignment("t", &[0, 1], None));
    let mut new = Consumer::new("new", &["t"]);
    for _ in 0..4 {
        new.beat(&mut world);
        old.live(&mut world);
    }
    assert_eq!((old.numbers(topic).len(), new.numbers(topic).len()), (1, 1));
    let batches = world.log.len();
    world.failures.push_back(Some(AppendFailure::Unavailable));
    let leaves = ConsumerGroupHeartbeatRequest { member_epoch: -1, ..new.alive() };
    assert_eq!(world.heartbeat(leaves.clone()).error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(old.heartbeat(&mut world), ErrorCode::NONE, "nothing has happened");
    assert_eq!(world.heartbeat(leaves).error_code, ErrorCode::NONE);
    assert_eq!(world.types(batches), [vec![-8, -8, -7, -7, -6, -5, -5, -4, -3, 2]]);
    assert_eq!(world.describe().error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(old.heartbeat(&mut world), ErrorCode::REBALANCE_IN_PROGRESS);
    let answer = old.join(&mut world);
    assert_eq!((answer.error_code, answer.generation_id), (ErrorCode::NONE, 3));
    assert_eq!((answer.leader.clone(), answer.members.len()), (old.id.clone(), 1), "somebody leads again");
    world.restart();
    assert_eq!(world.describe().error_code, ErrorCode::GROUP_ID_NOT_FOUND);
}

#[test]
fn where_the_policy_forbids_it_a_group_of_classic_members_alone_stays_of_the_newer_protocol() {
    let mut world = world();
    world.configure(|config| config.consumer.migration = MigrationPolicy::Upgrade);
    let topic = world.topic("t", 2);
    let mut old = classic_group(&mut world, assignment("t", &[0, 1], None));
    let mut new = Consumer::new("new", &["t"]);
    for _ in 0..4 {
        new.beat(&mut world);
        old.live(&mut world);
    }
    world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -1, ..new.alive() });
    for _ in 0..4 {
        old.live(&mut world);
    }
    assert_eq!(old.numbers(topic), [0, 1]);
    assert_eq!(world.describe().group_state, "Stable");
}

#[test]
fn a_static_member_that_comes_back_by_the_classic_protocol_takes_the_group_with_it() {
    let mut world = world();
    let topic = world.topic("t", 2);
    let mut old = classic_group(&mut world, assignment("t", &[0, 1], None));
    let mut new = Consumer::fixed("new", "one", &["t"]);
    for _ in 0..4 {
        new.beat(&mut world);
        old.live(&mut world);
    }
    let had = new.numbers(topic);
    world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -2, ..new.alive() });
    let mut back = ClassicConsumer { instance: Some("one".into()), ..ClassicConsumer::new(&["t"]) };
    let answer = back.join(&mut world);
    assert_eq!((answer.error_code, answer.generation_id), (ErrorCode::NONE, 2));
    assert_eq!(world.describe().error_code, ErrorCode::GROUP_ID_NOT_FOUND, "it is classic");
    assert_eq!(back.sync(&mut world, &[]).error_code, ErrorCode::NONE);
    assert_eq!(back.numbers(topic), had, "without a rebalance");
    assert_eq!(old.heartbeat(&mut world), ErrorCode::NONE);
}

#[test]
fn a_classic_member_in_a_group_of_the_newer_protocol_is_answered_as_kafka_answers() {
    let mut world = world();
    world.topic("t", 2);
    let mut new = Consumer::new("new", &["t"]);
    new.beat(&mut world);
    let mut old = ClassicConsumer::new(&["t"]);
    let token = old.send_join(&mut world);
    let asked = joined(&world, token);
    assert_eq!((asked.error_code, asked.member_id.len()), (ErrorCode::MEMBER_ID_REQUIRED, 22));
    let answer = old.join(&mut world);
    assert_eq!((answer.error_code, answer.leader.as_str(), answer.members.len()), (ErrorCode::NONE, "", 0));
    let stray = ClassicConsumer { generation: 99, ..old.clone() };
    assert_eq!(stray.heartbeat(&mut world), ErrorCode::ILLEGAL_GENERATION);
    let stranger = ClassicConsumer { id: "x".into(), ..old.clone() };
    assert_eq!(stranger.heartbeat(&mut world), ErrorCode::UNKNOWN_MEMBER_ID);
    let newer = ClassicConsumer { id: "new".into(), generation: 3, ..old.clone() };
    assert_eq!(newer.heartbeat(&mut world), ErrorCode::UNKNOWN_MEMBER_ID, "it does not speak so");
    let mut other = ClassicConsumer { protocols: vec!["sticky".into()], ..ClassicConsumer::new(&["t"]) };
    assert_eq!(other.join(&mut world).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let mut differs = ClassicConsumer { protocols: vec!["sticky".into()], ..old.clone() };
    assert_eq!(differs.sync(&mut world, &[]).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    world.configure(|config| config.consumer.migration = MigrationPolicy::Disabled);
    assert_eq!(
        ClassicConsumer::new(&["t"]).join(&mut world).error_code,
        ErrorCode::INCONSISTENT_GROUP_PROTOCOL
    );
    assert_eq!(stranger.leave(&mut world).members[0].error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(old.leave(&mut world).members[0].error_code, ErrorCode::NONE);
    assert_eq!(world.describe().members.len(), 1);
}

#[test]
fn a_classic_member_that_is_told_to_join_or_has_joined_has_the_rebalance_timeout_for_the_next_step() {
    // It has joined and does not sync.
    let mut first = world();
    first.topic("t", 2);
    let mut new = Consumer::new("new", &["t"]);
    new.beat(&mut first);
    let mut old = ClassicConsumer::new(&["t"]);
    old.join(&mut first);
    for _ in 0..6 {
        assert_eq!(first.describe().members.len(), 2);
        old.heartbeat(&mut first);
        new.beat(&mut first);
        first.pass(10_000);
    }
    assert_eq!(first.describe().members.len(), 1);
    // It has synced, is told to join, and only heartbeats.
    let mut second = world();
    second.topic("t", 2);
    let mut old = classic_group(&mut second, assignment("t", &[0, 1], None));
    let mut new = Consumer::new("new", &["t"]);
    new.beat(&mut second);
    for _ in 0..6 {
        assert_eq!(old.heartbeat(&mut second), ErrorCode::REBALANCE_IN_PROGRESS);
        new.beat(&mut second);
        second.pass(10_000);
    }
    assert_eq!(old.heartbeat(&mut second), ErrorCode::UNKNOWN_MEMBER_ID);
    old.live(&mut second);
}
