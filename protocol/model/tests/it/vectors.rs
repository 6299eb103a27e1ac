//! Reads the golden bytes of `tests/data` and puts what our code reads into the same form.

use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use ottla_model::batch::{RecordBatch, RecordView, Records, RecordsError, TimestampType, sequence_after};
use serde_json::{Value, json};

/// More than any vector holds.
pub(crate) const LIMIT_BYTES: usize = 1 << 20;

/// The lines of a file.
pub(crate) fn lines(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{name}.jsonl.gz"));
    let file = std::fs::File::open(&path).expect("the vectors are there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("the vectors are gzip");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert!(!lines.is_empty(), "{name} has lines");
    lines
}

pub(crate) fn hex_of(value: &Value) -> Vec<u8> {
    from_hex(value.as_str().expect("a hex string"))
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hex digit");
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { panic!("hex has pairs of digits: {text}") };
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high) * 16 + digit(*low)).expect("two digits"))
        .collect()
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A byte string of a vector: null, hex, or hex repeated.
pub(crate) fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Null => None,
        Value::Object(repeated) => {
            let times = usize::try_from(repeated["times"].as_u64().expect("a count")).expect("a small count");
            Some(hex_of(&repeated["repeat"]).repeat(times))
        }
        hex => Some(hex_of(hex)),
    }
}

/// All batches of magic 2 in a row.
pub(crate) fn split(hex: &Value) -> Vec<RecordBatch> {
    let mut bytes = Bytes::from(hex_of(hex));
    let mut batches = Vec::new();
    while let Some(batch) = RecordBatch::split_first(&mut bytes).expect("a batch") {
        batches.push(batch);
    }
    assert!(bytes.is_empty(), "nothing follows the last batch");
    batches
}

/// The batch as the vectors describe it, without its records.
pub(crate) fn describe(batch: &RecordBatch) -> Value {
    let header = batch.header();
    json!({
        "baseOffset": header.base_offset().get(),
        "lastOffset": header.last_offset().get(),
        "sizeInBytes": header.size(),
        "magic": 2,
        "codec": header.codec().expect("a codec").name(),
        "timestampType": match header.timestamp_type() {
            TimestampType::CreateTime => "CreateTime",
            TimestampType::LogAppendTime => "LogAppendTime",
        },
        "maxTimestamp": header.max_timestamp_ms(),
        "crc": header.crc(),
        "baseTimestamp": header.base_timestamp_ms(),
        "partitionLeaderEpoch": header.leader_epoch().get(),
        "producerId": header.producer_id().get(),
        "producerEpoch": header.producer_epoch().get(),
        "baseSequence": header.base_sequence(),
        "lastSequence": header.last_sequence(),
        "transactional": header.is_transactional(),
        "control": header.is_control(),
        "deleteHorizonMs": header.delete_horizon_ms(),
        "count": header.record_count(),
    })
}

/// The records as the vectors describe them.
pub(crate) fn describe_records(records: &Records) -> Vec<Result<Value, RecordsError>> {
    let base_sequence = records.header().base_sequence();
    records.iter().map(|record| record.map(|record| describe_record(&record, base_sequence))).collect()
}

fn describe_record(record: &RecordView<'_>, base_sequence: i32) -> Value {
    let headers: Vec<Value> = record
        .headers
        .map(|(key, value)| json!({ "key": String::from_utf8_lossy(key), "value": value.map(to_hex) }))
        .collect();
    let mut described = json!({
        "offset": record.offset.get(),
        "timestamp": record.timestamp_ms,
        "key": record.key.map(to_hex),
        "value": record.value.map(to_hex),
        "headers": headers,
    });
    if base_sequence >= 0 {
        described["sequence"] = json!(sequence_after(base_sequence, record.offset_delta));
    }
    described
}

/// The records of a vector with repeated byte strings written out and without what control records mean.
pub(crate) fn plain_records(records: &Value) -> Vec<Value> {
    let mut records = records.as_array().expect("records").clone();
    for record in &mut records {
        for field in ["key", "value"] {
            record[field] = json!(bytes_of(&record[field]).map(|bytes| to_hex(&bytes)));
        }
        record.as_object_mut().expect("a record").remove("controlRecord");
    }
    records
}
