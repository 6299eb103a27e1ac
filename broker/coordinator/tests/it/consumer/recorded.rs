//! Logs that Apache Kafka 4.4.0 wrote (`tests/data/kafka`): our machine takes them into its state, and the
//! same requests make the same records, byte by byte.

use bytes::Bytes;
use ottla_coordinator::{Client, Event, GroupConfig, Now, Record, Reply, Token};
use ottla_model::Uuid;
use ottla_model::batch::RecordBatch;
use ottla_protocol::messages::consumer_group_describe::DescribedGroup;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use super::world::{Consumer, World};

const LOG_0: &[u8] = include_bytes!("../../data/kafka/__consumer_offsets-0.log");
const LOG_2: &[u8] = include_bytes!("../../data/kafka/__consumer_offsets-2.log");

fn records(log: &'static [u8]) -> Vec<Record> {
    let mut bytes = Bytes::from_static(log);
    let mut records = Vec::new();
    while let Some(batch) = RecordBatch::split_first(&mut bytes).expect("a batch of Kafka's") {
        let batch = batch.records(1 << 20).expect("its records");
        for record in batch.iter() {
            let record = record.expect("a record");
            let copy = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
            records.push(Record {
                key: copy(record.key.expect("every record has a key")),
                value: record.value.map(copy),
            });
        }
    }
    records
}

/// Those of this group, of key types 3 to 8.
fn of_group(records: &[Record], group: &str) -> Vec<Record> {
    let mut name = u16::try_from(group.len()).expect("a short name").to_be_bytes().to_vec();
    name.extend(group.as_bytes());
    let own = |record: &&Record| {
        record.key[0] == 0 && (3..=8).contains(&record.key[1]) && record.key[2..].starts_with(&name)
    };
    records.iter().filter(own).cloned().collect()
}

fn source() -> Uuid {
    "t1lRm0iLSsy9nWmWIDhI2g".parse().expect("an id")
}

fn world() -> World {
    let mut world = World::with(GroupConfig::default());
    world.topics.insert("source", source(), 2);
    world.topics.insert("codec.none", "TNUMp9voTlmZtx6vem6u1A".parse().expect("an id"), 2);
    world.restart();
    world
}

fn describe(world: &mut World, group: &str) -> DescribedGroup {
    let client = Client { version: 1, ..Client::default() };
    let event = Event::ConsumerGroupDescribe { client, groups: vec![group.into()] };
    let effects = world.machine.handle(event, Token(u64::MAX), Now::same(world.now_ms));
    match effects.replies.into_iter().next().map(|answer| answer.reply) {
        Some(Reply::ConsumerGroupDescribe(mut groups)) => groups.pop().expect("one group"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn groups_that_kafka_wrote_are_understood() {
    let mut world = world();
    for record in records(LOG_0).into_iter().chain(records(LOG_2)) {
        world.machine.replay(record.key, record.value, None).expect("a record of Kafka's");
    }
    let left = describe(&mut world, "g.consumer");
    assert_eq!((left.group_state.as_str(), left.group_epoch, left.assignment_epoch), ("Empty", 3, 3));
    let paused = describe(&mut world, "g.consumer-static");
    assert_eq!((paused.group_epoch, paused.assignment_epoch, paused.assignor_name.as_str()), (2, 2, "range"));
    assert_eq!(paused.group_state, "Reconciling");
    let member = &paused.members[0];
    assert_eq!((member.member_epoch, member.instance_id.as_deref()), (-2, Some("instance-2")));
    assert_eq!(member.subscribed_topic_names, ["codec.none".into(), "source".into()]);
    let mut names: Vec<_> =
        member.assignment.topic_partitions.iter().map(|topic| topic.topic_name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["codec.none", "source"]);
    assert_eq!(member.assignment, member.target_assignment);
}

#[test]
fn the_same_requests_make_the_same_records_as_kafkas_byte_by_byte() {
    let kafkas = of_group(&records(LOG_0), "g.consumer");
    assert_eq!(kafkas.len(), 10);
    let mut world = world();
    world.now_ms = 1_796_023_992_234;
    let request = ConsumerGroupHeartbeatRequest {
        group_id: "g.consumer".into(),
        rebalance_timeout_ms: 300_000,
        ..Consumer::new("5oymbKffTN29SW5sUCuf7g", &["source"]).whole()
    };
    let client = Client { id: "next-1".into(), host: "/127.0.0.1".into(), version: 1 };
    let send = |world: &mut World, request: ConsumerGroupHeartbeatRequest| {
        let client = client.clone();
        world.event(Event::ConsumerGroupHeartbeat { client, request, random: [7; 16], may_describe: None })
    };
    send(&mut world, request.clone());
    send(&mut world, ConsumerGroupHeartbeatRequest { member_epoch: -1, ..request });
    let ours: Vec<Record> = world.log.iter().flatten().cloned().collect();
    for (ours, kafkas) in ours.iter().zip(&kafkas) {
        assert_eq!(ours, kafkas);
    }
    assert_eq!(ours.len(), kafkas.len());
}
