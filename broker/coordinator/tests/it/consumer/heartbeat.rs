//! ConsumerGroupHeartbeat, rule by rule. What is expected was seen on Apache Kafka 4.4.0 or follows from KIP-848.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_coordinator::{AppendFailure, GroupOverrides, Leaves};
use ottla_model::{ErrorCode, TopicName};
use ottla_protocol::internal::ConsumerOffsetsRecord;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use super::world::{Consumer, World, settle};

#[test]
fn the_first_member_of_a_new_group_has_all_at_epoch_2_and_kafkas_records_are_written() {
    let mut world = World::new();
    let topic = world.topic("t", 3);
    let mut a = Consumer::new("a", &["t"]);
    let answer = world.heartbeat(a.whole());
    a.take(&answer);
    assert_eq!((a.epoch, a.numbers(topic)), (2, vec![0, 1, 2]));
    assert_eq!((answer.member_id.as_deref(), answer.heartbeat_interval_ms), (Some("a"), 5000));
    assert_eq!(world.types(0), [vec![5, 3], vec![7, 6, 8]]);
    let ConsumerOffsetsRecord::ConsumerGroupMemberMetadata(_, Some(member)) = world.record(0, 0) else {
        panic!("the member comes first");
    };
    assert_eq!(member.subscribed_topic_regex.as_deref(), Some(""), "as Kafka writes none");
    let ConsumerOffsetsRecord::ConsumerGroupTargetAssignmentMetadata(_, Some(target)) = world.record(1, 1)
    else {
        panic!("the epoch of the targets comes after them");
    };
    assert_eq!((target.assignment_epoch, target.assignment_timestamp), (2, world.now_ms));
    let ConsumerOffsetsRecord::ConsumerGroupCurrentMemberAssignment(_, Some(place)) = world.record(1, 2)
    else {
        panic!("what the member has comes last");
    };
    assert_eq!((place.member_epoch, place.previous_member_epoch, place.state), (2, 0, 0));
    assert_eq!(place.assigned_partitions[0].assignment_epochs, Some(vec![2, 2, 2]));
}

#[test]
fn a_heartbeat_that_says_nothing_new_writes_nothing_and_is_answered_at_once() {
    let mut world = World::new();
    world.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    a.beat(&mut world);
    let batches = world.log.len();
    let token = world.send(a.alive(), 1);
    assert_eq!(world.answer(token).assignment, None);
    assert_eq!(world.answer(token).member_epoch, 2);
    assert_eq!(world.answers[&token].1, Leaves::AtOnce);
    assert_eq!(world.log.len(), batches);
    let told = world.heartbeat(a.whole());
    assert!(told.assignment.is_some(), "who says everything is told everything");
    assert_eq!(world.log.len(), batches);
}

#[test]
fn what_a_member_has_to_give_up_it_gives_up_at_its_old_epoch_before_another_gets_it() {
    let mut world = World::new();
    let topic = world.topic("t", 4);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    a.beat(&mut world);
    b.beat(&mut world);
    assert_eq!((b.epoch, b.numbers(topic)), (3, vec![]), "it waits for what another has");
    assert_eq!(world.describe().group_state, "Reconciling");
    let answer = world.heartbeat(a.alive());
    assert_eq!(answer.member_epoch, 2, "it stays where it is until it has given up");
    let mut told = a.clone();
    told.take(&answer);
    assert_eq!(told.numbers(topic).len(), 2);
    b.beat(&mut world);
    assert_eq!(b.numbers(topic), [0; 0], "it has not been given up yet");
    let answer = world.heartbeat(a.owning());
    assert_eq!(answer.member_epoch, 2, "it still has all four");
    a.has = told.has.clone();
    a.take(&world.heartbeat(a.owning()));
    assert_eq!(a.epoch, 3);
    b.beat(&mut world);
    assert_eq!((b.epoch, b.numbers(topic).len()), (3, 2));
    let group = world.describe();
    assert_eq!((group.group_state.as_str(), group.group_epoch, group.assignment_epoch), ("Stable", 3, 3));
}

