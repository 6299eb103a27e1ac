//! kill -9 while four partitions are written: what was acknowledged is there afterwards, in its order, and nothing of
//! an idempotent producer is there twice.

use std::sync::atomic::{AtomicUsize, Ordering};

use ottla_model::ErrorCode;
use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::Compression;
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_testkit::{Connection, TestProcess};

use crate::BROKER;
use crate::requests::{PRODUCE, batches_of, create_topic, fetch, now_ms, produce, produce_request, produced};

const TOPIC: &str = "killed";
const PARTITIONS: i32 = 4;
const ROUNDS: usize = 20;
/// Requests on their way at once, of each producer: what a retry may send again.
const IN_FLIGHT: usize = 5;

/// An idempotent producer of numbered records to one partition.
struct Producer {
    partition: i32,
    /// The number of the next record, which is also its sequence number.
    next: i32,
    /// Records below it are acknowledged.
    acknowledged: i32,
}

fn numbered(partition: i32, number: i32) -> bytes::Bytes {
    let builder = BatchBuilder::new(Compression::NONE);
    let mut builder = builder.with_producer((1000 + i64::from(partition)).into(), 0.into(), number);
    let value = number.to_be_bytes();
    let record = NewRecord { timestamp_ms: now_ms(), key: None, value: Some(&value), headers: &[] };
    builder.append(&record).unwrap();
    builder.finish_bytes().unwrap()
}

impl Producer {
    /// Sends until the broker is gone.
    fn run(&mut self, mut connection: Connection, acknowledged: &AtomicUsize) {
        let mut sent = std::collections::VecDeque::new();
        loop {
            while sent.len() < IN_FLIGHT {
                let request =
                    produce_request(TOPIC, self.partition, -1, Some(numbered(self.partition, self.next)));
                let Some(id) = connection.try_send(&request, PRODUCE) else { return };
                sent.push_back((id, self.next));
                self.next += 1;
            }
            let Some((id, number)) = sent.pop_front() else { return };
            let Some(answer) = connection.try_receive::<ProduceRequest>(PRODUCE, id) else { return };
            assert_eq!(produced(answer).error_code, ErrorCode::NONE);
            self.acknowledged = number + 1;
            acknowledged.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// What a producer does that lost its connection: everything unacknowledged again, in order.
    fn retry(&mut self, connection: &mut Connection) {
        for number in self.acknowledged..self.next {
            let answer = produce(connection, TOPIC, self.partition, numbered(self.partition, number));
            assert_eq!(answer.error_code, ErrorCode::NONE, "record {number} of partition {}", self.partition);
        }
        self.acknowledged = self.next;
    }
}

/// Every record of a partition, from its first offset on.
fn all_numbers(connection: &mut Connection, partition: i32) -> Vec<i32> {
    let mut numbers = Vec::new();
    loop {
        let offset = i64::try_from(numbers.len()).unwrap();
        let batches = batches_of(fetch(connection, TOPIC, partition, offset));
        if batches.is_empty() {
            return numbers;
        }
        for batch in batches {
            for record in &batch.records(1 << 20).unwrap() {
                let value: [u8; 4] = record.unwrap().value.unwrap().try_into().unwrap();
                numbers.push(i32::from_be_bytes(value));
            }
        }
    }
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_once_after_it() {
    let mut broker = TestProcess::builder(BROKER).start();
    create_topic(&mut broker.connect(), TOPIC, PARTITIONS);
    let mut producers: Vec<_> =
        (0..PARTITIONS).map(|partition| Producer { partition, next: 0, acknowledged: 0 }).collect();
    for round in 0..ROUNDS {
        let acknowledged = AtomicUsize::new(0);
        let plan = std::thread::scope(|scope| {
            for producer in &mut producers {
                let (connection, acknowledged) = (broker.connect(), &acknowledged);
                scope.spawn(move || producer.run(connection, acknowledged));
            }
            // Killed in the middle of the stream, each time elsewhere.
            while acknowledged.load(Ordering::SeqCst) < 200 + 137 * round {
                std::thread::yield_now();
            }
            broker.kill()
        });
        broker = plan.start();
        let mut connection = broker.connect();
        for producer in &mut producers {
            let found = all_numbers(&mut connection, producer.partition);
            let least = usize::try_from(producer.acknowledged).unwrap();
            assert!(found.len() >= least, "{} records where {least} were acknowledged", found.len());
            producer.retry(&mut connection);
            let expected: Vec<_> = (0..producer.next).collect();
            assert_eq!(all_numbers(&mut connection, producer.partition), expected, "round {round}");
        }
    }
}
