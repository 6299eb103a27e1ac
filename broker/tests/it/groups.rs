//! Groups as raw frames see them: behaviours 37 to 40 of those that are easily missed, and what goes over several groups.

use std::time::Duration;

use ottla_model::{ErrorCode, Offset};
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::delete_groups::DeleteGroupsRequest;
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::messages::list_groups::ListGroupsRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup};
use ottla_testkit::{Connection, TestBroker};

use crate::group_requests::{
    commit, committed, fetch_group, heartbeat, join, join_anew, join_request, ready, sync,
};
use crate::requests::{create_topic, list_offsets_request};

fn broker() -> TestBroker {
    TestBroker::builder().set("group.initial.rebalance.delay.ms", "0").start()
}

/// A group with one member and its assignment; gives the member's id and the generation.
fn lone_member(connection: &mut Connection, group: &str) -> (String, i32) {
    let joined = join_anew(connection, group);
    let member = joined.member_id.to_string();
    let synced = sync(connection, group, &member, joined.generation_id, &[(&member, b"all")]);
    assert_eq!((synced.error_code, &synced.assignment[..]), (ErrorCode::NONE, &b"all"[..]));
    (member, joined.generation_id)
}

#[test]
fn a_new_member_is_given_an_id_and_the_leader_alone_sees_the_others() {
    let broker = broker();
    let (mut one, mut other) = (broker.connect(), broker.connect());
    ready(&mut one, "g");
    let (leader, generation) = lone_member(&mut one, "g");
    let asked = join(&mut other, "g", "", None);
    assert_eq!(asked.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    assert!(asked.member_id.starts_with("ottla-testkit-"), "{}", asked.member_id);
    assert_eq!((asked.generation_id, asked.members.len()), (-1, 0));

    let number = other.send(&join_request("g", &asked.member_id, None), 9);
    while heartbeat(&mut one, "g", &leader, generation, None) != ErrorCode::REBALANCE_IN_PROGRESS {}
    let led = join(&mut one, "g", &leader, None);
    let followed = other.receive::<JoinGroupRequest>(9, number);
    assert_eq!((led.error_code, followed.error_code), (ErrorCode::NONE, ErrorCode::NONE));
    assert_eq!((led.generation_id, followed.generation_id), (generation + 1, generation + 1));
    assert_eq!((&led.leader, &followed.leader), (&led.member_id, &led.member_id));
    let mut seen: Vec<_> = led.members.iter().map(|member| member.member_id.clone()).collect();
    seen.sort();
    let mut both = vec![led.member_id.clone(), followed.member_id.clone()];
    both.sort();
    assert_eq!(seen, both);
    assert!(followed.members.is_empty());
    // Between join and sync a heartbeat is fine and a commit is not.
    assert_eq!(heartbeat(&mut other, "g", &followed.member_id, generation + 1, None), ErrorCode::NONE);
}

#[test]
fn a_static_member_that_comes_back_causes_no_rebalance_and_its_old_id_is_fenced() {
    let broker = broker();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    let joined = join(&mut connection, "g", "", Some("i1"));
    assert_eq!(joined.error_code, ErrorCode::NONE);
    assert!(joined.member_id.starts_with("i1-"), "{}", joined.member_id);
    let (old, generation) = (joined.member_id.to_string(), joined.generation_id);
    assert_eq!(sync(&mut connection, "g", &old, generation, &[(&old, b"mine")]).error_code, ErrorCode::NONE);

    let again = join(&mut connection, "g", "", Some("i1"));
    assert_eq!((again.error_code, again.generation_id), (ErrorCode::NONE, generation));
    assert!(again.skip_assignment);
    assert_ne!(again.member_id, old);
    let synced = sync(&mut connection, "g", &again.member_id, generation, &[]);
    assert_eq!((synced.error_code, &synced.assignment[..]), (ErrorCode::NONE, &b"mine"[..]));
    assert_eq!(heartbeat(&mut connection, "g", &old, generation, Some("i1")), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(heartbeat(&mut connection, "g", &again.member_id, generation, Some("i1")), ErrorCode::NONE);
}

#[test]
fn whoever_is_no_member_cannot_commit_into_a_live_group_and_nothing_committed_is_minus_one() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    ready(&mut connection, "g");
    let (member, generation) = lone_member(&mut connection, "g");
    assert_eq!(commit(&mut connection, "g", "", -1, "t", 5), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(commit(&mut connection, "g", &member, generation + 1, "t", 5), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(
        commit(&mut connection, "g", &member, generation, "missing", 5),
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
    let (code, nothing) = fetch_group(&mut connection, "g", "t", 0);
    let nothing = nothing.unwrap();
    assert_eq!((code, nothing.error_code), (ErrorCode::NONE, ErrorCode::NONE));
    assert_eq!((nothing.committed_offset, nothing.committed_leader_epoch.get()), (Offset::UNKNOWN, -1));
    assert_eq!(nothing.metadata.as_deref(), Some(""));

    assert_eq!(commit(&mut connection, "g", &member, generation, "t", 5), ErrorCode::NONE);
    let (_, there) = fetch_group(&mut connection, "g", "t", 0);
    let there = there.unwrap();
    assert_eq!((there.committed_offset.get(), there.metadata.as_deref()), (5, Some("said")));
    // Nobody need be a member to keep offsets in a group of one's own.
    ready(&mut connection, "simple");
    assert_eq!(commit(&mut connection, "simple", "", -1, "t", 9), ErrorCode::NONE);
    assert_eq!(committed(&mut connection, "simple", "t"), 9);
}

#[test]
fn the_group_whose_hash_has_no_absolute_value_is_in_partition_0() {
    let broker = broker();
    let mut connection = broker.connect();
    ready(&mut connection, "polygenelubricants");
    create_topic(&mut connection, "t", 1);
    let mut written = |partition| {
        let request = list_offsets_request("__consumer_offsets", partition, -1);
        connection.call(&request, 7).topics[0].partitions[0].offset.get()
    };
    assert!((0..50).all(|partition| written(partition) == 0));
    assert_eq!(commit(&mut connection, "polygenelubricants", "", -1, "t", 3), ErrorCode::NONE);
    assert_eq!(commit(&mut connection, "my-group", "", -1, "t", 3), ErrorCode::NONE);
    let mut written = |partition| {
        let request = list_offsets_request("__consumer_offsets", partition, -1);
        connection.call(&request, 7).topics[0].partitions[0].offset.get()
    };
    let used: Vec<i32> = (0..50).filter(|partition| written(*partition) > 0).collect();
    assert_eq!(used, [0, 12], "as Java reckons them");
}

#[test]
fn while_a_join_waits_the_connections_later_requests_wait_too() {
    let broker = TestBroker::builder().set("group.initial.rebalance.delay.ms", "300").start();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    let member = join(&mut connection, "g", "", None).member_id;
    let joining = connection.send(&join_request("g", &member, None), 9);
    // Were it begun at once, the member would be gone before the round ends.
    let leave = LeaveGroupRequest {
        group_id: "g".into(),
        members: vec![MemberIdentity { member_id: member, ..MemberIdentity::default() }],
        ..LeaveGroupRequest::default()
    };
    let leaving = connection.send(&leave, 5);
    let joined = connection.receive::<JoinGroupRequest>(9, joining);
    assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, 1));
    assert_eq!(connection.receive::<LeaveGroupRequest>(5, leaving).error_code, ErrorCode::NONE);
}

#[test]
fn a_stop_answers_those_who_wait() {
    let broker = TestBroker::builder().set("group.initial.rebalance.delay.ms", "60000").start();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    let member = join(&mut connection, "g", "", None).member_id;
    let joining = connection.send(&join_request("g", &member, None), 9);
    let mut other = broker.connect();
    let described = DescribeGroupsRequest { groups: vec!["g".into()], ..DescribeGroupsRequest::default() };
    while other.call(&described, 5).groups[0].group_state != "PreparingRebalance" {}
    drop(broker);
    assert_eq!(connection.receive::<JoinGroupRequest>(9, joining).error_code, ErrorCode::NOT_COORDINATOR);
}

#[test]
fn groups_of_all_partitions_are_listed_described_and_deleted_together() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let names = ["a", "b", "c", "d"];
    for name in names {
        ready(&mut connection, name);
        assert_eq!(commit(&mut connection, name, "", -1, "t", 1), ErrorCode::NONE);
    }
    let (member, _) = lone_member(&mut connection, "d");
    let listed = connection.call(&ListGroupsRequest::default(), 5);
    assert_eq!(listed.error_code, ErrorCode::NONE);
    let mut found: Vec<_> =
        listed.groups.iter().map(|group| (group.group_id.as_str(), group.group_state.as_str())).collect();
    found.sort_unstable();
    assert_eq!(found, [("a", "Empty"), ("b", "Empty"), ("c", "Empty"), ("d", "Stable")]);
    assert!(listed.groups.iter().all(|group| group.group_type == "classic"), "as Kafka spells it");
    let stable = ListGroupsRequest { states_filter: vec!["Stable".into()], ..ListGroupsRequest::default() };
    assert_eq!(connection.call(&stable, 5).groups.len(), 1);

    let described = DescribeGroupsRequest {
        groups: ["d", "none", "a"].map(Into::into).to_vec(),
        include_authorized_operations: true,
    };
    let described = connection.call(&described, 5).groups;
    let states: Vec<_> = described.iter().map(|group| group.group_state.as_str()).collect();
    assert_eq!(states, ["Stable", "Dead", "Empty"]);
    assert_eq!(described[0].members[0].member_id, member);
    assert_eq!(described[0].members[0].client_host, "/127.0.0.1");
    assert_eq!(described[0].authorized_operations, 3400);

    let groups_names = ["a", "d", "none"].map(Into::into).to_vec();
    let deleted = connection.call(&DeleteGroupsRequest { groups_names }, 2).results;
    let codes: Vec<_> = deleted.iter().map(|group| group.error_code).collect();
    assert_eq!(codes, [ErrorCode::NONE, ErrorCode::NON_EMPTY_GROUP, ErrorCode::GROUP_ID_NOT_FOUND]);
    assert_eq!(committed(&mut connection, "a", "t"), -1);
    assert_eq!(committed(&mut connection, "b", "t"), 1);
}

#[test]
fn offsets_are_fetched_of_several_groups_and_of_all_topics() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    create_topic(&mut connection, "u", 1);
    for (group, topic, offset) in [("a", "t", 1), ("a", "u", 2), ("b", "t", 3)] {
        ready(&mut connection, group);
        assert_eq!(commit(&mut connection, group, "", -1, topic, offset), ErrorCode::NONE);
    }
    let group = |name: &str| OffsetFetchRequestGroup {
        group_id: name.into(),
        topics: None,
        ..OffsetFetchRequestGroup::default()
    };
    let request = OffsetFetchRequest {
        groups: ["b", "a", "none"].map(group).to_vec(),
        ..OffsetFetchRequest::default()
    };
    let answer = connection.call(&request, 8);
    let told: Vec<_> = answer
        .groups
        .iter()
        .map(|group| {
            let offset = |topic: &ottla_protocol::messages::offset_fetch::OffsetFetchResponseTopics| {
                (topic.name.to_string(), topic.partitions[0].committed_offset.get())
            };
            let mut topics: Vec<_> = group.topics.iter().map(offset).collect();
            topics.sort();
            (group.group_id.to_string(), topics)
        })
        .collect();
    let topics = |pairs: &[(&str, i64)]| pairs.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect();
    assert_eq!(
        told,
        [
            ("b".to_owned(), topics(&[("t", 3)])),
            ("a".to_owned(), topics(&[("t", 1), ("u", 2)])),
            ("none".to_owned(), Vec::new())
        ]
    );
    // By id, and the same by the shape of one group.
    let by_id = connection.call(&request, 10);
    assert!(by_id.groups[1].topics.iter().all(|topic| !topic.topic_id.is_zero()));
    let alone = OffsetFetchRequest { group_id: "b".into(), topics: None, ..OffsetFetchRequest::default() };
    assert_eq!(connection.call(&alone, 7).topics[0].partitions[0].committed_offset.get(), 3);
}