#[test]
fn an_answer_that_was_lost_is_made_good_by_the_epoch_before_if_the_client_has_no_more_than_it_was_given() {
    let mut world = World::new();
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    a.beat(&mut world);
    b.beat(&mut world);
    settle(&mut world, &mut [&mut a, &mut b]);
    let before = b.clone();
    let mut c = Consumer::new("c", &["t"]);
    c.beat(&mut world);
    world.heartbeat(b.owning());
    // The answer, with epoch 4, does not arrive.
    let again = world.heartbeat(before.owning());
    assert_eq!((again.error_code, again.member_epoch), (ErrorCode::NONE, 4));
    let mut greedy = before.clone();
    greedy.has.insert(topic, [0, 1].into());
    assert_eq!(world.heartbeat(greedy.owning()).error_code, ErrorCode::FENCED_MEMBER_EPOCH);
    assert_eq!(world.heartbeat(before.alive()).error_code, ErrorCode::FENCED_MEMBER_EPOCH, "it does not say");
    for epoch in [1, 5] {
        let stray = Consumer { epoch, ..before.clone() };
        let refused = world.heartbeat(stray.owning());
        assert_eq!(refused.error_code, ErrorCode::FENCED_MEMBER_EPOCH, "epoch {epoch}");
        assert_eq!(refused.member_id, None);
    }
}

#[test]
fn requests_that_make_no_sense_are_refused_as_kafka_refuses_them() {
    let mut world = World::new();
    let a = Consumer::new("a", &["t"]);
    let whole = a.whole();
    let cases: Vec<(ConsumerGroupHeartbeatRequest, ErrorCode)> = vec![
        (
            ConsumerGroupHeartbeatRequest { member_id: " ".into(), ..whole.clone() },
            ErrorCode::INVALID_REQUEST,
        ),
        (ConsumerGroupHeartbeatRequest { group_id: "".into(), ..whole.clone() }, ErrorCode::INVALID_REQUEST),
        (
            ConsumerGroupHeartbeatRequest { instance_id: Some("".into()), ..whole.clone() },
            ErrorCode::INVALID_REQUEST,
        ),
        (
            ConsumerGroupHeartbeatRequest { rack_id: Some("".into()), ..whole.clone() },
            ErrorCode::INVALID_REQUEST,
        ),
        (
            ConsumerGroupHeartbeatRequest { rebalance_timeout_ms: -1, ..whole.clone() },
            ErrorCode::INVALID_REQUEST,
        ),
        (
            ConsumerGroupHeartbeatRequest { topic_partitions: None, ..whole.clone() },
            ErrorCode::INVALID_REQUEST,
        ),
        (
            ConsumerGroupHeartbeatRequest { subscribed_topic_names: None, ..whole.clone() },
            ErrorCode::INVALID_REQUEST,
        ),
        (ConsumerGroupHeartbeatRequest { member_epoch: -2, ..whole.clone() }, ErrorCode::INVALID_REQUEST),
        (ConsumerGroupHeartbeatRequest { member_epoch: -3, ..whole.clone() }, ErrorCode::INVALID_REQUEST),
        (
            ConsumerGroupHeartbeatRequest { server_assignor: Some("best".into()), ..whole.clone() },
            ErrorCode::UNSUPPORTED_ASSIGNOR,
        ),
        (ConsumerGroupHeartbeatRequest { member_epoch: 1, ..whole.clone() }, ErrorCode::GROUP_ID_NOT_FOUND),
        (ConsumerGroupHeartbeatRequest { member_epoch: -1, ..whole.clone() }, ErrorCode::GROUP_ID_NOT_FOUND),
        (
            ConsumerGroupHeartbeatRequest { subscribed_topic_regex: Some("[".into()), ..whole.clone() },
            ErrorCode::INVALID_REGULAR_EXPRESSION,
        ),
    ];
    for (request, code) in cases {
        let answer = world.heartbeat(request.clone());
        assert_eq!(answer.error_code, code, "{request:?}");
        assert!(answer.error_message.is_some(), "{request:?}");
    }
    assert_eq!(world.log.len(), 0, "what is refused is not written");
    // Version 0 lets the coordinator draw the id.
    let token = world.send(ConsumerGroupHeartbeatRequest { member_id: "".into(), ..whole }, 0);
    let drawn = world.answer(token).member_id.clone().expect("an id");
    assert_eq!(drawn.len(), 22);
    let stranger = Consumer { epoch: 2, ..Consumer::new("x", &["t"]) };
    assert_eq!(world.heartbeat(stranger.alive()).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn who_leaves_is_gone_with_tombstones_and_the_rest_gets_what_it_had() {
    let mut world = World::new();
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    settle(&mut world, &mut [&mut a, &mut b]);
    let batches = world.log.len();
    let bye = world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -1, ..b.alive() });
    assert_eq!((bye.error_code, bye.member_epoch, bye.heartbeat_interval_ms), (ErrorCode::NONE, -1, 0));
    assert_eq!(world.types(batches), [vec![-8, -7, -5, 3]]);
    settle(&mut world, &mut [&mut a]);
    assert_eq!(a.numbers(topic), [0, 1]);
    let batches = world.log.len();
    world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -1, ..a.alive() });
    assert_eq!(world.types(batches), [vec![-8, -7, -5, 3, 6]], "the last one ends the assignment, too");
    let group = world.describe();
    assert_eq!((group.group_state.as_str(), group.members.len()), ("Empty", 0));
    assert_eq!(group.group_epoch, group.assignment_epoch);
}

