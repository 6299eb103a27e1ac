//! Random requests to a broker and to a simple twin of it, a list of batches for each partition: every answer must be
//! the twin's. The seed is printed when they part.

use bytes::Bytes;
use ottla_model::compression::{Codec, Compression};
use ottla_model::{ErrorCode, Offset};
use ottla_protocol::messages::delete_topics::DeleteTopicsRequest;
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{
    FETCH, batch_at, bytes_of, create_topic_with, fetch_request, fetched, list_offset, produce,
};

const TOPIC: &str = "twin";
const PARTITIONS: u64 = 3;
const STEPS: usize = 400;

/// xorshift64*: the same numbers for the same seed, on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

struct StoredBatch {
    base: i64,
    next: i64,
    timestamp_ms: i64,
    bytes: Vec<u8>,
}

/// What a partition must hold.
#[derive(Default)]
struct Twin {
    batches: Vec<StoredBatch>,
}

impl Twin {
    fn end(&self) -> i64 {
        self.batches.last().map_or(0, |batch| batch.next)
    }

    fn append(&mut self, sent: &Bytes, count: usize, timestamp_ms: i64) {
        let base = self.end();
        let mut bytes = sent.to_vec();
        bytes[..8].copy_from_slice(&base.to_be_bytes());
        bytes[12..16].copy_from_slice(&0_i32.to_be_bytes());
        let next = base + i64::try_from(count).unwrap();
        self.batches.push(StoredBatch { base, next, timestamp_ms, bytes });
    }

    /// Everything from the batch that holds the offset on, and the size of that batch.
    fn from(&self, offset: i64) -> (Vec<u8>, usize) {
        let rest: Vec<_> = self.batches.iter().filter(|batch| batch.next > offset).collect();
        let first = rest.first().map_or(0, |batch| batch.bytes.len());
        (rest.iter().flat_map(|batch| batch.bytes.iter().copied()).collect(), first)
    }

    fn offset_of(&self, timestamp_ms: i64) -> (i64, i64) {
        let found = self.batches.iter().find(|batch| batch.timestamp_ms >= timestamp_ms);
        found.map_or((-1, -1), |batch| (batch.timestamp_ms, batch.base))
    }
}

struct Play {
    broker: TestBroker,
    connection: Connection,
    random: Random,
    twins: Vec<Twin>,
    epoch_may_differ: bool,
}

impl Play {
    fn new(seed: u64) -> Self {
        let broker = TestBroker::start();
        let connection = broker.connect();
        let mut play =
            Self { broker, connection, random: Random(seed), twins: Vec::new(), epoch_may_differ: false };
        play.create();
        play
    }

    fn create(&mut self) {
        let small = [("segment.bytes", "1048576"), ("index.interval.bytes", "500")];
        create_topic_with(&mut self.connection, TOPIC, i32::try_from(PARTITIONS).unwrap(), &small);
        self.twins = (0..PARTITIONS).map(|_| Twin::default()).collect();
    }

    fn partition(&mut self) -> (usize, i32) {
        let index = self.random.below(PARTITIONS);
        (usize::try_from(index).unwrap(), i32::try_from(index).unwrap())
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0 => self.recreate(),
            1..3 => self.restart(),
            3..45 => self.produce(),
            45..90 => self.fetch(),
            _ => self.list(),
        }
    }

    fn produce(&mut self) {
        let (place, partition) = self.partition();
        let count = usize::try_from(1 + self.random.below(300)).unwrap();
        let codec = Codec::ALL[usize::try_from(self.random.below(5)).unwrap()];
        let timestamp_ms = i64::try_from(1000 + self.random.below(1000)).unwrap();
        let batch = batch_at(count, timestamp_ms, Compression::of(codec));
        let answer = produce(&mut self.connection, TOPIC, partition, batch.clone());
        assert_eq!((answer.error_code, answer.base_offset.get()), (ErrorCode::NONE, self.twins[place].end()));
        self.twins[place].append(&batch, count, timestamp_ms);
    }

    fn fetch(&mut self) {
        let (place, partition) = self.partition();
        let twin = &self.twins[place];
        let end = twin.end();
        let offset = i64::try_from(self.random.below(u64::try_from(end).unwrap() + 2)).unwrap();
        let limit = usize::try_from(self.random.below(40_000)).unwrap();
        let mut request = FetchRequest { max_bytes: i32::MAX, ..fetch_request(TOPIC, partition, offset) };
        request.topics[0].partitions[0].partition_max_bytes = i32::try_from(limit).unwrap();
        let answer = fetched(self.connection.call(&request, FETCH));
        if offset > end {
            assert_eq!(answer.error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
            return;
        }
        assert_eq!(answer.high_watermark, Offset::new(end));
        let (expected, first) = twin.from(offset);
        let found = without_epochs(&bytes_of(answer), self.epoch_may_differ);
        // An answer may end with its segment, before the limit; it never ends within the first batch.
        assert!(found.len() <= limit.max(first) && found.len() >= first, "{} of {limit}", found.len());
        assert!(expected.starts_with(&found), "from offset {offset} of {end}");
    }

    fn list(&mut self) {
        let timestamp_ms = i64::try_from(900 + self.random.below(1200)).unwrap();
        let (found, end) = (
            list_offset(&mut self.connection, TOPIC, timestamp_ms, 7),
            list_offset(&mut self.connection, TOPIC, -1, 7),
        );
        assert_eq!((found.timestamp, found.offset.get()), self.twins[0].offset_of(timestamp_ms));
        assert_eq!(end.offset.get(), self.twins[0].end());
    }

    fn restart(&mut self) {
        self.broker.restart();
        self.connection = self.broker.connect();
        self.epoch_may_differ = true;
    }

    fn recreate(&mut self) {
        let request =
            DeleteTopicsRequest { topic_names: vec![TOPIC.into()], ..DeleteTopicsRequest::default() };
        assert_eq!(self.connection.call(&request, 5).responses[0].error_code, ErrorCode::NONE);
        self.create();
    }
}

/// The bytes with every leader epoch set to 0: a restart may begin another one.
fn without_epochs(bytes: &Bytes, may_differ: bool) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut at = 0;
    while may_differ && at + 16 <= bytes.len() {
        let length: [u8; 4] = bytes[at + 8..at + 12].try_into().unwrap();
        bytes[at + 12..at + 16].copy_from_slice(&[0; 4]);
        at += 12 + usize::try_from(i32::from_be_bytes(length)).unwrap();
    }
    // A batch that is cut within its epoch keeps part of it.
    if may_differ && at + 12 < bytes.len() {
        bytes[at + 12..].fill(0);
    }
    bytes
}

#[test]
fn random_requests_are_answered_as_a_simple_twin_answers_them() {
    for seed in [1, 0xC0FFEE, 0x0771A] {
        let play = std::panic::AssertUnwindSafe(|| {
            let mut play = Play::new(seed);
            for _ in 0..STEPS {
                play.step();
            }
        });
        if let Err(panic) = std::panic::catch_unwind(play) {
            println!("seed {seed:#x}");
            std::panic::resume_unwind(panic);
        }
    }
}
