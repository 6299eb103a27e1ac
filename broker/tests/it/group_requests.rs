//! Group requests as the tests here need them. All speak the newest versions that name topics by name.

use ottla_model::{ErrorCode, Offset};
use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponsePartitions,
};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use ottla_testkit::Connection;

/// Asks until the group has a coordinator that is loaded, as clients do.
pub(crate) fn ready(connection: &mut Connection, group: &str) {
    let find = FindCoordinatorRequest { key: group.into(), ..FindCoordinatorRequest::default() };
    while !connection.call(&find, 0).error_code.is_none() {}
    let is_loading =
        |code| matches!(code, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::NOT_COORDINATOR);
    while is_loading(fetch_group(connection, group, "ready", 0).0) {}
}

/// A member that offers one protocol.
pub(crate) fn join_request(group: &str, member: &str, instance: Option<&str>) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: group.into(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 30_000,
        member_id: member.into(),
        group_instance_id: instance.map(Into::into),
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: format!("of {member}").into_bytes().into(),
        }],
        ..JoinGroupRequest::default()
    }
}

pub(crate) fn join(
    connection: &mut Connection,
    group: &str,
    member: &str,
    instance: Option<&str>,
) -> JoinGroupResponse {
    connection.call(&join_request(group, member, instance), 9)
}

/// Joins without an id, and again with the one that is given.
pub(crate) fn join_anew(connection: &mut Connection, group: &str) -> JoinGroupResponse {
    let first = join(connection, group, "", None);
    assert_eq!(first.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    let joined = join(connection, group, &first.member_id, None);
    assert_eq!((joined.error_code, &joined.member_id), (ErrorCode::NONE, &first.member_id));
    joined
}

pub(crate) fn sync_request(
    group: &str,
    member: &str,
    generation: i32,
    assignments: &[(&str, &'static [u8])],
) -> SyncGroupRequest {
    let assignment = |(member, bytes): &(&str, &'static [u8])| SyncGroupRequestAssignment {
        member_id: (*member).into(),
        assignment: bytes::Bytes::from_static(bytes),
    };
    SyncGroupRequest {
        group_id: group.into(),
        generation_id: generation,
        member_id: member.into(),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("range".into()),
        assignments: assignments.iter().map(assignment).collect(),
        ..SyncGroupRequest::default()
    }
}

pub(crate) fn sync(
    connection: &mut Connection,
    group: &str,
    member: &str,
    generation: i32,
    assignments: &[(&str, &'static [u8])],
) -> SyncGroupResponse {
    connection.call(&sync_request(group, member, generation, assignments), 5)
}

pub(crate) fn heartbeat(
    connection: &mut Connection,
    group: &str,
    member: &str,
    generation: i32,
    instance: Option<&str>,
) -> ErrorCode {
    let request = HeartbeatRequest {
        group_id: group.into(),
        generation_id: generation,
        member_id: member.into(),
        group_instance_id: instance.map(Into::into),
    };
    connection.call(&request, 4).error_code
}

/// Commits an offset of partition 0.
pub(crate) fn commit(
    connection: &mut Connection,
    group: &str,
    member: &str,
    generation: i32,
    topic: &str,
    offset: i64,
) -> ErrorCode {
    let request = OffsetCommitRequest {
        group_id: group.into(),
        generation_id_or_member_epoch: generation,
        member_id: member.into(),
        topics: vec![OffsetCommitRequestTopic {
            name: topic.into(),
            partitions: vec![OffsetCommitRequestPartition {
                partition_index: 0.into(),
                committed_offset: Offset::new(offset),
                committed_metadata: Some("said".into()),
                ..OffsetCommitRequestPartition::default()
            }],
            ..OffsetCommitRequestTopic::default()
        }],
        ..OffsetCommitRequest::default()
    };
    connection.call(&request, 9).topics[0].partitions[0].error_code
}

/// What a group has committed of a partition, behind the error of the group.
pub(crate) fn fetch_group(
    connection: &mut Connection,
    group: &str,
    topic: &str,
    partition: i32,
) -> (ErrorCode, Option<OffsetFetchResponsePartitions>) {
    let request = OffsetFetchRequest {
        groups: vec![OffsetFetchRequestGroup {
            group_id: group.into(),
            topics: Some(vec![OffsetFetchRequestTopics {
                name: topic.into(),
                partition_indexes: vec![partition.into()],
                ..OffsetFetchRequestTopics::default()
            }]),
            ..OffsetFetchRequestGroup::default()
        }],
        ..OffsetFetchRequest::default()
    };
    let answer = connection.call(&request, 9).groups.remove(0);
    let partition = answer.topics.into_iter().next().map(|mut topic| topic.partitions.remove(0));
    (answer.error_code, partition)
}

/// The committed offset of partition 0.
pub(crate) fn committed(connection: &mut Connection, group: &str, topic: &str) -> i64 {
    let (code, partition) = fetch_group(connection, group, topic, 0);
    assert_eq!(code, ErrorCode::NONE);
    partition.unwrap().committed_offset.get()
}