#[test]
fn a_static_member_that_pauses_keeps_its_partitions_for_its_instance() {
    let mut world = World::new();
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::fixed("a", "one", &["t"]), Consumer::new("b", &["t"]));
    settle(&mut world, &mut [&mut a, &mut b]);
    let (epoch, had) = (a.epoch, a.numbers(topic));
    let other = Consumer::fixed("c", "one", &["t"]);
    assert_eq!(world.heartbeat(other.whole()).error_code, ErrorCode::UNRELEASED_INSTANCE_ID);
    let paused = world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -2, ..a.alive() });
    assert_eq!((paused.error_code, paused.member_epoch), (ErrorCode::NONE, -2));
    b.beat(&mut world);
    assert_eq!(b.numbers(topic).len(), 1, "nobody else gets them");
    let batches = world.log.len();
    let mut back = other;
    back.beat(&mut world);
    assert_eq!((back.epoch, back.numbers(topic)), (epoch, had), "no rebalance");
    assert_eq!(world.types(batches), [vec![-8, -7, -5, 5, 7, 8, 8]]);
    assert_eq!(world.heartbeat(a.alive()).error_code, ErrorCode::FENCED_INSTANCE_ID, "the old id");
    let leaving = ConsumerGroupHeartbeatRequest { member_epoch: -1, ..a.alive() };
    assert_eq!(world.heartbeat(leaving).error_code, ErrorCode::FENCED_INSTANCE_ID);
    let stranger = Consumer { epoch: 3, ..Consumer::fixed("x", "two", &["t"]) };
    assert_eq!(world.heartbeat(stranger.alive()).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_paused_member_that_does_not_come_back_in_its_session_is_gone() {
    let mut world = World::new();
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::fixed("a", "one", &["t"]), Consumer::new("b", &["t"]));
    settle(&mut world, &mut [&mut a, &mut b]);
    world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -2, ..a.alive() });
    world.pass(44_000);
    b.beat(&mut world);
    assert_eq!(world.describe().members.len(), 2);
    world.pass(1_000);
    settle(&mut world, &mut [&mut b]);
    assert_eq!((world.describe().members.len(), b.numbers(topic).len()), (1, 2));
}

