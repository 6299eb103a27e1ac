//! What a start makes of the partitions' folders that it finds, or does not find: half made, foreign, damaged, gone.

use std::fs;
use std::path::Path;

use ottla_model::{ErrorCode, NodeId};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponsePartition};
use ottla_testkit::{Connection, TestProcess, TestProcessBuilder};

use crate::BROKER;
use crate::requests::{append, batch, create_topic, log_end};

const TOPIC: &str = "q";
const FOLDER: &str = "q-0";
const NOTE: &str = "q-0/partition.metadata";

/// A broker that was killed after it had made the topic and written so many records.
fn killed_with(records: usize) -> TestProcessBuilder {
    let broker = TestProcess::builder(BROKER).start();
    let mut connection = broker.connect();
    create_topic(&mut connection, TOPIC, 1);
    if records > 0 {
        append(&mut connection, TOPIC, 0, batch(records));
    }
    broker.kill()
}

fn strays(data: &Path) -> usize {
    let entries = fs::read_dir(data).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with("-stray")).count()
}

fn described(connection: &mut Connection) -> MetadataResponsePartition {
    let topic = MetadataRequestTopic { name: Some(TOPIC.into()), ..MetadataRequestTopic::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..MetadataRequest::default() };
    connection.call(&request, 9).topics[0].partitions[0].clone()
}

#[test]
fn an_empty_folder_that_does_not_say_its_topic_is_the_partitions() {
    let plan = killed_with(0);
    fs::remove_file(plan.data().join(NOTE)).unwrap();
    let broker = plan.start();
    assert_eq!(append(&mut broker.connect(), TOPIC, 0, batch(3)), 0);
    assert_eq!(strays(broker.data()), 0);
    // It says so from now on: what was written is still the partition's.
    let broker = broker.kill().start();
    assert_eq!(log_end(&mut broker.connect(), TOPIC), 3);
}

#[test]
fn records_that_do_not_say_their_topic_are_set_aside_each_time_they_are_found() {
    let mut plan = killed_with(1);
    for times in 1..=3 {
        fs::remove_file(plan.data().join(NOTE)).unwrap();
        let broker = plan.start();
        let mut connection = broker.connect();
        assert_eq!(described(&mut connection).error_code, ErrorCode::NONE);
        assert_eq!(append(&mut connection, TOPIC, 0, batch(1)), 0);
        assert_eq!(strays(broker.data()), times);
        plan = broker.kill();
    }
}

#[test]
fn a_folder_that_is_gone_is_made_anew_and_the_log_says_so() {
    let plan = killed_with(1);
    fs::remove_dir_all(plan.data().join(FOLDER)).unwrap();
    let broker = plan.start();
    assert_eq!(log_end(&mut broker.connect(), TOPIC), 0);
    let exit = broker.terminate();
    let told: Vec<_> = exit.stderr.lines().filter(|line| line.contains("made anew")).collect();
    assert!(matches!(told[..], [line] if line.contains("WARN") && line.contains(FOLDER)), "{}", exit.stderr);
}

#[test]
fn a_note_of_the_topic_that_cannot_be_read_is_written_anew_and_the_log_says_so() {
    let plan = killed_with(4);
    fs::write(plan.data().join(NOTE), "junk").unwrap();
    let broker = plan.start();
    assert_eq!(log_end(&mut broker.connect(), TOPIC), 4);
    let exit = broker.terminate();
    assert!(exit.stderr.contains("tried once more"), "{}", exit.stderr);
    assert!(!exit.stderr.contains("stays offline"), "{}", exit.stderr);
    let broker = exit.plan.start();
    assert_eq!(log_end(&mut broker.connect(), TOPIC), 4);
    assert!(!broker.terminate().stderr.contains("ERROR"));
}

#[test]
fn a_partition_whose_log_cannot_be_opened_has_no_leader() {
    let plan = killed_with(0);
    fs::remove_dir_all(plan.data().join(FOLDER)).unwrap();
    fs::write(plan.data().join(FOLDER), "no folder").unwrap();
    let broker = plan.start();
    let found = described(&mut broker.connect());
    let told = (found.error_code, found.leader_id, found.offline_replicas);
    assert_eq!(told, (ErrorCode::LEADER_NOT_AVAILABLE, NodeId::NONE, vec![NodeId::new(1)]));
}
