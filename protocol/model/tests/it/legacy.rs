//! Magic 0 and 1, which are only read.

use bytes::Bytes;
use ottla_model::batch::{
    BatchError, BatchFrame, LEGACY_CRC_FROM, LegacyBatch, LegacyChecksum, LegacyHeader, LegacyRecord,
    RecordBatch, TimestampType,
};
use serde_json::{Value, json};

use crate::vectors::{LIMIT_BYTES, describe, hex_of, lines, plain_records, to_hex};

fn describe_legacy(batch: &LegacyBatch, records: &[LegacyRecord]) -> Value {
    json!({
        "baseOffset": records[0].offset.get(),
        "lastOffset": batch.last_offset().get(),
        "sizeInBytes": batch.size(),
        "magic": batch.magic(),
        "codec": batch.codec().expect("a codec").name(),
        "timestampType": match batch.timestamp_type() {
            None => "NoTimestampType",
            Some(TimestampType::CreateTime) => "CreateTime",
            Some(TimestampType::LogAppendTime) => "LogAppendTime",
        },
        "maxTimestamp": batch.max_timestamp_ms(),
        "records": records.iter().map(|record| json!({
            "offset": record.offset.get(),
            "timestamp": record.timestamp_ms,
            "key": record.key.as_deref().map(to_hex),
            "value": record.value.as_deref().map(to_hex),
            "headers": [],
        })).collect::<Vec<Value>>(),
    })
}

#[test]
fn messages_of_kafka_mean_what_kafka_says() {
    let mut compared = 0;
    for line in lines("message-sets-v0-v1").into_iter().chain(lines("sequences-of-batches")) {
        let name = &line["name"];
        let mut bytes = Bytes::from(hex_of(&line["hex"]));
        for expected in line["batches"].as_array().expect("batches") {
            let frame = BatchFrame::peek(&bytes).expect("a frame").expect("all of it");
            if frame.magic() == 2 {
                let batch = RecordBatch::split_first(&mut bytes).expect("a batch").expect("all of it");
                assert_eq!(describe(&batch)["baseOffset"], expected["baseOffset"], "{name}");
                continue;
            }
            let batch = LegacyBatch::split_first(&mut bytes).expect("a message").expect("all of it");
            batch.verify_crc().unwrap_or_else(|error| panic!("{name}: {error}"));
            let records = batch.records(LIMIT_BYTES).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut expected = expected.clone();
            expected["records"] = plain_records(&expected["records"]).into();
            assert_eq!(describe_legacy(&batch, &records), expected, "{name}");
            compared += 1;
        }
        assert!(bytes.is_empty(), "{name}");
    }
    assert!(compared > 19, "only {compared} messages were compared");
}

#[test]
fn messages_cut_or_changed_anywhere_are_errors_at_most() {
    let use_up = |bytes: &[u8]| {
        let mut rest = Bytes::copy_from_slice(bytes);
        while let Ok(Some(batch)) = LegacyBatch::split_first(&mut rest) {
            let _ = batch.verify_crc();
            let _ = batch.records(LIMIT_BYTES);
        }
    };
    for line in lines("message-sets-v0-v1") {
        let bytes = hex_of(&line["hex"]);
        let size = BatchFrame::peek(&bytes).expect("a frame").expect("all of it").size();
        for at in 0..bytes.len() {
            let mut cut = Bytes::copy_from_slice(&bytes[..at]);
            assert_eq!(matches!(LegacyBatch::split_first(&mut cut), Ok(Some(_))), at >= size, "cut at {at}");
            use_up(&bytes[..at]);
            for flip in [0x01, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                use_up(&damaged);
            }
        }
    }
}

#[test]
fn thirty_bytes_tell_of_a_message_what_the_whole_of_it_does() {
    for line in lines("message-sets-v0-v1") {
        let bytes = hex_of(&line["hex"]);
        let message = LegacyBatch::split_first(&mut Bytes::from(bytes.clone())).expect("one").expect("whole");
        let front = &bytes[..bytes.len().min(30)];
        let header = LegacyHeader::parse(front).expect("a message").expect("enough bytes");
        assert_eq!((header.size(), header.magic()), (message.size(), message.magic()));
        assert_eq!(header.last_offset(), message.last_offset());
        assert_eq!(header.max_timestamp_ms(), message.max_timestamp_ms());
        let mut checksum = LegacyChecksum::default();
        for piece in bytes[LEGACY_CRC_FROM..message.size()].chunks(7) {
            checksum.update(piece);
        }
        assert_eq!(checksum.sum(), header.crc(), "{}", line["name"]);
        let key_at = if header.magic() == 0 { 18 } else { 26 };
        for bytes in 0..key_at + 4 {
            assert_eq!(LegacyHeader::parse(&front[..bytes]), Ok(None), "{bytes} bytes");
        }
    }
}

#[test]
fn a_front_that_no_message_has_is_told_by_its_length_or_its_key() {
    let bytes = hex_of(&lines("message-sets-v0-v1")[0]["hex"]);
    let changed = |at: usize, field: i32| {
        let mut changed = bytes.clone();
        changed[at..at + 4].copy_from_slice(&field.to_be_bytes());
        LegacyHeader::parse(&changed)
    };
    // The two lengths need 26 bytes of a message of magic 0, 14 of which the length counts.
    assert_eq!(changed(8, 13), Err(BatchError::Length { length: 13 }));
    let room =
        i32::try_from(BatchFrame::peek(&bytes).expect("one").expect("whole").size() - 26).expect("few");
    assert!(changed(18, room).is_ok() && changed(18, -1).is_ok());
    for key in [room + 1, i32::MAX, -2, i32::MIN] {
        assert_eq!(changed(18, key), Err(BatchError::Magic { magic: 0 }), "a key of {key}");
    }
    let batch = hex_of(&lines("batches-v2")[0]["hex"]);
    assert_eq!(LegacyHeader::parse(&batch), Err(BatchError::Magic { magic: 2 }));
}

#[test]
fn magic_2_is_no_message_and_a_message_is_no_batch() {
    let mut batch = Bytes::from(hex_of(&lines("batches-v2")[0]["hex"]));
    assert!(LegacyBatch::split_first(&mut batch).is_err());
    let mut message = Bytes::from(hex_of(&lines("message-sets-v0-v1")[0]["hex"]));
    assert!(RecordBatch::split_first(&mut message).is_err());
}

#[test]
fn a_bomb_in_a_message_is_an_error() {
    for line in lines("message-sets-v0-v1") {
        let mut bytes = Bytes::from(hex_of(&line["hex"]));
        let batch = LegacyBatch::split_first(&mut bytes).expect("a message").expect("all of it");
        let compressed = batch.codec().is_some_and(|codec| codec.id() != 0);
        assert_eq!(batch.records(10).is_err(), compressed, "{}", line["name"]);
    }
}