#[test]
fn who_is_silent_for_a_session_is_fenced_and_may_join_again() {
    let mut world = World::new();
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    settle(&mut world, &mut [&mut a, &mut b]);
    world.pass(30_000);
    a.beat(&mut world);
    world.pass(15_000);
    assert_eq!(world.heartbeat(b.alive()).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    settle(&mut world, &mut [&mut a]);
    assert_eq!(a.numbers(topic), [0, 1]);
    b = Consumer::new("b", &["t"]);
    settle(&mut world, &mut [&mut a, &mut b]);
    assert_eq!((a.numbers(topic).len(), b.numbers(topic).len()), (1, 1));
}

#[test]
fn who_does_not_give_up_within_the_rebalance_timeout_is_fenced_although_it_heartbeats() {
    let mut world = World::new();
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    a.beat(&mut world);
    b.beat(&mut world);
    let stubborn = a.clone();
    for _ in 0..6 {
        assert_eq!(world.heartbeat(stubborn.owning()).error_code, ErrorCode::NONE);
        b.beat(&mut world);
        world.pass(10_000);
    }
    assert_eq!(world.heartbeat(stubborn.owning()).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    settle(&mut world, &mut [&mut b]);
    assert_eq!(b.numbers(topic), [0, 1]);
}

#[test]
fn a_group_is_full_for_newcomers_and_not_for_its_members() {
    let mut world = World::new();
    world.configure(|config| config.consumer.members_max = 2);
    world.topic("t", 2);
    let (mut a, mut b) = (Consumer::fixed("a", "one", &["t"]), Consumer::new("b", &["t"]));
    settle(&mut world, &mut [&mut a, &mut b]);
    assert_eq!(
        world.heartbeat(Consumer::new("c", &["t"]).whole()).error_code,
        ErrorCode::GROUP_MAX_SIZE_REACHED
    );
    assert_eq!(world.heartbeat(b.whole()).error_code, ErrorCode::NONE);
    world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -2, ..a.alive() });
    let mut back = Consumer::fixed("d", "one", &["t"]);
    back.beat(&mut world);
    assert_eq!(world.describe().members.len(), 2);
}

#[test]
fn the_next_assignment_waits_for_the_interval_and_a_joiner_gets_the_present_epoch_with_nothing() {
    let mut world = World::new();
    world.configure(|config| config.consumer.assignment_interval = Duration::from_secs(1));
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    a.beat(&mut world);
    world.pass(400);
    b.beat(&mut world);
    assert_eq!((b.epoch, b.numbers(topic).len()), (2, 0));
    let group = world.describe();
    assert_eq!((group.group_state.as_str(), group.group_epoch, group.assignment_epoch), ("Assigning", 3, 2));
    world.pass(599);
    a.beat(&mut world);
    assert_eq!(world.describe().assignment_epoch, 2);
    world.pass(1);
    settle(&mut world, &mut [&mut a, &mut b]);
    assert_eq!((b.epoch, b.numbers(topic).len()), (3, 1));
    // One group can have its own interval.
    world.configure(|config| {
        let own = GroupOverrides { assignment_interval: Some(Duration::ZERO), ..GroupOverrides::default() };
        config.overrides = Arc::new(HashMap::from([("g".into(), own)]));
    });
    let mut c = Consumer::new("c", &["t"]);
    c.beat(&mut world);
    assert_eq!(c.epoch, 4);
}