#[test]
fn a_deleted_topics_offsets_are_gone_and_offsets_can_be_deleted_by_hand() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    create_topic(&mut connection, "u", 1);
    ready(&mut connection, "g");
    for topic in ["t", "u"] {
        assert_eq!(commit(&mut connection, "g", "", -1, topic, 4), ErrorCode::NONE);
    }
    let request = OffsetDeleteRequest {
        group_id: "g".into(),
        topics: vec![OffsetDeleteRequestTopic {
            name: "u".into(),
            partitions: [0, 7]
                .map(|index| OffsetDeleteRequestPartition { partition_index: index.into() })
                .to_vec(),
        }],
    };
    let deleted = connection.call(&request, 0);
    assert_eq!(deleted.error_code, ErrorCode::NONE);
    let mut codes: Vec<_> = deleted.topics[0]
        .partitions
        .iter()
        .map(|partition| (partition.partition_index.get(), partition.error_code))
        .collect();
    codes.sort();
    assert_eq!(codes, [(0, ErrorCode::NONE), (7, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)]);
    assert_eq!(committed(&mut connection, "g", "u"), -1);
    for (group, code) in
        [("", ErrorCode::INVALID_GROUP_ID), ("none", ErrorCode::GROUP_ID_NOT_FOUND), ("g", ErrorCode::NONE)]
    {
        let nothing = OffsetDeleteRequest { group_id: group.into(), topics: Vec::new() };
        assert_eq!(connection.call(&nothing, 0).error_code, code);
    }

    let delete = ottla_protocol::messages::delete_topics::DeleteTopicsRequest {
        topic_names: vec!["t".into()],
        ..Default::default()
    };
    assert_eq!(connection.call(&delete, 5).responses[0].error_code, ErrorCode::NONE);
    while committed(&mut connection, "g", "t") != -1 {}
}

