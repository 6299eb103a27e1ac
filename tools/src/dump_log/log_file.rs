//! Prints `.log` files: a line a batch, and with deep iteration a line a record. A batch whose checksum is wrong is
//! printed as `isvalid: false` and the dump goes on; bytes at the end that are no batch are counted.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use bytes::Bytes;
use ottla_model::Offset;
use ottla_model::batch::{
    BATCH_PEEK_BYTES, BatchFrame, BatchHeader, EndTxnMarker, NO_SEQUENCE, RecordBatch, RecordView,
    TimestampType, sequence_after,
};
use ottla_model::compression::Codec;

use super::{DumpError, DumpOptions};
use crate::Ending;

/// The most that one batch may decompress to: what Kafka itself would hold in one array.
const DECOMPRESSED_BYTES_MAX: usize = i32::MAX as usize;

pub(super) fn dump(
    path: &Path,
    base: Offset,
    options: DumpOptions,
    out: &mut dyn Write,
) -> Result<Ending, DumpError> {
    let failed = |source| DumpError::Read { path: path.to_owned(), source };
    writeln!(out, "Log starting offset: {base}")?;
    let file = File::open(path).map_err(failed)?;
    let file_bytes = file.metadata().map_err(failed)?.len();
    let mut reader = BufReader::new(file);
    let mut position = 0;
    let mut ending = Ending::Fine;
    while let Some(batch) = next_batch(&mut reader, file_bytes - position).map_err(failed)? {
        let valid = batch.verify_crc().is_ok();
        if !valid {
            ending = Ending::Findings;
        }
        writeln!(out, "{}", batch_line(batch.header(), position, valid))?;
        if options.deep_iteration || options.print_data_log {
            match batch.records(DECOMPRESSED_BYTES_MAX) {
                Ok(records) => {
                    for record in &records {
                        match record {
                            Ok(record) => print_record(batch.header(), &record, options, out)?,
                            Err(error) => {
                                writeln!(out, "| {error}")?;
                                ending = Ending::Findings;
                            }
                        }
                    }
                }
                Err(error) => {
                    writeln!(out, "| {error}")?;
                    ending = Ending::Findings;
                }
            }
        }
        position += batch.bytes().len() as u64;
    }
    if position < file_bytes {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(out, "Found {} invalid bytes at the end of {name}", file_bytes - position)?;
        ending = Ending::Findings;
    }
    Ok(ending)
}

/// The batch at the reader's position, none when `left` bytes hold no whole one. Room is made only for bytes that are
/// there.
fn next_batch(reader: &mut impl Read, left: u64) -> io::Result<Option<RecordBatch>> {
    if left < BATCH_PEEK_BYTES as u64 {
        return Ok(None);
    }
    let mut bytes = vec![0; BATCH_PEEK_BYTES];
    reader.read_exact(&mut bytes)?;
    let Ok(Some(frame)) = BatchFrame::peek(&bytes) else { return Ok(None) };
    if frame.size() as u64 > left {
        return Ok(None);
    }
    bytes.resize(frame.size(), 0);
    reader.read_exact(bytes.get_mut(BATCH_PEEK_BYTES..).unwrap_or_default())?;
    Ok(RecordBatch::split_first(&mut Bytes::from(bytes)).ok().flatten())
}

fn batch_line(header: &BatchHeader, position: u64, valid: bool) -> String {
    let horizon = match header.delete_horizon_ms() {
        Some(horizon_ms) => format!("OptionalLong[{horizon_ms}]"),
        None => "OptionalLong.empty".to_owned(),
    };
    let codec = match header.codec() {
        Some(Codec::None) => "none",
        Some(Codec::Gzip) => "gzip",
        Some(Codec::Snappy) => "snappy",
        Some(Codec::Lz4) => "lz4",
        Some(Codec::Zstd) => "zstd",
        None => "unknown",
    };
    format!(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} \
         partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {horizon} position: {position} \
         {}: {} size: {} magic: 2 compresscodec: {codec} crc: {} isvalid: {valid}",
        header.base_offset(),
        header.last_offset(),
        header.record_count(),
        header.base_sequence(),
        header.last_sequence(),
        header.producer_id(),
        header.producer_epoch(),
        header.leader_epoch(),
        header.is_transactional(),
        header.is_control(),
        time_name(header),
        header.max_timestamp_ms(),
        header.size(),
        header.crc(),
    )
}

const fn time_name(header: &BatchHeader) -> &'static str {
    match header.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

fn print_record(
    header: &BatchHeader,
    record: &RecordView<'_>,
    options: DumpOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sequence = match header.base_sequence() {
        NO_SEQUENCE => NO_SEQUENCE,
        base => sequence_after(base, record.offset_delta),
    };
    let keys: Vec<_> = record.headers.map(|(key, _)| String::from_utf8_lossy(key)).collect();
    write!(
        out,
        "| offset: {} {}: {} keySize: {} valueSize: {} sequence: {sequence} headerKeys: [{}]",
        record.offset,
        time_name(header),
        record.timestamp_ms,
        size(record.key),
        size(record.value),
        keys.join(","),
    )?;
    if header.is_control() {
        if let (Some(key), Some(value)) = (record.key, record.value)
            && let Ok(marker) = EndTxnMarker::parse(key, value)
        {
            let kind = if marker.committed { "COMMIT" } else { "ABORT" };
            write!(out, " endTxnMarker: {kind} coordinatorEpoch: {}", marker.coordinator_epoch)?;
        }
    } else if options.print_data_log {
        for (name, bytes) in [("key", record.key), ("payload", record.value)] {
            if let Some(bytes) = bytes {
                write!(out, " {name}: {}", String::from_utf8_lossy(bytes))?;
            }
        }
    }
    writeln!(out)
}

/// A field's length, −1 where it is absent.
fn size(field: Option<&[u8]>) -> i64 {
    field.map_or(-1, |bytes| i64::try_from(bytes.len()).unwrap_or(i64::MAX))
}