#[test]
fn a_group_can_have_its_own_session_and_heartbeat_interval() {
    let mut world = World::new();
    world.configure(|config| {
        let own = GroupOverrides {
            session_timeout: Some(Duration::from_secs(60)),
            heartbeat_interval: Some(Duration::from_secs(7)),
            assignment_interval: None,
        };
        config.overrides = Arc::new(HashMap::from([("g".into(), own)]));
    });
    world.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    let answer = world.heartbeat(a.whole());
    a.take(&answer);
    assert_eq!(answer.heartbeat_interval_ms, 7000);
    world.pass(59_999);
    assert_eq!(world.heartbeat(a.alive()).error_code, ErrorCode::NONE);
    world.pass(60_000);
    assert_eq!(world.heartbeat(a.alive()).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn another_subscription_moves_the_group_on_and_what_is_not_wanted_is_given_up_first() {
    let mut world = World::new();
    let (first, second) = (world.topic("t", 2), world.topic("u", 2));
    let (mut a, mut b) = (Consumer::new("a", &["t", "u"]), Consumer::new("b", &["t", "u"]));
    settle(&mut world, &mut [&mut a, &mut b]);
    a.topics = vec![TopicName::from("u")];
    let told = world.heartbeat(a.whole());
    a.take(&told);
    settle(&mut world, &mut [&mut a, &mut b]);
    assert_eq!((a.numbers(first), b.numbers(first)), (vec![], vec![0, 1]));
    assert_eq!(a.numbers(second).len() + b.numbers(second).len(), 2);
    assert_eq!(world.describe().group_epoch, 4);
}

#[test]
fn topics_that_come_grow_and_go_are_noticed_at_the_next_heartbeat() {
    let mut world = World::new();
    let mut a = Consumer::new("a", &["t", "later"]);
    a.beat(&mut world);
    assert_eq!((a.epoch, a.has.len()), (2, 0));
    let topic = world.topic("t", 1);
    settle(&mut world, &mut [&mut a]);
    assert_eq!((a.epoch, a.numbers(topic)), (3, vec![0]));
    world.grow("t", topic, 3);
    settle(&mut world, &mut [&mut a]);
    assert_eq!((a.epoch, a.numbers(topic)), (4, vec![0, 1, 2]));
    world.topic("other", 5);
    settle(&mut world, &mut [&mut a]);
    assert_eq!(a.epoch, 4, "a topic that nobody wants changes nothing");
    world.delete("t");
    let again = world.topic("t", 2);
    settle(&mut world, &mut [&mut a]);
    assert_eq!((a.numbers(topic), a.numbers(again)), (vec![], vec![0, 1]));
}

#[test]
fn the_assignor_that_most_members_want_is_taken() {
    let mut world = World::new();
    world.topic("t", 2);
    let mut a = Consumer::new("a", &["t"]);
    a.beat(&mut world);
    assert_eq!(world.describe().assignor_name, "uniform");
    let epoch = world.describe().group_epoch;
    let wants = ConsumerGroupHeartbeatRequest { server_assignor: Some("range".into()), ..a.alive() };
    a.take(&world.heartbeat(wants));
    let group = world.describe();
    assert_eq!((group.assignor_name.as_str(), group.group_epoch), ("range", epoch + 1));
}

#[test]
fn an_expression_gets_the_topics_that_match_now_and_later() {
    let mut world = World::new();
    let (first, _) = (world.topic("orders-1", 1), world.topic("other", 1));
    let mut a = Consumer::matching("a", "orders-.*");
    a.beat(&mut world);
    settle(&mut world, &mut [&mut a]);
    assert_eq!((a.numbers(first), a.has.len()), (vec![0], 1));
    let group = world.describe();
    assert_eq!(group.members[0].subscribed_topic_regex.as_deref(), Some("orders-.*"));
    let second = world.topic("orders-2", 1);
    settle(&mut world, &mut [&mut a]);
    assert_eq!(a.has.len(), 1, "topics are looked at every ten seconds at most");
    world.pass(10_001);
    a.beat(&mut world);
    settle(&mut world, &mut [&mut a]);
    assert_eq!((a.numbers(first), a.numbers(second)), (vec![0], vec![0]));
    // Another expression; the old one is removed.
    world.pass(10_001);
    let batches = world.log.len();
    a.regex = Some("other".into());
    a.take(&world.heartbeat(a.whole()));
    settle(&mut world, &mut [&mut a]);
    assert_eq!(a.has.len(), 1);
    assert!(world.types(batches).iter().flatten().any(|kind| *kind == -16));
    let batches = world.log.len();
    world.heartbeat(ConsumerGroupHeartbeatRequest { member_epoch: -1, ..a.alive() });
    assert_eq!(world.types(batches), [vec![-8, -7, -5, -16, 3, 6]]);
}

#[test]
fn a_write_that_fails_is_told_and_changes_nothing() {
    let mut world = World::new();
    let topic = world.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    world.failures.push_back(Some(AppendFailure::Unavailable));
    assert_eq!(world.heartbeat(a.whole()).error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(world.describe().error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    world.failures.extend([None, Some(AppendFailure::NotLeader)]);
    assert_eq!(world.heartbeat(a.whole()).error_code, ErrorCode::NOT_COORDINATOR, "the assignment was lost");
    assert_eq!(world.describe().group_state, "Assigning");
    settle(&mut world, &mut [&mut a]);
    assert_eq!((a.epoch, a.numbers(topic)), (2, vec![0]));
}

#[test]
fn a_silent_member_that_could_not_be_written_off_is_written_off_a_little_later() {
    let mut world = World::new();
    world.topic("t", 1);
    Consumer::new("a", &["t"]).beat(&mut world);
    world.failures.extend([Some(AppendFailure::Unavailable), Some(AppendFailure::Unavailable)]);
    world.pass(45_999);
    assert_eq!(world.describe().members.len(), 1, "45.0 and 45.5 s have failed");
    world.pass(1);
    assert_eq!(world.describe().members.len(), 0);
}

#[test]
fn a_group_lives_on_while_the_pool_is_at_work_and_who_waits_is_answered_in_time() {
    let mut world = World::new();
    let topic = world.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    a.beat(&mut world);
    world.eager = false;
    let joins = world.send(b.whole(), 1);
    assert!(!world.answers.contains_key(&joins));
    assert_eq!(world.heartbeat(a.alive()).member_epoch, 2, "the others need not wait");
    let late = world.send(Consumer::new("c", &["t"]).whole(), 1);
    world.pass(10_000);
    assert_eq!((world.answer(joins).member_epoch, world.answer(late).member_epoch), (2, 2));
    world.compute();
    assert_eq!(world.describe().assignment_epoch, 2, "what comes too late is not taken");
    world.eager = true;
    b.take(&world.answer(joins).clone());
    let mut c = Consumer::new("c", &["t"]);
    c.take(&world.answer(late).clone());
    settle(&mut world, &mut [&mut a, &mut b, &mut c]);
    assert_eq!(a.numbers(topic).len() + b.numbers(topic).len() + c.numbers(topic).len(), 2);
    assert_eq!(world.describe().group_state, "Stable");
}

#[test]
fn who_waits_for_an_assignment_is_answered_when_it_is_fenced_or_the_partition_goes_elsewhere() {
    let mut world = World::new();
    world.topic("t", 2);
    world.eager = false;
    let waits = world.send(Consumer::new("a", &["t"]).whole(), 1);
    let leaves = ConsumerGroupHeartbeatRequest { member_epoch: -1, ..Consumer::new("a", &["t"]).alive() };
    assert_eq!(world.heartbeat(leaves).error_code, ErrorCode::NONE);
    assert_eq!(world.answer(waits).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    let waits = world.send(Consumer::new("b", &["t"]).whole(), 1);
    let elsewhere = std::mem::replace(&mut world.machine, World::new().machine).unload();
    assert_eq!(elsewhere.len(), 1);
    assert_eq!(elsewhere[0].token, waits);
}

#[test]
fn after_a_restart_the_group_is_what_the_log_says_and_members_have_a_whole_session() {
    let mut world = World::new();
    let topic = world.topic("t", 3);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::fixed("b", "one", &["t"]));
    settle(&mut world, &mut [&mut a, &mut b]);
    world.pass(40_000);
    a.beat(&mut world);
    b.beat(&mut world);
    let before = world.describe();
    world.pass(40_000);
    world.restart();
    assert_eq!(world.describe(), before);
    world.pass(40_000);
    assert_eq!(world.heartbeat(a.alive()).error_code, ErrorCode::NONE);
    assert_eq!(world.heartbeat(a.alive()).member_epoch, a.epoch, "a restart moves nobody");
    world.pass(6_000);
    assert_eq!(world.heartbeat(b.alive()).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    settle(&mut world, &mut [&mut a]);
    assert_eq!(a.numbers(topic), [0, 1, 2]);
}
