//! `get-offset` against a broker: which lines it prints, in which order, and how it ends.

use bytes::Bytes;
use ottla_client::{Client, ClientConfig, OffsetSpec};
use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{ErrorCode, PartitionIndex};
use ottla_protocol::Records;
use ottla_protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_testkit::{Connection, TestBroker};
use ottla_tools::Ending;
use ottla_tools::get_offset::{PartitionFilter, get_offsets};

fn create_topic(connection: &mut Connection, name: &str, partitions: i32) {
    let topic = CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor: 1,
        ..CreatableTopic::default()
    };
    let request =
        CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..CreateTopicsRequest::default() };
    assert_eq!(connection.call(&request, 7).topics[0].error_code, ErrorCode::NONE);
}

fn batch(timestamps_ms: &[i64]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::NONE);
    for timestamp_ms in timestamps_ms {
        let record =
            NewRecord { timestamp_ms: *timestamp_ms, key: None, value: Some(b"value"), headers: &[] };
        builder.append(&record).unwrap();
    }
    builder.finish_bytes().unwrap()
}

fn append(connection: &mut Connection, topic: &str, partition: i32, timestamps_ms: &[i64]) {
    let data = PartitionProduceData {
        index: PartitionIndex::new(partition),
        records: Some(Records::Inline(batch(timestamps_ms))),
    };
    let topic =
        TopicProduceData { name: topic.into(), partition_data: [data].into(), ..TopicProduceData::default() };
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 10_000,
        topic_data: [topic].into(),
        ..ProduceRequest::default()
    };
    let response = connection.call(&request, 9);
    assert_eq!(response.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
}

fn ask(broker: &TestBroker, filter: &PartitionFilter, spec: OffsetSpec) -> (String, String, Ending) {
    let bootstrap = broker.address().to_string().parse().unwrap();
    let mut client = Client::new(bootstrap, ClientConfig::default());
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ending = runtime.block_on(get_offsets(&mut client, filter, spec, &mut out, &mut notes)).unwrap();
    (String::from_utf8(out).unwrap(), String::from_utf8(notes).unwrap(), ending)
}

#[test]
fn each_partition_has_its_line_and_ten_stands_before_two() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "wide", 11);
    append(&mut connection, "wide", 2, &[1000, 2000]);
    append(&mut connection, "wide", 10, &[1000]);
    let filter = PartitionFilter::topic_and_partitions(Some("wide"), &[]).unwrap();
    let (out, notes, ending) = ask(&broker, &filter, OffsetSpec::Latest);
    let expected: Vec<_> =
        [(0, 0), (1, 0), (10, 1), (2, 2), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0)]
            .iter()
            .map(|(partition, offset)| format!("wide:{partition}:{offset}"))
            .collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    assert_eq!((notes.as_str(), ending), ("", Ending::Fine));
}

#[test]
fn times_find_the_first_record_at_or_after_them_and_a_partition_without_one_has_no_line() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "timed", 2);
    append(&mut connection, "timed", 0, &[5000, 9000, 7000]);
    let filter = PartitionFilter::all();
    for (spec, expected) in [
        (OffsetSpec::Earliest, "timed:0:0\ntimed:1:0\n"),
        (OffsetSpec::EarliestLocal, "timed:0:0\ntimed:1:0\n"),
        (OffsetSpec::MaxTimestamp, "timed:0:1\n"),
        (OffsetSpec::LatestTiered, ""),
        (OffsetSpec::EarliestPendingUpload, ""),
        (OffsetSpec::Time(0), "timed:0:0\n"),
        (OffsetSpec::Time(5001), "timed:0:1\n"),
        (OffsetSpec::Time(9001), ""),
    ] {
        assert_eq!(
            ask(&broker, &filter, spec),
            (expected.to_owned(), String::new(), Ending::Fine),
            "{spec:?}"
        );
    }
}

#[test]
fn nothing_that_fits_and_nobody_who_answers_are_failures() {
    let broker = TestBroker::start();
    let filter = PartitionFilter::topic_and_partitions(Some("no.*"), &[]).unwrap();
    let (out, notes, ending) = ask(&broker, &filter, OffsetSpec::Latest);
    assert_eq!((out.as_str(), ending), ("", Ending::Failed));
    assert_eq!(notes, "Error occurred: Could not match any topic-partitions with the specified filters\n");

    let address = broker.address();
    let plan = broker.into_plan();
    let mut client = Client::new(address.to_string().parse().unwrap(), ClientConfig::default());
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked = get_offsets(&mut client, &filter, OffsetSpec::Latest, &mut out, &mut notes);
    assert_eq!(runtime.block_on(asked).unwrap(), Ending::Failed);
    let notes = String::from_utf8(notes).unwrap();
    assert!(notes.contains(&format!("no bootstrap server can be reached: {address}")), "{notes}");
    drop(plan);
}
