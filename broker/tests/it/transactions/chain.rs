//! A chain that is to carry each record exactly once: a source, copiers that read, write and commit what they have read in
//! one transaction, and a sink read by one who wants committed records. Copiers are abandoned in the middle of what they do
//! and begin anew, and the broker is killed. `OTTLA_CHAIN_RECORDS` and `OTTLA_CHAIN_KILLS` make it longer.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::Compression;
use ottla_protocol::api::Request;
use ottla_protocol::messages::end_txn::EndTxnRequest;
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_protocol::messages::init_producer_id::InitProducerIdRequest;
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ottla_testkit::{Connection, TestProcess};
use parking_lot::{Condvar, Mutex, RwLock};

use super::client::{Producer, committed, ready};
use crate::requests::{append, batches_of, create_topic, fetch_request, fetched, now_ms, produced};
use crate::{BROKER, group_requests};

const SOURCE: &str = "source";
const SINK: &str = "sink";
const GROUP: &str = "copiers";
/// One copier for each.
const PARTITIONS: i32 = 4;
/// Records in each batch of the source.
const BATCH: usize = 50;
/// What a copier takes at a time.
const FETCH_BYTES: i32 = 4 * 1024;
/// One in so many transactions is left as it is: the copier begins anew, as after a crash of its own.
const ABANDONED_ONE_IN: u64 = 12;
/// One in so many is aborted.
const ABORTED_ONE_IN: u64 = 9;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// What all share.
struct Chain {
    broker: RwLock<SocketAddr>,
    /// Records that copiers were told to be committed.
    progress: Mutex<usize>,
    moved: Condvar,
    abandoned: AtomicUsize,
    aborted: AtomicUsize,
}

/// Sends and receives; none if the broker is gone.
fn call<R: Request>(connection: &mut Connection, request: &R, version: i16) -> Option<R::Response> {
    let id = connection.try_send(request, version)?;
    connection.try_receive::<R>(version, id)
}

struct Copier<'a> {
    chain: &'a Chain,
    partition: i32,
    records: i64,
    random: u64,
}

impl Copier<'_> {
    fn one_in(&mut self, count: u64) -> bool {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33).is_multiple_of(count)
    }

    /// Lives until everything is copied.
    fn run(mut self) {
        loop {
            // A kill waits for the connection to be open, and this for the next broker.
            let mut connection = Connection::open(*self.chain.broker.read());
            if self.live(&mut connection).is_some_and(|position| position >= self.records) {
                return;
            }
        }
    }

    /// One life: says where it has come to; none where it was cut short.
    fn live(&mut self, connection: &mut Connection) -> Option<i64> {
        let mut producer = self.begin(connection)?;
        let mut position = self.position(connection)?;
        while position < self.records {
            let (values, next) = self.read(connection, position)?;
            let is_abandoned = self.one_in(ABANDONED_ONE_IN);
            self.write(connection, &producer, &values)?;
            if is_abandoned {
                self.chain.abandoned.fetch_add(1, Ordering::SeqCst);
                return None;
            }
            self.note(connection, &producer, next)?;
            let is_committed = !self.one_in(ABORTED_ONE_IN);
            let end = EndTxnRequest {
                transactional_id: producer.id.as_str().into(),
                producer_id: producer.producer_id.into(),
                producer_epoch: producer.epoch.into(),
                committed: is_committed,
            };
            let ended = call(connection, &end, 5)?;
            assert!(ended.error_code.is_none() || ended.error_code.is_retriable(), "{}", ended.error_code);
            if !ended.error_code.is_none() {
                return None;
            }
            (producer.producer_id, producer.epoch) = (ended.producer_id.get(), ended.producer_epoch.get());
            if is_committed {
                position = next;
                *self.chain.progress.lock() += values.len();
                self.chain.moved.notify_all();
            } else {
                self.chain.aborted.fetch_add(1, Ordering::SeqCst);
            }
        }
        Some(position)
    }

    /// Takes its id over from whoever had it.
    fn begin(&self, connection: &mut Connection) -> Option<Producer> {
        let id = format!("copier-{}", self.partition);
        let request = InitProducerIdRequest {
            transactional_id: Some(id.as_str().into()),
            transaction_timeout_ms: 60_000,
            producer_id: (-1).into(),
            producer_epoch: (-1).into(),
            ..InitProducerIdRequest::default()
        };
        loop {
            let answer = call(connection, &request, 5)?;
            if answer.error_code.is_none() {
                let (producer_id, epoch) = (answer.producer_id.get(), answer.producer_epoch.get());
                return Some(Producer { id, producer_id, epoch });
            }
            assert!(
                answer.error_code.is_retriable() || answer.error_code.get() == 16,
                "{}",
                answer.error_code
            );
        }
    }

    /// How far copiers have come.
    fn position(&self, connection: &mut Connection) -> Option<i64> {
        let request = OffsetFetchRequest {
            groups: vec![OffsetFetchRequestGroup {
                group_id: GROUP.into(),
                member_epoch: -1,
                topics: Some(vec![OffsetFetchRequestTopics {
                    name: SOURCE.into(),
                    partition_indexes: vec![self.partition.into()],
                    ..OffsetFetchRequestTopics::default()
                }]),
                ..OffsetFetchRequestGroup::default()
            }],
            require_stable: true,
            ..OffsetFetchRequest::default()
        };
        loop {
            let answer = call(connection, &request, 9)?;
            let group = &answer.groups[0];
            let Some(topic) = group.topics.first().filter(|_| group.error_code.is_none()) else { continue };
            if topic.partitions[0].error_code.is_none() {
                return Some(topic.partitions[0].committed_offset.get().max(0));
            }
        }
    }

    /// Whole batches from a position on.
    fn read(&self, connection: &mut Connection, position: i64) -> Option<(Vec<Vec<u8>>, i64)> {
        let mut request = fetch_request(SOURCE, self.partition, position);
        request.topics[0].partitions[0].partition_max_bytes = FETCH_BYTES;
        let answer = call(connection, &FetchRequest { max_bytes: i32::MAX, ..request }, 12)?;
        let (mut values, mut next) = (Vec::new(), position);
        for batch in batches_of(fetched(answer)) {
            next = batch.header().next_offset().get();
            for record in &batch.records(1 << 20).unwrap() {
                values.push(record.unwrap().value.unwrap().to_vec());
            }
        }
        Some((values, next))
    }

    fn write(&self, connection: &mut Connection, producer: &Producer, values: &[Vec<u8>]) -> Option<()> {
        let texts: Vec<&str> = values.iter().map(|value| std::str::from_utf8(value).unwrap()).collect();
        let request: ProduceRequest = producer.produce_request(SINK, self.partition, 0, &texts);
        let written = produced(call(connection, &request, 12)?);
        // Anything but success ends this life; the next one begins where the last commit was.
        written.error_code.is_none().then_some(())
    }

    /// Commits how far it has read, as part of the transaction.
    fn note(&self, connection: &mut Connection, producer: &Producer, next: i64) -> Option<()> {
        let request = TxnOffsetCommitRequest {
            transactional_id: producer.id.as_str().into(),
            group_id: GROUP.into(),
            producer_id: producer.producer_id.into(),
            producer_epoch: producer.epoch.into(),
            generation_id_or_member_epoch: -1,
            topics: vec![TxnOffsetCommitRequestTopic {
                name: SOURCE.into(),
                partitions: vec![TxnOffsetCommitRequestPartition {
                    partition_index: self.partition.into(),
                    committed_offset: next.into(),
                    ..TxnOffsetCommitRequestPartition::default()
                }],
                ..TxnOffsetCommitRequestTopic::default()
            }],
            ..TxnOffsetCommitRequest::default()
        };
        let answer = call(connection, &request, 5)?;
        answer.topics[0].partitions[0].error_code.is_none().then_some(())
    }
}

