//! The difference between two images: what a broker must do before it publishes the newer one.

use ottla_cluster::{AppliedImage, ConfigResource, MetadataDelta, MetadataImage};
use ottla_model::{Offset, PartitionIndex};
use ottla_protocol::messages::delete_topics::DeleteTopicsRequest;
use std::sync::Arc;

use crate::support::{Machine, registration, topic, with_configs};

fn delete(machine: &mut Machine, name: &str) {
    machine.delete(DeleteTopicsRequest { topic_names: vec![name.into()], ..DeleteTopicsRequest::default() });
}

fn listed(partitions: &[ottla_cluster::PartitionDelta]) -> Vec<(String, i32)> {
    partitions.iter().map(|p| (p.topic.name.to_string(), p.index.get())).collect()
}

#[test]
fn new_and_removed_partitions_are_listed_by_topic_and_number() {
    let mut machine = Machine::new();
    machine.create(vec![topic("gone", 2, 1), topic("stays", 1, 1)]);
    let before = machine.image().clone();
    machine.create(vec![with_configs(topic("z", 1, 1), &[("retention.ms", Some("1"))]), topic("b", 2, 1)]);
    delete(&mut machine, "gone");
    let delta = MetadataDelta::between(&before, machine.image());
    let pair = |name: &str, index| (name.to_owned(), index);
    assert_eq!(listed(&delta.added), [pair("b", 0), pair("b", 1), pair("z", 0)]);
    assert!(
        delta.added.iter().all(|partition| partition.before.is_none() && partition.leader_epoch_changed())
    );
    let removed: Vec<_> = delta.removed.iter().map(|r| (r.topic.to_string(), r.index.get())).collect();
    assert_eq!(removed, [pair("gone", 0), pair("gone", 1)]);
    assert!(delta.changed.is_empty());
    assert_eq!(delta.configs.into_iter().collect::<Vec<_>>(), [ConfigResource::topic(&"z".into())]);
    assert!(!delta.brokers_changed && !delta.features_changed && !delta.kept_changed);
}

#[test]
fn a_topic_made_anew_under_its_old_name_is_both_removed_and_added() {
    let mut machine = Machine::new();
    machine.create(vec![topic("a", 1, 1)]);
    let before = machine.image().clone();
    delete(&mut machine, "a");
    machine.create(vec![topic("a", 1, 1)]);
    let delta = MetadataDelta::between(&before, machine.image());
    assert_eq!((delta.removed.len(), delta.added.len()), (1, 1));
    assert_ne!(delta.removed[0].topic_id, delta.added[0].topic.id);
}

#[test]
fn a_new_leader_epoch_is_a_change() {
    let mut machine = Machine::new();
    machine.create(vec![topic("a", 2, 1)]);
    let before = machine.image().clone();
    machine.register(&registration(-1)).unwrap();
    let delta = MetadataDelta::between(&before, machine.image());
    assert!(delta.brokers_changed && delta.added.is_empty() && delta.removed.is_empty());
    assert_eq!(listed(&delta.changed), [("a".to_owned(), 0), ("a".to_owned(), 1)]);
    let change = &delta.changed[0];
    assert!(change.leader_epoch_changed());
    assert_eq!(change.before.as_ref().unwrap().leader_epoch.get() + 1, change.after().leader_epoch.get());
}

#[test]
fn images_of_different_origin_are_compared_by_what_they_hold() {
    let mut machine = Machine::new();
    machine.create(vec![topic("a", 2, 1)]);
    let mut twin = ottla_cluster::ImageBuilder::default();
    for record in machine.image().to_records() {
        twin.replay(&record).unwrap();
    }
    let delta = MetadataDelta::between(machine.image(), twin.current());
    assert!(delta.is_empty(), "{delta:?}");
    let all = MetadataDelta::between(&MetadataImage::empty(), twin.current());
    assert_eq!(listed(&all.added), [("a".to_owned(), 0), ("a".to_owned(), 1)]);
}

#[tokio::test]
async fn an_answer_waits_until_its_offset_is_applied() {
    let mut machine = Machine::new();
    machine.create(vec![topic("a", 1, 1)]);
    let applied = Arc::new(AppliedImage::new());
    let offset = machine.image().position().offset;
    assert_eq!(applied.load().position().offset, Offset::UNKNOWN);
    let waiter = {
        let applied = Arc::clone(&applied);
        tokio::spawn(async move {
            applied.wait_for(offset).await;
            applied.load().topic("a").is_some()
        })
    };
    tokio::task::yield_now().await;
    assert!(!waiter.is_finished());
    applied.publish(Arc::new(machine.image().clone()));
    assert!(waiter.await.unwrap());
    applied.wait_for(offset).await;
    assert!(applied.peek().partition("a", PartitionIndex::new(0)).is_some());
}