#[test]
fn before_the_topic_of_groups_exists_there_is_no_coordinator_here() {
    let broker = broker();
    let mut connection = broker.connect();
    assert_eq!(join(&mut connection, "g", "", None).error_code, ErrorCode::NOT_COORDINATOR);
    assert_eq!(heartbeat(&mut connection, "g", "m", 1, None), ErrorCode::NOT_COORDINATOR);
    assert_eq!(fetch_group(&mut connection, "g", "t", 0).0, ErrorCode::NOT_COORDINATOR);
    assert!(connection.call(&ListGroupsRequest::default(), 5).groups.is_empty());
    connection.expect_silence(Duration::from_millis(1));
    let all = MetadataRequest { topics: None, ..MetadataRequest::default() };
    assert!(connection.call(&all, 9).topics.is_empty(), "asking created nothing");
}

#[test]
fn a_member_of_the_newer_protocol_is_assigned_all_there_is() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 3);
    ready(&mut connection, "g");
    let heartbeat = |epoch, joining: bool| ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
        member_epoch: epoch,
        rebalance_timeout_ms: if joining { 30_000 } else { -1 },
        subscribed_topic_names: joining.then(|| vec!["t".into()]),
        topic_partitions: joining.then(Vec::new),
        ..ConsumerGroupHeartbeatRequest::default()
    };
    let mut answer = connection.call(&heartbeat(0, true), 1);
    assert_eq!(answer.error_code, ErrorCode::NONE, "{:?}", answer.error_message);
    let assigned = loop {
        let partitions = answer.assignment.iter().flat_map(|assignment| &assignment.topic_partitions);
        let mut partitions: Vec<i32> =
            partitions.flat_map(|topic| topic.partitions.iter().map(|index| index.get())).collect();
        if !partitions.is_empty() {
            partitions.sort_unstable();
            break partitions;
        }
        answer = connection.call(&heartbeat(answer.member_epoch, false), 1);
        assert_eq!(answer.error_code, ErrorCode::NONE, "{:?}", answer.error_message);
    };
    assert_eq!(assigned, [0, 1, 2]);
    assert_eq!(answer.heartbeat_interval_ms, 5000);
}

#[test]
fn the_newer_protocol_can_be_switched_off() {
    let broker = TestBroker::builder().set("group.coordinator.rebalance.protocols", "classic").start();
    let mut connection = broker.connect();
    let request =
        ConsumerGroupHeartbeatRequest { group_id: "g".into(), ..ConsumerGroupHeartbeatRequest::default() };
    assert_eq!(connection.call(&request, 1).error_code, ErrorCode::UNSUPPORTED_VERSION);
}
