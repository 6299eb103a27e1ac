//! Batches that Kafka wrote: what they mean, and that our builder writes the same.

use bytes::Bytes;
use ottla_model::batch::{
    BatchBuilder, BatchFrame, CheckedBatch, ControlRecordType, EndTxnMarker, NewRecord, RecordBatch,
    control_key, parse_control_key,
};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use serde_json::Value;

use crate::vectors::{
    LIMIT_BYTES, bytes_of, describe, describe_records, from_hex, hex_of, lines, plain_records, split, to_hex,
};

const FILES: [&str; 2] = ["batches-v2", "control-batches"];

fn assert_batch_is(batch: &RecordBatch, expected: &Value, name: &str) {
    let mut header = expected.clone();
    header.as_object_mut().expect("a batch").remove("records");
    assert_eq!(describe(batch), header, "{name}");
    batch.verify_crc().unwrap_or_else(|error| panic!("{name}: {error}"));
    let records = batch.records(LIMIT_BYTES).unwrap_or_else(|error| panic!("{name}: {error}"));
    let described: Result<Vec<Value>, _> = describe_records(&records).into_iter().collect();
    let described = described.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(described, plain_records(&expected["records"]), "{name}");
}

#[test]
fn batches_of_kafka_mean_what_kafka_says() {
    for line in FILES.into_iter().flat_map(lines) {
        let name = line["name"].as_str().expect("a name");
        let [batch] = split(&line["hex"]).try_into().unwrap_or_else(|_| panic!("{name} is one batch"));
        assert_batch_is(&batch, &line["batches"][0], name);
    }
}

#[test]
fn batches_in_a_row_are_told_apart() {
    let mut compared = 0;
    for line in lines("sequences-of-batches") {
        let name = line["name"].as_str().expect("a name");
        let expected = line["batches"].as_array().expect("batches");
        if expected.iter().any(|batch| batch["magic"] != 2) {
            continue;
        }
        let batches = split(&line["hex"]);
        assert_eq!(batches.len(), expected.len(), "{name}");
        for (batch, expected) in batches.iter().zip(expected) {
            assert_batch_is(batch, expected, name);
            compared += 1;
        }
    }
    assert!(compared > 1, "batches were compared");
}

#[test]
fn records_are_the_same_bytes_however_they_are_added() {
    // Around the lengths at which a number takes a byte more.
    let long = vec![b'x'; 70_000];
    let lengths = [0, 1, 30, 52, 53, 54, 63, 64, 65, 8_140, 8_177, 8_191, 8_192, 8_193, 70_000];
    let fields: Vec<Option<&[u8]>> =
        [None].into_iter().chain(lengths.map(|length| Some(&long[..length]))).collect();
    let headers: &[(&[u8], Option<&[u8]>)] = &[(b"k", Some(b"v")), (b"", None)];
    let mut records = Vec::new();
    for (at, key) in fields.iter().copied().enumerate() {
        for value in fields.iter().copied() {
            for timestamp_ms in [0, 63, 64, 8_191, 8_192, -64, -65, -8_192, -8_193, i64::MAX, i64::MIN] {
                let headers = if at % 5 == 4 { headers } else { &[] };
                records.push(NewRecord { timestamp_ms, key, value, headers });
            }
        }
    }
    // Each record alone too: the first has no time before it, and the buffer must grow for it.
    let many = vec![NewRecord { timestamp_ms: 1, ..NewRecord::default() }; 8_200];
    let lots = [&records[..], &many].into_iter().chain(records.chunks(1)).chain(records.chunks(7));
    for records in lots {
        let [mut one_by_one, mut together, mut at_offsets] =
            [0, 1000, 0].map(|room| BatchBuilder::with_capacity(Compression::NONE, room));
        together.extend(records.iter().copied()).expect("they fit");
        for (at, record) in (0..).zip(records) {
            assert_eq!(one_by_one.append(record).expect("it fits"), Offset::new(at));
            at_offsets.append_at(Offset::new(at), record).expect("it fits");
        }
        let expected = at_offsets.finish_bytes().expect("a batch");
        assert_eq!(one_by_one.finish_bytes().expect("a batch"), expected);
        assert_eq!(together.finish_bytes().expect("a batch"), expected);
        let batch = RecordBatch::split_first(&mut expected.clone()).expect("a batch").expect("all of it");
        for (read, record) in batch.records(LIMIT_BYTES).expect("records").iter().zip(records) {
            let read = read.expect("a record");
            assert_eq!(
                (read.timestamp_ms, read.key, read.value),
                (record.timestamp_ms, record.key, record.value)
            );
            assert_eq!(read.headers.collect::<Vec<_>>(), record.headers);
        }
    }
}

