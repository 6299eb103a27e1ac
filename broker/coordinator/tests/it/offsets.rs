//! Committed offsets: who may commit, what comes back, what is deleted, what grows old, what a transaction holds back.

use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use ottla_coordinator::{AppendFailure, Event, Reply};
use ottla_model::{
    ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName, Uuid,
};
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use crate::host::{GROUP, Host, Join, client, defaults};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn quick() -> Host {
    let mut config = defaults();
    config.classic.initial_rebalance_delay = Duration::ZERO;
    Host::new(config)
}

/// A commit; the defaults are from outside a group.
#[derive(Clone)]
struct Commit<'a> {
    version: i16,
    member: &'a str,
    generation: i32,
    topic: &'a str,
    id: Uuid,
    offset: i64,
    metadata: Option<&'a str>,
    retention_ms: i64,
}

const SIMPLE: Commit<'_> = Commit {
    version: 9,
    member: "",
    generation: -1,
    topic: "t",
    id: Uuid::ZERO,
    offset: 1,
    metadata: Some("m"),
    retention_ms: -1,
};

fn commit(host: &mut Host, commit: &Commit<'_>) -> ErrorCode {
    commit_to(host, GROUP, commit)
}

fn commit_to(host: &mut Host, group: &str, commit: &Commit<'_>) -> ErrorCode {
    let request = OffsetCommitRequest {
        group_id: group.into(),
        generation_id_or_member_epoch: commit.generation,
        member_id: commit.member.into(),
        group_instance_id: None,
        retention_time_ms: commit.retention_ms,
        topics: vec![OffsetCommitRequestTopic {
            name: commit.topic.into(),
            topic_id: commit.id,
            partitions: vec![OffsetCommitRequestPartition {
                partition_index: PartitionIndex::new(0),
                committed_offset: Offset::new(commit.offset),
                committed_leader_epoch: LeaderEpoch::new(3),
                committed_metadata: commit.metadata.map(CompactString::from),
            }],
        }],
    };
    match host.ask(Event::OffsetCommit { client: client(commit.version), request }) {
        Reply::OffsetCommit(response) => response.topics[0].partitions[0].error_code,
        other => panic!("an answer to OffsetCommit, not {other:?}"),
    }
}

/// The offset, its metadata and its error.
fn fetch(host: &mut Host, topic: &str, id: Uuid, require_stable: bool) -> (i64, CompactString, ErrorCode) {
    let topics = vec![OffsetFetchRequestTopics {
        name: topic.into(),
        topic_id: id,
        partition_indexes: vec![PartitionIndex::new(0)],
    }];
    let request = OffsetFetchRequestGroup {
        group_id: GROUP.into(),
        member_id: None,
        member_epoch: -1,
        topics: Some(topics),
    };
    match host.ask(Event::OffsetFetch { client: client(8), request, require_stable }) {
        Reply::OffsetFetch(group) => {
            assert!(group.error_code.is_none());
            let partition = &group.topics[0].partitions[0];
            let metadata = partition.metadata.clone().expect("never null: some clients cannot read that");
            (partition.committed_offset.get(), metadata, partition.error_code)
        }
        other => panic!("an answer to OffsetFetch, not {other:?}"),
    }
}

fn offset(host: &mut Host, topic: &str) -> i64 {
    fetch(host, topic, Uuid::ZERO, false).0
}

fn all(host: &mut Host) -> Vec<(String, i64)> {
    let request =
        OffsetFetchRequestGroup { group_id: GROUP.into(), member_id: None, member_epoch: -1, topics: None };
    match host.ask(Event::OffsetFetch { client: client(8), request, require_stable: false }) {
        Reply::OffsetFetch(group) => group
            .topics
            .iter()
            .map(|topic| (topic.name.to_string(), topic.partitions[0].committed_offset.get()))
            .collect(),
        other => panic!("an answer to OffsetFetch, not {other:?}"),
    }
}

fn delete(host: &mut Host, topic: &str) -> (ErrorCode, Option<ErrorCode>) {
    let request = OffsetDeleteRequest {
        group_id: GROUP.into(),
        topics: vec![OffsetDeleteRequestTopic {
            name: topic.into(),
            partitions: vec![OffsetDeleteRequestPartition { partition_index: PartitionIndex::new(0) }],
        }],
    };
    match host.ask(Event::OffsetDelete { request }) {
        Reply::OffsetDelete(response) => {
            let partition = response.topics.first().map(|topic| topic.partitions[0].error_code);
            (response.error_code, partition)
        }
        other => panic!("an answer to OffsetDelete, not {other:?}"),
    }
}

