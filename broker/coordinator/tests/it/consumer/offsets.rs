//! What a consumer group says to commits and fetches of offsets.

use ottla_coordinator::{Client, Event, Reply};
use ottla_model::{ErrorCode, LeaderEpoch, Offset, PartitionIndex, Uuid};
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_fetch::OffsetFetchRequestGroup;

use super::world::{Consumer, GROUP, World, settle};

fn commit(world: &mut World, member: &str, epoch: i32, topic: Uuid, number: i32, version: i16) -> ErrorCode {
    let partition = OffsetCommitRequestPartition {
        partition_index: PartitionIndex::new(number),
        committed_offset: Offset::new(7),
        committed_leader_epoch: LeaderEpoch::UNKNOWN,
        committed_metadata: None,
    };
    let request = OffsetCommitRequest {
        group_id: GROUP.into(),
        generation_id_or_member_epoch: epoch,
        member_id: member.into(),
        group_instance_id: None,
        retention_time_ms: -1,
        topics: vec![OffsetCommitRequestTopic {
            name: "t".into(),
            topic_id: topic,
            partitions: vec![partition],
        }],
    };
    let token = world.event(Event::OffsetCommit { client: Client { version, ..Client::default() }, request });
    match world.answers.get(&token) {
        Some((Reply::OffsetCommit(response), _)) => response.topics[0].partitions[0].error_code,
        other => panic!("{other:?}"),
    }
}

fn fetch(world: &mut World, member: Option<&str>, epoch: i32) -> ErrorCode {
    let request = OffsetFetchRequestGroup {
        group_id: GROUP.into(),
        member_id: member.map(Into::into),
        member_epoch: epoch,
        topics: None,
    };
    let client = Client { version: 9, ..Client::default() };
    let token = world.event(Event::OffsetFetch { client, request, require_stable: false });
    match world.answers.get(&token) {
        Some((Reply::OffsetFetch(response), _)) => response.error_code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn commits_and_fetches_are_of_members_at_their_epoch_or_of_what_they_had_before_it() {
    let mut world = World::new();
    let topic = world.topic("t", 4);
    let mut a = Consumer::new("a", &["t"]);
    a.beat(&mut world);
    assert_eq!(commit(&mut world, "a", 2, topic, 0, 9), ErrorCode::NONE);
    assert_eq!(commit(&mut world, "a", 2, topic, 0, 8), ErrorCode::UNSUPPORTED_VERSION);
    assert_eq!(commit(&mut world, "a", 3, topic, 0, 9), ErrorCode::STALE_MEMBER_EPOCH);
    assert_eq!(commit(&mut world, "x", 2, topic, 0, 9), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(commit(&mut world, "", -1, topic, 0, 9), ErrorCode::UNKNOWN_MEMBER_ID, "a live group");
    let mut b = Consumer::new("b", &["t"]);
    settle(&mut world, &mut [&mut a, &mut b]);
    assert_eq!((a.epoch, b.epoch), (3, 3));
    let (kept, given) = (a.numbers(topic)[0], b.numbers(topic)[0]);
    assert_eq!(commit(&mut world, "a", 2, topic, kept, 9), ErrorCode::NONE, "it had that at epoch 2 already");
    assert_eq!(commit(&mut world, "a", 2, topic, given, 9), ErrorCode::STALE_MEMBER_EPOCH, "another has it");
    assert_eq!(
        commit(&mut world, "b", 2, topic, given, 9),
        ErrorCode::STALE_MEMBER_EPOCH,
        "given at epoch 3"
    );
    assert_eq!(fetch(&mut world, Some("a"), 3), ErrorCode::NONE);
    assert_eq!(fetch(&mut world, Some("a"), 2), ErrorCode::STALE_MEMBER_EPOCH);
    assert_eq!(fetch(&mut world, Some("a"), 4), ErrorCode::STALE_MEMBER_EPOCH);
    assert_eq!(fetch(&mut world, Some("x"), 3), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(fetch(&mut world, None, -1), ErrorCode::NONE);
}