/// Builds what a vector describes, the way that a producer, a leader or a cleaner would.
fn build(expected: &Value) -> CheckedBatch {
    let number = |field: &str| expected[field].as_i64().unwrap_or_else(|| panic!("{field} is a number"));
    let small = |field: &str| i32::try_from(number(field)).expect("32 bits");
    let flag = |field: &str| expected[field].as_bool().expect("a flag");
    let codec: Codec = expected["codec"].as_str().expect("a codec").parse().expect("a codec that exists");
    let epoch = i16::try_from(number("producerEpoch")).expect("16 bits");

    let mut builder = BatchBuilder::new(Compression::of(codec))
        .with_base_offset(Offset::new(number("baseOffset")))
        .with_leader_epoch(LeaderEpoch::new(small("partitionLeaderEpoch")))
        .with_producer(
            ProducerId::new(number("producerId")),
            ProducerEpoch::new(epoch),
            small("baseSequence"),
        )
        .with_transactional(flag("transactional"))
        .with_control(flag("control"));
    if let Some(horizon) = expected["deleteHorizonMs"].as_i64() {
        builder = builder.with_delete_horizon(horizon);
    }
    let records = expected["records"].as_array().expect("records");
    let log_append_time = expected["timestampType"] == "LogAppendTime";
    if log_append_time {
        builder = builder.with_log_append_time(number("maxTimestamp"));
    } else if records.is_empty() {
        builder = builder.with_max_timestamp_at_least(number("maxTimestamp"));
    }
    for record in records {
        let offset = Offset::new(record["offset"].as_i64().expect("an offset"));
        // Under LogAppendTime the records' own times show only in the base; the vectors' have it, and 2 more each.
        let timestamp_ms = if log_append_time {
            number("baseTimestamp") + 2 * (offset.get() - number("baseOffset"))
        } else {
            record["timestamp"].as_i64().expect("a timestamp")
        };
        let (key, value) = (bytes_of(&record["key"]), bytes_of(&record["value"]));
        let headers: Vec<(&str, Option<Vec<u8>>)> = record["headers"]
            .as_array()
            .expect("headers")
            .iter()
            .map(|header| (header["key"].as_str().expect("a key"), bytes_of(&header["value"])))
            .collect();
        let headers: Vec<(&[u8], Option<&[u8]>)> =
            headers.iter().map(|(key, value)| (key.as_bytes(), value.as_deref())).collect();
        let record =
            NewRecord { timestamp_ms, key: key.as_deref(), value: value.as_deref(), headers: &headers };
        builder.append_at(offset, &record).expect("the record fits");
    }
    builder.extend_to(Offset::new(number("lastOffset"))).expect("the last offset fits");
    builder.finish().expect("the batch fits")
}

#[test]
fn without_compression_the_builder_writes_the_bytes_of_kafka() {
    let mut compared = 0;
    for line in FILES.into_iter().flat_map(lines) {
        let expected = &line["batches"][0];
        if expected["codec"] != "none" {
            continue;
        }
        assert_eq!(
            to_hex(&build(expected).to_bytes()),
            line["hex"].as_str().expect("hex"),
            "{}",
            line["name"]
        );
        compared += 1;
    }
    assert!(compared > 20, "only {compared} batches were compared");
}

