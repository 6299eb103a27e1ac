//! DeleteTopics: codes and messages are those that Apache Kafka 4.4.0 gave to the same requests.

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::delete_topics::{DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest};

use crate::support::{Machine, topic, with_configs};

fn by_name(names: &[&str]) -> DeleteTopicsRequest {
    DeleteTopicsRequest {
        topic_names: names.iter().map(|name| (*name).into()).collect(),
        ..DeleteTopicsRequest::default()
    }
}

fn targets(targets: &[(Option<&str>, Uuid)]) -> DeleteTopicsRequest {
    let topics = targets
        .iter()
        .map(|(name, id)| DeleteTopicState { name: name.map(Into::into), topic_id: *id })
        .collect();
    DeleteTopicsRequest { topics, ..DeleteTopicsRequest::default() }
}

fn told(results: &[DeletableTopicResult]) -> Vec<(Option<&str>, Uuid, i16, Option<&str>)> {
    results
        .iter()
        .map(|r| {
            (r.name.as_ref().map(AsRef::as_ref), r.topic_id, r.error_code.get(), r.error_message.as_deref())
        })
        .collect()
}

fn with_topic(name: &str) -> (Machine, Uuid) {
    let mut machine = Machine::new();
    let results = machine.create(vec![with_configs(topic(name, 2, 1), &[("retention.ms", Some("1"))])]);
    let id = results[0].topic_id;
    (machine, id)
}

#[test]
fn a_topic_is_deleted_by_its_name_with_its_partitions_and_configs() {
    for request in [by_name(&["a"]), targets(&[(Some("a"), Uuid::ZERO)])] {
        let (mut machine, id) = with_topic("a");
        assert_eq!(told(&machine.delete(request)), [(Some("a"), id, 0, None)]);
        let image = machine.image();
        assert_eq!(
            (image.topic_count(), image.partition_count(), image.config_resources().count()),
            (0, 0, 0)
        );
        assert!(image.topic("a").is_none() && image.topic_by_id(&id).is_none());
    }
}

#[test]
fn a_topic_is_deleted_by_its_id_and_named_in_the_answer() {
    let (mut machine, id) = with_topic("a");
    assert_eq!(told(&machine.delete(targets(&[(None, id)]))), [(Some("a"), id, 0, None)]);
    assert_eq!(machine.image().topic_count(), 0);
}

#[test]
fn what_does_not_exist_or_is_named_wrongly_is_refused_for_itself() {
    const NAME: &str = "This server does not host this topic-partition.";
    let some = Uuid::from_bytes([7; 16]);
    let (mut machine, id) = with_topic("a");
    let none = Uuid::ZERO;
    let before = machine.end;
    for (request, expected) in [
        (by_name(&["nope"]), vec![(Some("nope"), none, 3, Some(NAME))]),
        (by_name(&["a b"]), vec![(Some("a b"), none, 3, Some(NAME))]),
        (by_name(&["__cluster_metadata"]), vec![(Some("__cluster_metadata"), none, 3, Some(NAME))]),
        (by_name(&["a", "a"]), vec![(Some("a"), none, 42, Some("Duplicate topic name."))]),
        (by_name(&[]), vec![]),
        (targets(&[(Some(""), none)]), vec![(Some(""), none, 3, Some(NAME))]),
        (
            targets(&[(Some("a"), some)]),
            vec![(Some("a"), some, 42, Some("You may not specify both topic name and topic id."))],
        ),
        (targets(&[(None, none)]), vec![(None, none, 42, Some("Neither topic name nor id were specified."))]),
        (targets(&[(None, some)]), vec![(None, some, 100, Some("This server does not host this topic ID."))]),
        (targets(&[(None, some), (None, some)]), vec![(None, some, 42, Some("Duplicate topic id."))]),
        (
            targets(&[(Some("a"), none), (None, id)]),
            vec![(
                Some("a"),
                id,
                42,
                Some("The provided topic name maps to an ID that was already supplied."),
            )],
        ),
    ] {
        assert_eq!(told(&machine.delete(request.clone())), expected, "{request:?}");
    }
    assert_eq!((machine.end, machine.image().topic_count()), (before, 1));
}

#[test]
fn refused_ones_do_not_keep_the_others() {
    let (mut machine, id) = with_topic("a");
    let results = machine.delete(by_name(&["nope", "a"]));
    assert_eq!(results.iter().map(|r| r.error_code.get()).collect::<Vec<_>>(), [3, 0]);
    assert!(machine.image().topic_by_id(&id).is_none());
}

#[test]
fn nothing_is_deleted_where_deletion_is_disabled() {
    let (mut machine, _) = with_topic("a");
    machine.settings.delete_topics = false;
    assert_eq!(
        told(&machine.delete(by_name(&["a", "nope"]))),
        [(Some("a"), Uuid::ZERO, 73, None), (Some("nope"), Uuid::ZERO, 73, None)]
    );
    assert_eq!(machine.image().topic_count(), 1);
}

#[test]
fn a_topic_made_anew_has_another_id() {
    let (mut machine, id) = with_topic("a");
    machine.delete(by_name(&["a"]));
    let again = machine.create(vec![topic("a", 1, 1)]);
    assert_eq!(again[0].error_code, ErrorCode::NONE);
    assert_ne!(again[0].topic_id, id);
    assert!(machine.image().configs(&ottla_cluster::ConfigResource::topic(&"a".into())).is_none());
}
