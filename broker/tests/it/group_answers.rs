//! Requests about groups whose answers could be far larger than they are: they are answered as Kafka does while that is
//! little, and bounded where it is much.

use ottla_model::{ErrorCode, Offset};
use ottla_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use ottla_testkit::{Connection, TestBroker};

use crate::group_requests::{join, join_anew, join_request, ready};
use crate::requests::create_topic;

fn broker() -> TestBroker {
    TestBroker::builder().set("group.initial.rebalance.delay.ms", "0").start()
}

fn commit_large(connection: &mut Connection, group: &str) {
    let partition = |index: i32| OffsetCommitRequestPartition {
        partition_index: index.into(),
        committed_offset: Offset::new(7),
        committed_metadata: Some("m".repeat(4096).into()),
        ..OffsetCommitRequestPartition::default()
    };
    let request = OffsetCommitRequest {
        group_id: group.into(),
        generation_id_or_member_epoch: -1,
        topics: vec![OffsetCommitRequestTopic {
            name: "t".into(),
            partitions: (0..10).map(partition).collect(),
            ..OffsetCommitRequestTopic::default()
        }],
        ..OffsetCommitRequest::default()
    };
    let answer = connection.call(&request, 9);
    assert!(answer.topics[0].partitions.iter().all(|partition| partition.error_code.is_none()));
}

fn fetch_of(group: &str, topics: Option<Vec<OffsetFetchRequestTopics>>) -> OffsetFetchRequestGroup {
    OffsetFetchRequestGroup { group_id: group.into(), topics, ..OffsetFetchRequestGroup::default() }
}

#[test]
fn a_group_is_fetched_as_often_as_it_is_named_up_to_what_clients_take() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 10);
    ready(&mut connection, "g");
    commit_large(&mut connection, "g");
    // Of 41 KB each: 3 are as many as asked for, 6,000 would be 250 MB.
    for (times, told) in [(3, 3..=3), (6_000, 2_300..=2_500)] {
        let groups = (0..times).map(|_| fetch_of("g", None)).collect();
        let answer = connection.call(&OffsetFetchRequest { groups, ..OffsetFetchRequest::default() }, 9);
        assert_eq!(answer.groups.len(), times);
        let full = answer.groups.iter().filter(|group| group.error_code.is_none()).count();
        assert!(told.contains(&full), "{full} of {times}");
        assert!(answer.groups[..full].iter().all(|group| group.topics[0].partitions.len() == 10));
        for refused in &answer.groups[full..] {
            assert_eq!((refused.error_code, refused.topics.len()), (ErrorCode::INVALID_REQUEST, 0));
        }
    }
}

#[test]
fn a_partition_is_fetched_as_often_as_it_is_named_up_to_what_clients_take() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 10);
    ready(&mut connection, "g");
    commit_large(&mut connection, "g");
    for (times, code) in [(3, ErrorCode::NONE), (50_000, ErrorCode::INVALID_REQUEST)] {
        let topic = OffsetFetchRequestTopics {
            name: "t".into(),
            partition_indexes: vec![1.into(); times],
            ..OffsetFetchRequestTopics::default()
        };
        let groups = vec![fetch_of("g", Some(vec![topic]))];
        let answer = connection.call(&OffsetFetchRequest { groups, ..OffsetFetchRequest::default() }, 9);
        let group = &answer.groups[0];
        let told: usize = group.topics.iter().map(|topic| topic.partitions.len()).sum();
        assert_eq!((group.error_code, told), (code, if code.is_none() { times } else { 0 }));
    }
}

#[test]
fn a_group_is_described_as_often_as_it_is_named_up_to_what_clients_take() {
    let broker = broker();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    let mut request = join_request("g", "", None);
    request.protocols[0].metadata = vec![b'x'; 100_000].into();
    let id = connection.call(&request, 9).member_id;
    request.member_id = id.clone();
    let joined = connection.call(&request, 9);
    assert_eq!(joined.error_code, ErrorCode::NONE);
    let synced =
        crate::group_requests::sync(&mut connection, "g", &id, joined.generation_id, &[(&id, b"all")]);
    assert_eq!(synced.error_code, ErrorCode::NONE);
    for (times, told) in [(3, 3..=3), (2_500, 950..=1_001)] {
        let groups = vec!["g".into(); times];
        let request = DescribeGroupsRequest { groups, ..DescribeGroupsRequest::default() };
        let answer = connection.call(&request, 6).groups;
        assert_eq!(answer.len(), times);
        let full = answer.iter().filter(|group| group.error_code.is_none()).count();
        assert!(told.contains(&full), "{full} of {times}");
        assert!(answer[full..].iter().all(|group| group.error_code == ErrorCode::INVALID_REQUEST));
    }
    let request = ConsumerGroupDescribeRequest {
        group_ids: vec!["g".into(); 3],
        ..ConsumerGroupDescribeRequest::default()
    };
    let answer = connection.call(&request, 1).groups;
    assert_eq!(answer.len(), 3, "as often as it is named");
}

#[test]
fn a_member_that_says_more_of_itself_than_can_be_stored_is_refused_and_one_below_is_not() {
    const BYTES_MAX: usize = 4 << 20;
    let broker = broker();
    let mut connection = broker.connect();
    ready(&mut connection, "g");
    let name_bytes = "range".len();
    for (bytes, code) in
        [(BYTES_MAX - name_bytes, ErrorCode::NONE), (BYTES_MAX - name_bytes + 1, ErrorCode::INVALID_REQUEST)]
    {
        let id = join(&mut connection, "g", "", None).member_id;
        let mut request: JoinGroupRequest = join_request("g", &id, None);
        request.session_timeout_ms = 6_000;
        request.rebalance_timeout_ms = 100;
        request.protocols[0].metadata = vec![b'x'; bytes].into();
        assert_eq!(connection.call(&request, 9).error_code, code);
    }
    // Neither is in the way of others.
    assert_eq!(join_anew(&mut connection, "other").error_code, ErrorCode::NONE);
}

#[test]
fn a_topic_is_described_as_often_as_it_is_named() {
    let broker = broker();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let topic = DescribeConfigsResource {
        resource_type: 2,
        resource_name: "t".into(),
        ..DescribeConfigsResource::default()
    };
    let request = DescribeConfigsRequest {
        resources: vec![topic; 3],
        include_synonyms: true,
        include_documentation: true,
    };
    let results = connection.call(&request, 4).results;
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|result| result.error_code.is_none() && !result.configs.is_empty()));
}
