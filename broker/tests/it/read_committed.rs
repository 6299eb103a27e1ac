//! Readers of committed records, in a log that holds transactions: written here into the directory of a stopped broker, so
//! that no coordinator has to do with it.

use std::path::Path;

use ottla_model::batch::{BatchBuilder, EndTxnMarker, NO_SEQUENCE, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use ottla_protocol::messages::fetch::{FetchRequest, PartitionData};
use ottla_protocol::messages::list_offsets::ListOffsetsRequest;
use ottla_storage::{Log as _, LogConfig, LogDir, TopicPartition};
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{
    append, base_offsets, batch, create_topic, fetch_request, fetched, list_offsets_request, now_ms,
};

/// Who wrote it, and its first sequence.
fn written_by(producer: i64, sequence: i32, records: usize) -> BatchBuilder {
    let mut builder = BatchBuilder::new(Compression::NONE)
        .with_producer(ProducerId::new(producer), ProducerEpoch::new(0), sequence)
        .with_transactional(true);
    for _ in 0..records {
        let record = NewRecord { timestamp_ms: now_ms(), key: None, value: Some(b"v"), headers: &[] };
        builder.append(&record).unwrap();
    }
    builder
}

/// Offsets 1 to 2: aborted by producer 7, marker at 3. Offsets 4 to 5: committed by producer 8, marker at 6. Offsets 7 to
/// 8: of producer 7 again, still open.
fn write_transactions(data: &Path) {
    assert_ne!(NO_SEQUENCE, 0);
    let directory = LogDir::open(data).unwrap();
    directory.load(1, now_ms(), &|_| LogConfig::default()).unwrap();
    let log = directory.log(&TopicPartition { topic: "t".into(), partition: 0.into() }).unwrap();
    let epoch = log.latest_epoch().unwrap_or(LeaderEpoch::new(0));
    let marker = |producer: i64, committed| {
        let marker = EndTxnMarker { committed, coordinator_epoch: 0 };
        marker.to_batch(ProducerId::new(producer), ProducerEpoch::new(0), now_ms()).unwrap()
    };
    for batch in [
        written_by(7, 0, 2).finish().unwrap(),
        marker(7, false),
        written_by(8, 0, 2).finish().unwrap(),
        marker(8, true),
        written_by(7, 2, 2).finish().unwrap(),
    ] {
        log.append_as_leader(batch, epoch, now_ms()).unwrap();
    }
    let epoch = directory.previous_broker_epoch().unwrap_or(-1);
    directory.close(epoch, now_ms()).unwrap();
}

fn fetch(connection: &mut Connection, offset: i64, isolation_level: i8) -> PartitionData {
    let request = FetchRequest { isolation_level, ..fetch_request("t", 0, offset) };
    fetched(connection.call(&request, 12))
}

fn latest(connection: &mut Connection, timestamp: i64, isolation_level: i8) -> i64 {
    let request = ListOffsetsRequest { isolation_level, ..list_offsets_request("t", 0, timestamp) };
    connection.call(&request, 7).topics[0].partitions[0].offset.get()
}

#[test]
fn committed_reads_end_at_the_last_stable_offset_and_name_what_was_aborted() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    append(&mut connection, "t", 0, batch(1));
    drop(connection);
    let plan = broker.into_plan();
    write_transactions(plan.data());
    let broker = plan.start();
    let mut connection = broker.connect();

    let all = fetch(&mut connection, 0, 0);
    assert_eq!((all.high_watermark.get(), all.last_stable_offset.get()), (9, 7));
    assert_eq!(all.aborted_transactions, None, "who reads everything is told of nothing");
    assert_eq!(base_offsets(all), [0, 1, 3, 4, 6, 7]);

    let committed = fetch(&mut connection, 0, 1);
    let aborted = committed.aborted_transactions.clone().unwrap();
    let aborted: Vec<_> =
        aborted.iter().map(|aborted| (aborted.producer_id.get(), aborted.first_offset.get())).collect();
    assert_eq!(aborted, [(7, 1)]);
    assert_eq!(base_offsets(committed), [0, 1, 3, 4, 6], "aborted records and markers are sent all the same");
    let beyond = fetch(&mut connection, 4, 1);
    assert_eq!(beyond.aborted_transactions.as_deref(), Some(&[][..]));
    let open = fetch(&mut connection, 7, 1);
    assert!(base_offsets(open).is_empty());

    assert_eq!((latest(&mut connection, -1, 0), latest(&mut connection, -1, 1)), (9, 7));
    assert_eq!(latest(&mut connection, i64::MAX, 1), Offset::UNKNOWN.get());
    // More that is not of a transaction does not move the end of what is stable.
    append(&mut connection, "t", 0, batch(1));
    assert_eq!((latest(&mut connection, -1, 0), latest(&mut connection, -1, 1)), (10, 7));
}