#[test]
fn with_compression_the_builder_writes_the_records_of_kafka() {
    for line in lines("batches-v2") {
        let expected = &line["batches"][0];
        let built = build(expected);
        let mut bytes = built.to_bytes();
        let batch = RecordBatch::split_first(&mut bytes).expect("a batch").expect("all of it");
        let mut described = describe(&batch);
        for by_encoder in ["crc", "sizeInBytes"] {
            described[by_encoder] = expected[by_encoder].clone();
        }
        let mut header = expected.clone();
        header.as_object_mut().expect("a batch").remove("records");
        assert_eq!(described, header, "{}", line["name"]);
        batch.verify_crc().expect("the right checksum");
        let records: Result<Vec<Value>, _> =
            describe_records(&built.records(LIMIT_BYTES).expect("records")).into_iter().collect();
        assert_eq!(records.expect("records"), plain_records(&expected["records"]), "{}", line["name"]);
    }
}

#[test]
fn damaged_batches_fail_where_kafka_fails() {
    for line in lines("invalid-batches") {
        let name = line["name"].as_str().expect("a name");
        let mut bytes = Bytes::from(hex_of(&line["hex"]));
        let framing = match BatchFrame::peek(&bytes) {
            Err(_) => "corrupt",
            Ok(Some(frame)) if frame.size() <= bytes.len() => "ok",
            Ok(_) => "incomplete",
        };
        match line["framing"].as_str().expect("a verdict") {
            verdict @ ("ok" | "incomplete") => assert_eq!(framing, verdict, "{name}"),
            _ => assert_eq!(framing, "corrupt", "{name}"),
        }
        if framing != "ok" {
            continue;
        }
        let expect_ok = |field: &str| line[field] == "ok";
        let batch = match RecordBatch::split_first(&mut bytes) {
            Ok(batch) => batch.expect("a whole batch"),
            Err(_) => {
                // No header, so neither checksum nor records.
                assert!(!expect_ok("checksum") && !expect_ok("records"), "{name}");
                continue;
            }
        };
        assert_eq!(batch.verify_crc().is_ok(), expect_ok("checksum"), "{name}");
        let read = match batch.records(LIMIT_BYTES) {
            Ok(records) => describe_records(&records),
            Err(error) => vec![Err(error)],
        };
        assert_eq!(read.iter().all(Result::is_ok), expect_ok("records"), "{name}: {read:?}");
        // Kafka decompresses all before it shows the first.
        let all_or_none = batch.header().codec() != Some(Codec::None) && read.iter().any(Result::is_err);
        let read = if all_or_none { Vec::new() } else { read };
        let before: Vec<Value> = read.into_iter().map_while(Result::ok).collect();
        assert_eq!(before, plain_records(&line["recordsRead"]), "{name}");
    }
}

#[test]
fn markers_and_control_records_are_those_of_kafka() {
    for line in lines("control-batches") {
        let expected = &line["batches"][0];
        let record = &expected["records"][0];
        let control = &record["controlRecord"];
        let kind = i16::try_from(control["typeId"].as_i64().expect("a type")).expect("16 bits");
        let kind = ControlRecordType::new(kind);
        let (key, value) = (hex_of(&record["key"]), hex_of(&record["value"]));
        assert_eq!(parse_control_key(&key), Ok(kind), "{}", line["name"]);
        assert_eq!(control_key(kind).as_slice(), key, "{}", line["name"]);

        let marker = EndTxnMarker::parse(&key, &value);
        let Some(epoch) = control["coordinatorEpoch"].as_i64() else {
            assert!(marker.is_err(), "{}", line["name"]);
            continue;
        };
        let marker = marker.expect("a marker");
        assert_eq!(i64::from(marker.coordinator_epoch), epoch, "{}", line["name"]);
        assert_eq!(marker.committed, control["type"] == "COMMIT", "{}", line["name"]);
        let mut batch = marker
            .to_batch(ProducerId::new(77), ProducerEpoch::new(3), 1_700_000_000_000)
            .expect("a marker's batch");
        batch.assign(Offset::new(1234), LeaderEpoch::new(9));
        assert_eq!(to_hex(&batch.to_bytes()), line["hex"].as_str().expect("hex"), "{}", line["name"]);
    }
}

