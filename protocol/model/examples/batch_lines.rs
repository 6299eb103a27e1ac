//! Builds batches out of descriptions and describes batches, as JSON lines from stdin to stdout: one side of the
//! comparison with Kafka's own classes (`cargo xtask compat batches`), whose program speaks the same lines.
//!
//! `batch_lines build`: a description → `{"name", "hex"}`. `batch_lines read`: `{"name", "hex"}` → a description.

#![allow(clippy::print_stdout, reason = "the output is what the program is for")]

use std::io::BufRead as _;

use bytes::Bytes;
use ottla_model::batch::{BatchBuilder, NewRecord, RecordBatch, RecordView, TimestampType};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use serde_json::{Value, json};

const LIMIT_BYTES: usize = 64 << 20;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let line_of = match std::env::args().nth(1).as_deref() {
        Some("build") => build,
        Some("read") => read,
        _ => return Err("say build or read".into()),
    };
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        println!("{}", line_of(&line).map_err(|error| format!("{}: {error}", line["name"]))?);
    }
    Ok(())
}

fn build(description: &Value) -> Result<Value, Failure> {
    let number = |field: &str| description[field].as_i64();
    let codec: Codec = description["codec"].as_str().ok_or("no codec")?.parse()?;
    let compression = match number("level") {
        Some(level) => Compression::with_level(codec, i32::try_from(level)?)?,
        None => Compression::of(codec),
    };
    let mut builder = BatchBuilder::new(compression)
        .with_base_offset(Offset::new(number("baseOffset").unwrap_or(0)))
        .with_leader_epoch(LeaderEpoch::new(i32::try_from(number("leaderEpoch").unwrap_or(-1))?))
        .with_transactional(description["transactional"] == true);
    if let Some(id) = number("producerId") {
        let epoch = ProducerEpoch::new(i16::try_from(number("producerEpoch").unwrap_or(0))?);
        let sequence = i32::try_from(number("baseSequence").unwrap_or(-1))?;
        builder = builder.with_producer(ProducerId::new(id), epoch, sequence);
    }
    if let Some(now_ms) = number("logAppendTime") {
        builder = builder.with_log_append_time(now_ms);
    }
    if let Some(horizon_ms) = number("deleteHorizon") {
        builder = builder.with_delete_horizon(horizon_ms);
    }
    for record in description["records"].as_array().ok_or("no records")? {
        let (key, value) = (bytes_of(&record["key"])?, bytes_of(&record["value"])?);
        let mut headers = Vec::new();
        for header in record["headers"].as_array().into_iter().flatten() {
            headers.push((bytes_of(&header[0])?.ok_or("a header without a key")?, bytes_of(&header[1])?));
        }
        let headers: Vec<_> = headers.iter().map(|(key, value)| (key.as_slice(), value.as_deref())).collect();
        let new = NewRecord {
            timestamp_ms: record["timestamp"].as_i64().ok_or("no timestamp")?,
            key: key.as_deref(),
            value: value.as_deref(),
            headers: &headers,
        };
        builder.append_at(Offset::new(record["offset"].as_i64().ok_or("no offset")?), &new)?;
    }
    if let Some(last) = number("lastOffset") {
        builder.extend_to(Offset::new(last))?;
    }
    Ok(json!({ "name": description["name"], "hex": to_hex(&builder.finish_bytes()?) }))
}

fn read(line: &Value) -> Result<Value, Failure> {
    let mut rest = Bytes::from(bytes_of(&line["hex"])?.ok_or("no bytes")?);
    let mut batches = Vec::new();
    while let Some(batch) = RecordBatch::split_first(&mut rest)? {
        batch.verify_crc()?;
        let header = batch.header();
        let records = batch.records(LIMIT_BYTES)?;
        let records = records.iter().map(|record| record.map(|record| describe(&record)));
        batches.push(json!({
            "baseOffset": header.base_offset().get(),
            "lastOffset": header.last_offset().get(),
            "leaderEpoch": header.leader_epoch().get(),
            "codec": header.codec().ok_or("no codec")?.name(),
            "timestampType": match header.timestamp_type() {
                TimestampType::CreateTime => "CreateTime",
                TimestampType::LogAppendTime => "LogAppendTime",
            },
            "maxTimestamp": header.max_timestamp_ms(),
            "deleteHorizon": header.delete_horizon_ms(),
            "producerId": header.producer_id().get(),
            "producerEpoch": header.producer_epoch().get(),
            "baseSequence": header.base_sequence(),
            "transactional": header.is_transactional(),
            "control": header.is_control(),
            "count": header.record_count(),
            "records": records.collect::<Result<Vec<Value>, _>>()?,
        }));
    }
    if !rest.is_empty() {
        return Err(format!("{} bytes follow the last batch", rest.len()).into());
    }
    Ok(json!({ "name": line["name"], "batches": batches }))
}

fn describe(record: &RecordView<'_>) -> Value {
    let headers = record.headers.map(|(key, value)| json!([to_hex(key), value.map(to_hex)]));
    json!({
        "offset": record.offset.get(),
        "timestamp": record.timestamp_ms,
        "key": record.key.map(to_hex),
        "value": record.value.map(to_hex),
        "headers": headers.collect::<Vec<Value>>(),
    })
}

/// Hexadecimal digits, or null.
fn bytes_of(value: &Value) -> Result<Option<Vec<u8>>, Failure> {
    let Some(text) = value.as_str() else { return Ok(None) };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err("an odd number of digits".into());
    }
    let byte = |pair: &[u8; 2]| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
    pairs.iter().map(byte).collect::<Result<Vec<u8>, Failure>>().map(Some)
}

fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}