fn delete_group(host: &mut Host) -> ErrorCode {
    match host.ask(Event::DeleteGroups { groups: vec![GROUP.into()] }) {
        Reply::DeleteGroups(results) => results[0].error_code,
        other => panic!("an answer to DeleteGroups, not {other:?}"),
    }
}

fn commit_in_transaction(host: &mut Host, producer: i64, offset: i64) -> ErrorCode {
    let request = TxnOffsetCommitRequest {
        transactional_id: "tx".into(),
        group_id: GROUP.into(),
        producer_id: ProducerId::new(producer),
        producer_epoch: ProducerEpoch::new(0),
        generation_id_or_member_epoch: -1,
        member_id: CompactString::default(),
        group_instance_id: None,
        topics: vec![TxnOffsetCommitRequestTopic {
            name: "t".into(),
            topic_id: Uuid::ZERO,
            partitions: vec![TxnOffsetCommitRequestPartition {
                partition_index: PartitionIndex::new(0),
                committed_offset: Offset::new(offset),
                committed_leader_epoch: LeaderEpoch::UNKNOWN,
                committed_metadata: None,
            }],
        }],
    };
    match host.ask(Event::TxnOffsetCommit { client: client(3), request }) {
        Reply::TxnOffsetCommit(response) => response.topics[0].partitions[0].error_code,
        other => panic!("an answer to TxnOffsetCommit, not {other:?}"),
    }
}

fn end(host: &mut Host, producer: i64, committed: bool) {
    let reply = host.ask(Event::EndTransaction {
        producer_id: ProducerId::new(producer),
        producer_epoch: ProducerEpoch::new(0),
        coordinator_epoch: 0,
        committed,
        epoch_raised: false,
    });
    assert_eq!(reply, Reply::EndTransaction(ErrorCode::NONE));
}

#[test]
fn metadata_comes_back_byte_for_byte_and_null_as_empty_after_a_restart_too() {
    let mut host = quick();
    let long = "й".repeat(4096);
    for version in 2..=10 {
        for (metadata, back) in
            [(Some(""), ""), (None, ""), (Some("a\0b"), "a\0b"), (Some(long.as_str()), long.as_str())]
        {
            assert!(commit(&mut host, &Commit { version, metadata, ..SIMPLE }).is_none());
            host.restart();
            let (offset, found, error) = fetch(&mut host, "t", Uuid::ZERO, false);
            assert_eq!((offset, found.as_str(), error), (1, back, ErrorCode::NONE));
        }
    }
}

#[test]
fn what_was_never_committed_is_minus_one_with_empty_metadata_and_no_error() {
    let mut host = quick();
    assert_eq!(fetch(&mut host, "t", Uuid::ZERO, true), (-1, CompactString::default(), ErrorCode::NONE));
    assert_eq!(all(&mut host), []);
    commit(&mut host, &SIMPLE);
    assert_eq!(fetch(&mut host, "other", Uuid::ZERO, true), (-1, CompactString::default(), ErrorCode::NONE));
    assert_eq!(all(&mut host), [("t".to_owned(), 1)]);
}

#[test]
fn metadata_that_is_too_long_is_refused_for_its_partition_alone() {
    let mut host = quick();
    let long = "x".repeat(4097);
    assert_eq!(
        commit(&mut host, &Commit { metadata: Some(&long), ..SIMPLE }),
        ErrorCode::OFFSET_METADATA_TOO_LARGE
    );
    assert!(host.log.is_empty());
}

