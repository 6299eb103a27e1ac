//! Committed offsets in every version of the requests, and what a group sets for itself.

use ottla_model::{ErrorCode, LeaderEpoch, Offset};
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use ottla_testkit::{Connection, TestBroker};

use crate::group_requests::ready;
use crate::requests::create_topic;

const PARTITIONS: i32 = 5;
/// The first version of OffsetFetch that asks for groups, and of both requests that names topics by id.
const GROUPS_SINCE: i16 = 8;
const IDS_SINCE: i16 = 10;

/// What partition 0, 1, … is committed with, and what comes back; the last one is never committed.
fn metadata() -> [(Option<String>, String); 4] {
    let long = "å".repeat(4096);
    let kept = |text: &str| (Some(text.to_owned()), text.to_owned());
    [kept(""), (None, String::new()), kept("a\0b"), kept(&long)]
}

/// Offset, leader epoch, metadata and error of each partition.
type Fetched = Vec<(i64, i32, Option<String>, ErrorCode)>;

fn fetch(connection: &mut Connection, id: ottla_model::Uuid, version: i16) -> Fetched {
    let indexes: Vec<_> = (0..PARTITIONS).map(Into::into).collect();
    if version < GROUPS_SINCE {
        let topic = OffsetFetchRequestTopic { name: "t".into(), partition_indexes: indexes };
        let request = OffsetFetchRequest {
            group_id: "g".into(),
            topics: Some(vec![topic]),
            ..OffsetFetchRequest::default()
        };
        let answer = connection.call(&request, version);
        assert_eq!(answer.error_code, ErrorCode::NONE);
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        let told = partitions.map(|at| {
            let metadata = at.metadata.map(|text| text.to_string());
            (at.committed_offset.get(), at.committed_leader_epoch.get(), metadata, at.error_code)
        });
        return told.collect();
    }
    let by_id = version >= IDS_SINCE;
    let topic = OffsetFetchRequestTopics {
        name: if by_id { "".into() } else { "t".into() },
        topic_id: if by_id { id } else { ottla_model::Uuid::ZERO },
        partition_indexes: indexes,
    };
    let group = OffsetFetchRequestGroup {
        group_id: "g".into(),
        topics: Some(vec![topic]),
        ..OffsetFetchRequestGroup::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() };
    let mut answer = connection.call(&request, version);
    assert_eq!(answer.groups[0].error_code, ErrorCode::NONE);
    let partitions = answer.groups.remove(0).topics.into_iter().flat_map(|topic| topic.partitions);
    let told = partitions.map(|at| {
        let metadata = at.metadata.map(|text| text.to_string());
        (at.committed_offset.get(), at.committed_leader_epoch.get(), metadata, at.error_code)
    });
    told.collect()
}

#[test]
fn metadata_comes_back_byte_for_byte_in_every_version_and_nothing_committed_is_minus_one() {
    let mut broker = TestBroker::start();
    let mut connection = broker.connect();
    let id = create_topic(&mut connection, "t", PARTITIONS);
    ready(&mut connection, "g");
    for version in 2..=10 {
        let partition = |(index, (sent, _)): (i32, (Option<String>, String))| OffsetCommitRequestPartition {
            partition_index: index.into(),
            committed_offset: Offset::new(i64::from(version)),
            committed_leader_epoch: LeaderEpoch::new(if version >= 6 { 0 } else { -1 }),
            committed_metadata: sent.map(Into::into),
        };
        let by_id = version >= IDS_SINCE;
        let request = OffsetCommitRequest {
            group_id: "g".into(),
            generation_id_or_member_epoch: -1,
            retention_time_ms: if version <= 4 { [-1, 60_000][usize::from(version % 2 == 0)] } else { -1 },
            topics: vec![OffsetCommitRequestTopic {
                name: if by_id { "".into() } else { "t".into() },
                topic_id: if by_id { id } else { ottla_model::Uuid::ZERO },
                partitions: (0..).zip(metadata()).map(partition).collect(),
            }],
            ..OffsetCommitRequest::default()
        };
        let answer = connection.call(&request, version);
        assert!(
            answer.topics[0].partitions.iter().all(|partition| partition.error_code.is_none()),
            "{version}"
        );
        if version == 6 {
            broker.restart();
            connection = broker.connect();
            ready(&mut connection, "g");
        }
        for fetched_by in 1..=10 {
            // What a version does not carry stands at its default.
            let epoch = if version >= 6 && fetched_by >= 5 { 0 } else { -1 };
            let mut expected: Fetched = metadata()
                .into_iter()
                .map(|(_, kept)| (i64::from(version), epoch, Some(kept), ErrorCode::NONE))
                .collect();
            expected.push((-1, -1, Some(String::new()), ErrorCode::NONE));
            assert_eq!(fetch(&mut connection, id, fetched_by), expected, "{version}, {fetched_by}");
        }
    }
}

#[test]
fn what_a_group_sets_for_itself_acts_at_its_next_heartbeat() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    ready(&mut connection, "g");
    let mut request = ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
        rebalance_timeout_ms: 30_000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..ConsumerGroupHeartbeatRequest::default()
    };
    let joined = connection.call(&request, 1);
    assert_eq!((joined.error_code, joined.heartbeat_interval_ms), (ErrorCode::NONE, 5_000));
    for (operation, value, interval_ms) in
        [(0, Some("7000"), 7_000), (0, Some("9000"), 9_000), (1, None, 5_000)]
    {
        let config = AlterableConfig {
            name: "consumer.heartbeat.interval.ms".into(),
            config_operation: operation,
            value: value.map(Into::into),
        };
        let resource =
            AlterConfigsResource { resource_type: 32, resource_name: "g".into(), configs: vec![config] };
        let alter = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
        let altered = connection.call(&alter, 1);
        assert_eq!(
            altered.responses[0].error_code,
            ErrorCode::NONE,
            "{:?}",
            altered.responses[0].error_message
        );
        request = ConsumerGroupHeartbeatRequest {
            group_id: "g".into(),
            member_id: request.member_id,
            member_epoch: joined.member_epoch,
            ..ConsumerGroupHeartbeatRequest::default()
        };
        // The change is answered a moment before the coordinator has it.
        let mut heartbeats = (0..10_000).map(|_| connection.call(&request, 1));
        let acts = heartbeats.any(|answer| {
            assert_eq!(answer.error_code, ErrorCode::NONE);
            answer.heartbeat_interval_ms == interval_ms
        });
        assert!(acts, "{interval_ms}");
    }
}