#[test]
fn a_marker_cut_short_or_of_a_negative_version_is_an_error() {
    let (key, value) = (from_hex("00000001"), from_hex("000000000005"));
    for cut in 0..key.len() {
        assert!(EndTxnMarker::parse(&key[..cut], &value).is_err());
    }
    for cut in 0..value.len() {
        assert!(EndTxnMarker::parse(&key, &value[..cut]).is_err());
    }
    assert!(EndTxnMarker::parse(&from_hex("ffff0001"), &value).is_err());
    assert!(EndTxnMarker::parse(&from_hex("000000010000"), &from_hex("00010000000500")).is_ok());
}

#[test]
fn placing_a_batch_leaves_its_checksum_and_its_records_alone() {
    for line in lines("batches-v2") {
        let bytes = Bytes::from(hex_of(&line["hex"]));
        let mut batch = CheckedBatch::from_leader(&bytes).expect("a batch of Kafka's");
        let delta = i64::from(batch.header().last_offset_delta());
        batch.assign(Offset::new(1 << 40), LeaderEpoch::new(31));
        assert_eq!(batch.base_offset().get(), 1 << 40);
        assert_eq!(batch.last_offset().get(), (1 << 40) + delta);
        assert_eq!(batch.header().leader_epoch().get(), 31);
        let placed = batch.to_bytes();
        assert_eq!(placed[16..], bytes[16..], "{}", line["name"]);
        let again = CheckedBatch::from_leader(&placed).expect("still a batch");
        assert_eq!(again.header(), batch.header(), "{}", line["name"]);
    }
}

#[test]
fn stamping_the_append_time_renews_the_checksum() {
    for line in lines("batches-v2") {
        let bytes = Bytes::from(hex_of(&line["hex"]));
        let mut batch = CheckedBatch::from_leader(&bytes).expect("a batch of Kafka's");
        batch.stamp_log_append_time(1_234_567);
        let stamped = CheckedBatch::from_leader(&batch.to_bytes()).expect("the right checksum");
        assert_eq!(stamped.max_timestamp_ms(), 1_234_567);
        assert_eq!(stamped.body(), batch.body());
        for record in &stamped.records(LIMIT_BYTES).expect("records") {
            assert_eq!(record.expect("a record").timestamp_ms, 1_234_567, "{}", line["name"]);
        }
    }
}

#[test]
#[should_panic(expected = "would end beyond the last one")]
fn a_batch_has_no_place_beyond_the_last_offset() {
    let mut builder = BatchBuilder::new(Compression::NONE);
    for _ in 0..2 {
        builder.append(&NewRecord::default()).expect("a record");
    }
    builder.finish().expect("a batch").assign(Offset::MAX, LeaderEpoch::new(0));
}

#[test]
fn offsets_in_a_batch_only_ascend() {
    let mut builder = BatchBuilder::new(Compression::NONE).with_base_offset(Offset::new(10));
    let record = NewRecord { value: Some(b"v"), ..NewRecord::default() };
    assert!(builder.append_at(Offset::new(9), &record).is_err());
    assert!(builder.append_at(Offset::new(10 + (1 << 31)), &record).is_err());
    assert_eq!(builder.append(&record).expect("the first"), Offset::new(10));
    assert!(builder.append_at(Offset::new(10), &record).is_err());
    assert!(builder.append_at(Offset::new(12), &record).is_ok());
    assert!(builder.extend_to(Offset::new(11)).is_err());
    assert_eq!(builder.append(&record).expect("the third"), Offset::new(13));
    let batch = builder.finish().expect("a batch");
    let offsets: Vec<i64> = batch
        .records(0)
        .expect("records")
        .iter()
        .map(|record| record.expect("a record").offset.get())
        .collect();
    assert_eq!(offsets, [10, 12, 13]);
}