#[test]
fn a_commit_from_outside_goes_only_into_a_group_without_members() {
    let mut host = quick();
    assert_eq!(commit(&mut host, &SIMPLE), ErrorCode::NONE, "it makes the group");
    assert_eq!(host.state(), "Empty");
    let (ids, generation) = host.stable(1);
    assert_eq!(commit(&mut host, &SIMPLE), ErrorCode::UNKNOWN_MEMBER_ID);
    host.leave(&[(&ids[0], None)]);
    assert_eq!(commit(&mut host, &Commit { offset: 7, ..SIMPLE }), ErrorCode::NONE);
    let stale = Commit { member: &ids[0], generation, ..SIMPLE };
    assert_eq!(commit(&mut host, &stale), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_commit_of_a_generation_that_is_not_the_groups_is_refused() {
    let mut host = quick();
    let absent = Commit { member: "m", generation: 1, ..SIMPLE };
    assert_eq!(commit(&mut host, &Commit { version: 8, ..absent.clone() }), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(commit(&mut host, &Commit { version: 9, ..absent }), ErrorCode::GROUP_ID_NOT_FOUND);
    let (ids, generation) = host.stable(1);
    let member = Commit { member: &ids[0], generation, ..SIMPLE };
    assert_eq!(commit(&mut host, &member), ErrorCode::NONE);
    assert_eq!(
        commit(&mut host, &Commit { generation: generation + 1, ..member.clone() }),
        ErrorCode::ILLEGAL_GENERATION
    );
    assert_eq!(
        commit(&mut host, &Commit { member: "other", ..member.clone() }),
        ErrorCode::UNKNOWN_MEMBER_ID
    );
    let (_, newcomer) = host.join_anew();
    assert_eq!(commit(&mut host, &member), ErrorCode::NONE, "while a round is prepared");
    let rejoined = host.join(Join { member: ids[0].clone(), ..Join::new() });
    assert!(!host.waits(newcomer) && !host.waits(rejoined));
    let completing = Commit { generation: generation + 1, ..member };
    assert_eq!(commit(&mut host, &completing), ErrorCode::REBALANCE_IN_PROGRESS);
}

#[test]
fn a_commit_counts_as_a_heartbeat() {
    let mut host = quick();
    let (ids, generation) = host.stable(1);
    for _ in 0..4 {
        host.advance(9_999);
        assert_eq!(commit(&mut host, &Commit { member: &ids[0], generation, ..SIMPLE }), ErrorCode::NONE);
    }
}

#[test]
fn a_commit_that_could_not_be_written_is_told_and_never_seen() {
    let mut host = quick();
    commit(&mut host, &SIMPLE);
    for (failure, error) in [
        (AppendFailure::Unavailable, ErrorCode::COORDINATOR_NOT_AVAILABLE),
        (AppendFailure::NotLeader, ErrorCode::NOT_COORDINATOR),
        (AppendFailure::TooLarge, ErrorCode::UNKNOWN_SERVER_ERROR),
    ] {
        host.failure = Some(failure);
        assert_eq!(commit(&mut host, &Commit { offset: 9, ..SIMPLE }), error);
    }
    assert_eq!(offset(&mut host, "t"), 1);
}

#[test]
fn what_was_committed_of_another_topic_of_the_name_is_nothing_of_this_one() {
    let mut host = quick();
    let (old, new) = (Uuid::from_bytes([1; 16]), Uuid::from_bytes([2; 16]));
    commit(&mut host, &Commit { id: old, ..SIMPLE });
    host.restart();
    assert_eq!(fetch(&mut host, "t", old, false).0, 1);
    assert_eq!(fetch(&mut host, "t", Uuid::ZERO, false).0, 1, "an old client knows no ids");
    assert_eq!(fetch(&mut host, "t", new, false).0, -1);
}

#[test]
fn offsets_are_deleted_unless_somebody_subscribes_to_the_topic_or_may_do_so() {
    let mut host = quick();
    assert_eq!(delete(&mut host, "t"), (ErrorCode::GROUP_ID_NOT_FOUND, None));
    commit(&mut host, &SIMPLE);
    assert_eq!(delete(&mut host, "t"), (ErrorCode::NONE, Some(ErrorCode::NONE)));
    assert_eq!(
        delete(&mut host, "t"),
        (ErrorCode::NONE, Some(ErrorCode::NONE)),
        "what is not there is deleted"
    );
    assert_eq!(offset(&mut host, "t"), -1);

    let consumer = Join { version: 3, protocols: vec![("range", TO_T)], ..Join::new() };
    let token = host.join(consumer);
    host.advance(0);
    let id = host.joined(token).member_id;
    assert_eq!(delete(&mut host, "t"), (ErrorCode::NONE, Some(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC)));
    assert_eq!(delete(&mut host, "u"), (ErrorCode::NONE, Some(ErrorCode::NONE)));
    host.leave(&[(&id, None)]);
    let connect = Join { version: 3, kind: "connect".into(), ..Join::new() };
    host.join(connect);
    host.advance(0);
    assert_eq!(delete(&mut host, "u"), (ErrorCode::NON_EMPTY_GROUP, None));
}

#[test]
fn a_group_is_deleted_with_its_offsets_and_only_without_members() {
    let mut host = quick();
    assert_eq!(delete_group(&mut host), ErrorCode::GROUP_ID_NOT_FOUND);
    commit(&mut host, &SIMPLE);
    let (ids, _) = host.stable(1);
    assert_eq!(delete_group(&mut host), ErrorCode::NON_EMPTY_GROUP);
    host.leave(&[(&ids[0], None)]);
    assert_eq!(delete_group(&mut host), ErrorCode::NONE);
    assert_eq!((host.state(), offset(&mut host, "t")), ("Dead", -1));
    commit(&mut host, &SIMPLE);
    let Reply::DeleteGroups(twice) =
        host.ask(Event::DeleteGroups { groups: vec![GROUP.into(), GROUP.into()] })
    else {
        panic!("an answer to DeleteGroups")
    };
    assert_eq!(twice.len(), 1);
    host.restart();
    assert_eq!((host.state(), offset(&mut host, "t")), ("Dead", -1));
}

#[test]
fn an_offset_committed_from_outside_is_kept_for_the_retention_from_its_commit() {
    let mut host = quick();
    commit(&mut host, &SIMPLE);
    host.advance(6 * DAY_MS);
    commit(&mut host, &Commit { topic: "u", ..SIMPLE });
    host.advance(DAY_MS - 700_000);
    assert_eq!(offset(&mut host, "t"), 1);
    host.restart();
    host.advance(1_400_000);
    assert_eq!((offset(&mut host, "t"), offset(&mut host, "u")), (-1, 1));
    host.advance(7 * DAY_MS);
    assert_eq!((offset(&mut host, "u"), host.state()), (-1, "Dead"), "with the last offset the group goes");
}

#[test]
fn an_empty_group_keeps_its_offsets_for_the_retention_from_when_it_became_empty() {
    let mut host = quick();
    let (ids, generation) = host.stable(1);
    commit(&mut host, &Commit { member: &ids[0], generation, ..SIMPLE });
    for _ in 0..8 * 24 * 450 {
        host.advance(8_000);
        host.heartbeat(&ids[0], None, generation);
    }
    assert_eq!(offset(&mut host, "t"), 1, "eight days after the commit, of a group that lives");
    host.leave(&[(&ids[0], None)]);
    host.restart();
    host.advance(7 * DAY_MS - 1);
    assert_eq!(offset(&mut host, "t"), 1);
    host.advance(600_001);
    assert_eq!((offset(&mut host, "t"), host.state()), (-1, "Dead"));
}

/// A subscription of version 0 to the topic t alone.
const TO_T: &str = "\0\0\0\0\0\x01\0\x01t\0\0\0\0";

#[test]
fn a_group_that_consumes_keeps_what_it_subscribes_to_and_the_rest_grows_old() {
    let mut host = quick();
    let join = Join { session_ms: 1_800_000, protocols: vec![("range", TO_T)], version: 3, ..Join::new() };
    let token = host.join(join);
    host.advance(0);
    let id = host.joined(token).member_id;
    host.sync_all(std::slice::from_ref(&id), &id, 1);
    for topic in ["t", "left"] {
        commit(&mut host, &Commit { member: &id, generation: 1, topic, ..SIMPLE });
    }
    for day in 1..=20 {
        for _ in 0..49 {
            host.advance(DAY_MS / 49);
            host.heartbeat(&id, None, 1);
        }
        if day == 3 {
            host.restart();
        }
        // On the seventh it depends on when it was last looked.
        if day != 7 {
            assert_eq!(offset(&mut host, "left"), if day < 7 { 1 } else { -1 }, "day {day}");
        }
    }
    assert_eq!(offset(&mut host, "t"), 1);
}

#[test]
fn a_group_that_is_between_rounds_forgets_nothing() {
    let mut host = quick();
    let join = Join {
        session_ms: 1_800_000,
        rebalance_ms: i32::MAX,
        protocols: vec![("range", TO_T)],
        ..Join::new()
    };
    let token = host.join(Join { version: 3, ..join.clone() });
    host.advance(0);
    let id = host.joined(token).member_id;
    host.sync_all(std::slice::from_ref(&id), &id, 1);
    commit(&mut host, &Commit { member: &id, generation: 1, topic: "left", ..SIMPLE });
    let token = host.join(Join { member: id.clone(), ..join });
    assert_eq!(host.joined(token).generation_id, 2);
    for _ in 0..8 * 49 {
        host.advance(DAY_MS / 49);
        assert_eq!(host.heartbeat(&id, None, 2), ErrorCode::NONE);
    }
    assert_eq!((host.state(), offset(&mut host, "left")), ("CompletingRebalance", 1));
}

#[test]
fn an_old_clients_retention_is_its_offsets_own() {
    let mut host = quick();
    commit(&mut host, &Commit { version: 2, retention_ms: 60_000, ..SIMPLE });
    commit(&mut host, &Commit { version: 2, topic: "u", ..SIMPLE });
    host.restart();
    host.advance(599_999);
    assert_eq!(offset(&mut host, "t"), 1, "only every ten minutes is looked");
    host.advance(1);
    assert_eq!((offset(&mut host, "t"), offset(&mut host, "u")), (-1, 1));
}

#[test]
fn a_large_retention_never_expires_at_once() {
    let mut config = defaults();
    config.offsets.retention = Duration::from_secs(u64::MAX);
    let mut host = Host::new(config);
    commit(&mut host, &SIMPLE);
    host.advance(400 * DAY_MS);
    assert_eq!(offset(&mut host, "t"), 1);
}

#[test]
fn more_offsets_than_one_batch_holds_expire_in_several() {
    let mut host = quick();
    let name = |number: usize| format!("{}{number}", "t".repeat(200));
    for number in 0..2_500 {
        commit(&mut host, &Commit { topic: &name(number), ..SIMPLE });
    }
    let before = host.log.len();
    host.advance(8 * DAY_MS);
    assert_eq!((host.state(), host.log.len() - before), ("Dead", 2_501));
    assert_eq!(host.machine.offset_count(), 0);
}

#[test]
fn groups_whose_names_fill_more_than_one_batch_expire_in_several() {
    let mut host = quick();
    for number in 0..60 {
        assert!(commit_to(&mut host, &format!("{}{number}", "g".repeat(30_000)), &SIMPLE).is_none());
    }
    host.advance(8 * DAY_MS);
    assert_eq!((host.machine.groups().count(), host.machine.offset_count()), (0, 0));
}

#[test]
fn offsets_go_with_their_topic_and_the_group_stays() {
    let mut host = quick();
    for topic in ["t", "u"] {
        commit(&mut host, &Commit { topic, ..SIMPLE });
    }
    commit_in_transaction(&mut host, 5, 3);
    host.send(Event::TopicsDeleted { topics: Arc::new([TopicName::from("t")]) });
    assert_eq!((offset(&mut host, "t"), offset(&mut host, "u")), (-1, 1));
    end(&mut host, 5, true);
    assert_eq!((offset(&mut host, "t"), host.state()), (-1, "Empty"), "the pending one is gone too");
}

#[test]
fn what_a_transaction_commits_counts_when_it_ends_and_not_if_it_is_aborted() {
    let mut host = quick();
    commit(&mut host, &SIMPLE);
    assert!(commit_in_transaction(&mut host, 5, 10).is_none());
    for _ in 0..2 {
        assert_eq!(offset(&mut host, "t"), 1);
        let unstable = fetch(&mut host, "t", Uuid::ZERO, true);
        assert_eq!(unstable, (-1, CompactString::default(), ErrorCode::UNSTABLE_OFFSET_COMMIT));
        host.restart();
    }
    end(&mut host, 5, false);
    assert_eq!(fetch(&mut host, "t", Uuid::ZERO, true).0, 1);
    assert!(commit_in_transaction(&mut host, 5, 20).is_none());
    end(&mut host, 5, true);
    for _ in 0..2 {
        assert_eq!(fetch(&mut host, "t", Uuid::ZERO, true).0, 20);
        host.restart();
    }
}

#[test]
fn of_two_commits_the_one_written_later_counts_whenever_the_transaction_ends() {
    let mut host = quick();
    commit_in_transaction(&mut host, 5, 10);
    commit(&mut host, &Commit { offset: 30, ..SIMPLE });
    end(&mut host, 5, true);
    assert_eq!(offset(&mut host, "t"), 30);
    host.restart();
    assert_eq!(offset(&mut host, "t"), 30);
}

#[test]
fn a_group_with_an_open_transaction_does_not_expire() {
    let mut host = quick();
    commit_in_transaction(&mut host, 5, 10);
    host.advance(30 * DAY_MS);
    assert_eq!(host.state(), "Empty");
    end(&mut host, 5, false);
    host.advance(DAY_MS);
    assert_eq!(host.state(), "Dead");
}

#[test]
fn groups_are_listed_by_state_and_type_in_any_case() {
    let mut host = quick();
    host.stable(1);
    let id = GroupId::from(GROUP);
    for (states, types, found) in [
        (vec![], vec![], true),
        (vec!["stable"], vec!["CLASSIC"], true),
        (vec!["Empty", "Stable"], vec![], true),
        (vec!["Empty"], vec![], false),
        (vec![], vec!["consumer"], false),
        (vec!["nonsense"], vec![], false),
    ] {
        let list = Event::ListGroups {
            states: states.iter().map(|state| CompactString::from(*state)).collect(),
            types: types.iter().map(|kind| CompactString::from(*kind)).collect(),
        };
        let Reply::ListGroups(Ok(groups)) = host.ask(list) else { panic!("groups") };
        assert_eq!(groups.iter().any(|group| group.group_id == id), found, "{states:?} {types:?}");
    }
}