fn value(number: usize) -> String {
    format!("record {number}")
}

/// The source, with the same number of records in each partition.
fn fill(connection: &mut Connection, each: usize) {
    create_topic(connection, SOURCE, PARTITIONS);
    create_topic(connection, SINK, PARTITIONS);
    for partition in 0..PARTITIONS {
        for first in (0..each).step_by(BATCH) {
            let mut builder = BatchBuilder::new(Compression::NONE);
            for number in first..(first + BATCH).min(each) {
                let value = value(number);
                let record = NewRecord {
                    timestamp_ms: now_ms(),
                    key: None,
                    value: Some(value.as_bytes()),
                    headers: &[],
                };
                builder.append(&record).unwrap();
            }
            append(connection, SOURCE, partition, builder.finish_bytes().unwrap());
        }
    }
}

#[test]
fn each_record_comes_through_exactly_once_whoever_dies() {
    let records = number("OTTLA_CHAIN_RECORDS", 200_000);
    let kills = number("OTTLA_CHAIN_KILLS", 5);
    let each = records / usize::try_from(PARTITIONS).unwrap();
    let process = TestProcess::builder(BROKER).start();
    let mut connection = process.connect();
    fill(&mut connection, each);
    ready(&mut connection, "copier-0");
    group_requests::ready(&mut connection, GROUP);
    drop(connection);
    let chain = Chain {
        broker: RwLock::new(process.address()),
        progress: Mutex::new(0),
        moved: Condvar::new(),
        abandoned: AtomicUsize::new(0),
        aborted: AtomicUsize::new(0),
    };
    let process = std::thread::scope(|scope| {
        for partition in 0..PARTITIONS {
            let records = i64::try_from(each).unwrap();
            let random = u64::try_from(partition).unwrap() + 1;
            let copier = Copier { chain: &chain, partition, records, random };
            scope.spawn(move || copier.run());
        }
        let mut process = process;
        for kill in 1..=kills {
            let mut progress = chain.progress.lock();
            chain.moved.wait_while(&mut progress, |copied| *copied < kill * records / (kills + 1));
            drop(progress);
            let mut address = chain.broker.write();
            process = process.kill().start();
            *address = process.address();
        }
        process
    });
    let (abandoned, aborted) = (chain.abandoned.into_inner(), chain.aborted.into_inner());
    println!("{kills} brokers killed, {abandoned} copiers abandoned, {aborted} transactions aborted");
    assert!(abandoned >= 5 && aborted > 0, "{abandoned} abandoned, {aborted} aborted");
    let mut connection = process.connect();
    let wanted: Vec<String> = (0..each).map(value).collect();
    for partition in 0..PARTITIONS {
        let copied = committed(&mut connection, SINK, partition);
        assert_eq!(copied.len(), wanted.len(), "partition {partition}");
        assert!(copied == wanted, "partition {partition}: each once, in order");
    }
}
