//! What the flusher writes while the broker serves: recovery points and high watermarks, as Kafka's own files.

use std::path::Path;
use std::time::Instant;

use ottla_testkit::{TIME_MAX, TestBroker, TestProcess};

use crate::BROKER;
use crate::requests::{append, batch, create_topic};

/// The offset that a checkpoint file has for partition 0 of a topic.
fn checkpointed(directory: &Path, file: &str, topic: &str) -> Option<i64> {
    let text = std::fs::read_to_string(directory.join(file)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{topic} 0 ")))?;
    Some(line.parse().unwrap())
}

/// Looks until the file says so.
fn wait_for(directory: &Path, file: &str, topic: &str, offset: i64) {
    let begin = Instant::now();
    while checkpointed(directory, file, topic) != Some(offset) {
        assert!(begin.elapsed() < TIME_MAX, "{file} says {:?}", checkpointed(directory, file, topic));
        std::thread::yield_now();
    }
}

#[test]
fn recovery_points_move_while_the_broker_serves() {
    let broker = TestBroker::builder().set("log.flush.offset.checkpoint.interval.ms", "20").start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "flushed", 1);
    for round in 1..=3 {
        append(&mut connection, "flushed", 0, batch(10));
        wait_for(broker.data(), "recovery-point-offset-checkpoint", "flushed", round * 10);
    }
}

#[test]
fn high_watermarks_are_written_down_while_the_broker_serves() {
    let broker = TestBroker::builder().set("replica.high.watermark.checkpoint.interval.ms", "20").start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "marked", 1);
    for round in 1..=3 {
        append(&mut connection, "marked", 0, batch(10));
        wait_for(broker.data(), "replication-offset-checkpoint", "marked", round * 10);
    }
}

#[test]
fn a_stop_writes_everything_down() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "kept", 1);
    append(&mut connection, "kept", 0, batch(7));
    let plan = broker.into_plan();
    assert_eq!(checkpointed(plan.data(), "recovery-point-offset-checkpoint", "kept"), Some(7));
    assert_eq!(checkpointed(plan.data(), "replication-offset-checkpoint", "kept"), Some(7));
    assert!(plan.data().join(".kafka_cleanshutdown").exists());
}

#[test]
fn what_a_recovery_found_sound_is_noted_so_that_the_next_start_is_quick() {
    let broker = TestProcess::builder(BROKER).start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "scanned", 1);
    append(&mut connection, "scanned", 0, batch(9));
    let plan = broker.kill();
    assert_eq!(checkpointed(plan.data(), "recovery-point-offset-checkpoint", "scanned"), None);
    let broker = plan.start();
    wait_for(broker.data(), "recovery-point-offset-checkpoint", "scanned", 9);
}
