//! Logs of `__consumer_offsets` that Apache Kafka wrote: what they say of groups and offsets.

use std::sync::Arc;

use bytes::Bytes;
use ottla_coordinator::{Event, GroupConfig, GroupMachine, Now, Reply, Token, TopicTable};
use ottla_model::batch::{EndTxnMarker, RecordBatch};
use ottla_model::{ErrorCode, GroupId, PartitionIndex};
use ottla_protocol::messages::describe_groups::DescribedGroup;
use ottla_protocol::messages::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};

use crate::host::client;

const NOW: Now = Now::same(1_796_025_000_000);

fn loaded(log: &'static [u8]) -> GroupMachine {
    let mut machine = GroupMachine::new(Arc::new(GroupConfig::default()), Arc::new(TopicTable::default()));
    let mut bytes = Bytes::from_static(log);
    while let Some(batch) = RecordBatch::split_first(&mut bytes).expect("a batch of Kafka's") {
        replay(&mut machine, &batch);
    }
    machine.loaded(NOW);
    machine
}

fn replay(machine: &mut GroupMachine, batch: &RecordBatch) {
    let header = *batch.header();
    let records = batch.records(1 << 20).expect("records");
    for record in &records {
        let record = record.expect("a record");
        let key = record.key.expect("a key");
        if header.attributes().is_control() {
            let marker = EndTxnMarker::parse(key, record.value.expect("a value")).expect("a marker");
            machine.replay_end_of_transaction(header.producer_id(), marker.committed);
        } else {
            let producer = header.attributes().is_transactional().then(|| header.producer_id());
            let key = records.block().slice_ref(key);
            let value = record.value.map(|value| records.block().slice_ref(value));
            machine.replay(key, value, producer).expect("it can be read");
        }
    }
}

fn describe(machine: &mut GroupMachine, group: &str) -> DescribedGroup {
    let event = Event::DescribeGroups { client: client(5), groups: vec![group.into()] };
    match machine.handle(event, Token(1), NOW).replies.remove(0).reply {
        Reply::DescribeGroups(mut groups) => groups.remove(0),
        other => panic!("an answer to DescribeGroups, not {other:?}"),
    }
}

fn fetch(
    machine: &mut GroupMachine,
    group: &str,
    topic: &str,
    partition: i32,
    stable: bool,
) -> (i64, String, ErrorCode) {
    let request = OffsetFetchRequestGroup {
        group_id: group.into(),
        member_id: None,
        member_epoch: -1,
        topics: Some(vec![OffsetFetchRequestTopics {
            name: topic.into(),
            topic_id: ottla_model::Uuid::ZERO,
            partition_indexes: vec![PartitionIndex::new(partition)],
        }]),
    };
    let event = Event::OffsetFetch { client: client(9), request, require_stable: stable };
    match machine.handle(event, Token(2), NOW).replies.remove(0).reply {
        Reply::OffsetFetch(group) => {
            let found = group.topics[0].partitions[0].clone();
            let metadata = found.metadata.expect("never null").to_string();
            (found.committed_offset.get(), metadata, found.error_code)
        }
        other => panic!("an answer to OffsetFetch, not {other:?}"),
    }
}

#[test]
fn a_simple_groups_offsets_are_there_but_for_the_deleted_one() {
    let mut machine = loaded(include_bytes!("../data/kafka/__consumer_offsets-0.log"));
    let none = ErrorCode::NONE;
    assert_eq!(fetch(&mut machine, "g.simple", "codec.none", 0, true), (3, "by hand".to_owned(), none));
    assert_eq!(fetch(&mut machine, "g.simple", "codec.none", 1, true), (4, String::new(), none));
    assert_eq!(fetch(&mut machine, "g.simple", "codec_gzip", 0, true), (-1, String::new(), none));
    let group = describe(&mut machine, "g.simple");
    assert_eq!((group.group_state.as_str(), group.protocol_type.as_str()), ("Empty", ""));
}

#[test]
fn a_static_members_group_is_stable_and_offsets_of_transactions_count_as_they_ended() {
    let mut machine = loaded(include_bytes!("../data/kafka/__consumer_offsets-1.log"));
    let group = describe(&mut machine, "g.static");
    assert_eq!((group.group_state.as_str(), group.protocol_data.as_str()), ("Stable", "cooperative-sticky"));
    let member = &group.members[0];
    assert_eq!(member.member_id, "instance-1-46b527d5-6581-4b04-8396-5ed5b7139fd5");
    assert_eq!(
        (member.group_instance_id.as_deref(), member.client_host.as_str()),
        (Some("instance-1"), "/127.0.0.1")
    );
    assert!(!member.member_metadata.is_empty() && !member.member_assignment.is_empty());
    let none = ErrorCode::NONE;
    assert_eq!(fetch(&mut machine, "g.static", "codec.none", 0, true), (11, "кусок".to_owned(), none));
    assert_eq!(fetch(&mut machine, "g.tx", "source", 1, true), (6, String::new(), none));
    assert_eq!(fetch(&mut machine, "g.tx", "source", 0, false), (5, "from a transaction".to_owned(), none));
    let unstable = fetch(&mut machine, "g.tx", "source", 0, true);
    assert_eq!(unstable, (-1, String::new(), ErrorCode::UNSTABLE_OFFSET_COMMIT));
    assert_eq!(describe(&mut machine, "g.deleted").group_state, "Dead");
}

#[test]
fn a_group_that_its_last_member_has_left_is_empty_and_share_groups_are_left_alone() {
    let mut machine = loaded(include_bytes!("../data/kafka/__consumer_offsets-2.log"));
    let group = describe(&mut machine, "g.classic");
    assert_eq!((group.group_state.as_str(), group.protocol_type.as_str()), ("Empty", "consumer"));
    assert_eq!(fetch(&mut machine, "g.classic", "source", 0, true), (14, String::new(), ErrorCode::NONE));
    let share = GroupId::from("g.share");
    assert!(!machine.groups().any(|group| *group.id == share));
}
