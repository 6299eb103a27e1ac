//! What a broker checks of a client's batch before it knows where the batch will stand: everything that needs no log.
//! The order is Kafka's, so that a batch with two faults is refused for the same one. What Kafka takes as it is (odd
//! attribute bits, a producer id without an epoch, …) is taken; only a record of a compressed batch whose length
//! contradicts its fields is refused though Kafka takes it, since no consumer could read it.

use bytes::Bytes;

use super::attributes::TimestampType;
use super::builder::BuildError;
use super::checked::CheckedBatch;
use super::crc::{self, CrcMismatch};
use super::header::{BATCH_HEADER_BYTES, BATCH_PREFIX_BYTES, BatchError, BatchFrame, BatchHeader, MAGIC};
use super::recompress::Recompression;
use super::record::{NO_TIMESTAMP_MS, RawRecord, RecordStructureError, RecordsError, record_timestamp_ms};
use super::rules::BatchRules;
use super::stream::{RecordStream, RecordSummary, StreamError};
use crate::compression::{Codec, CompressionError};
use crate::{Offset, ProducerId};

/// The most records that a rejection names; a batch may have millions.
pub const RECORD_FAULTS_MAX: usize = 1000;

/// Why a batch may not be appended.
#[derive(Debug, thiserror::Error)]
pub enum BatchRejection {
    /// No whole batch is there; one that is cut short is none.
    #[error("{present_bytes} bytes hold no whole record batch")]
    NoBatch {
        /// How many bytes there are.
        present_bytes: usize,
    },
    /// A second whole batch follows the first.
    #[error("more than one record batch for a partition")]
    SeveralBatches,
    /// A format that may no longer be written.
    #[error("record batches of magic {magic} are no longer accepted, only of magic {MAGIC}")]
    OldMagic {
        /// The magic byte: 0 or 1.
        magic: i8,
    },
    /// A format that does not exist, of the batch or of what follows it.
    #[error("a record batch of magic {magic}, which does not exist")]
    UnknownMagic {
        /// The magic byte.
        magic: i8,
    },
    /// The length field, of the batch or of what follows it, is too small for any batch.
    #[error("a record batch whose length field says {length}")]
    Length {
        /// The field's value.
        length: i32,
    },
    /// The length field leaves no room for the 12 bytes that it does not count.
    #[error("a record batch whose length field says {length}, beyond what a batch can have")]
    LengthOverflow {
        /// The field's value.
        length: i32,
    },
    /// Producers count from 0.
    #[error("a new record batch has to begin at offset 0, not at {base_offset}")]
    BaseOffset {
        /// The offset that the batch claims.
        base_offset: Offset,
    },
    /// Larger than `max.message.bytes`, as sent or as recompressed.
    #[error("a record batch of {size_bytes} bytes where at most {limit_bytes} are allowed")]
    TooLarge {
        /// The batch's size; of a recompressed one that to which it had grown when it was given up.
        size_bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// The batch is too short for its own header.
    #[error("a record batch of {size_bytes} bytes, too short for its header of {BATCH_HEADER_BYTES}")]
    ShorterThanHeader {
        /// The batch's size.
        size_bytes: usize,
    },
    /// The bytes are damaged.
    #[error(transparent)]
    Crc(#[from] CrcMismatch),
    /// No codec has the number.
    #[error("no codec has number {id}")]
    UnknownCodec {
        /// The number.
        id: u8,
    },
    /// The batch ends before it begins.
    #[error("a record batch whose last offset is {last_offset_delta} from its first")]
    OffsetRange {
        /// The last offset less the first.
        last_offset_delta: i32,
    },
    /// A batch has at least one record.
    #[error("a record batch with {record_count} records")]
    RecordCount {
        /// The number that the header gives.
        record_count: i32,
    },
    /// Offsets and records of a new batch go together.
    #[error(
        "a record batch of {record_count} records whose last offset is {last_offset_delta} from its first"
    )]
    OffsetsAndCount {
        /// The number that the header gives.
        record_count: i32,
        /// The last offset less the first.
        last_offset_delta: i32,
    },
    /// Control records are written by brokers.
    #[error("clients may not write control records")]
    ControlBatch,
    /// An idempotent producer numbers its records.
    #[error("producer {producer_id} sent a record batch with sequence {base_sequence}")]
    Sequence {
        /// The producer.
        producer_id: ProducerId,
        /// The number of its first record.
        base_sequence: i32,
    },
    /// A record is none, or there are more or fewer than the header says.
    #[error("{source}")]
    Malformed {
        /// Which, and what is wrong.
        source: RecordsError,
    },
    /// A record of a compressed batch is larger than `max.decompressed.message.bytes`.
    #[error(
        "record {index} has {size_bytes} bytes once decompressed, where at most {limit_bytes} are allowed"
    )]
    RecordTooLarge {
        /// The record's place in the batch, from 0.
        index: i32,
        /// The record's size.
        size_bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// The records do not decompress, grow beyond the bound, or do not compress again.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// At least one record's timestamp is not acceptable; others may lack a key. Which of the two kinds a rejection is, is
    /// decided by all records, though not all are listed.
    #[error("the timestamps of one or more records are not acceptable")]
    Timestamps {
        /// The records concerned, in order, up to [`RECORD_FAULTS_MAX`].
        faults: Vec<RecordFault>,
    },
    /// At least one record lacks the key that the log needs.
    #[error("one or more records have no key, which a compacted topic needs")]
    MissingKeys {
        /// The records concerned, in order, up to [`RECORD_FAULTS_MAX`].
        faults: Vec<RecordFault>,
    },
    /// Recompressed with right offsets, the batch does not fit its fields.
    #[error("the record batch cannot be written anew: {source}")]
    Rebuild {
        /// Why.
        source: BuildError,
    },
}

impl BatchRejection {
    /// The records that are at fault, if it is single ones: their place in the batch, and what is wrong as text.
    #[must_use]
    pub fn record_faults(&self) -> &[RecordFault] {
        match self {
            Self::Timestamps { faults } | Self::MissingKeys { faults } => faults,
            _ => &[],
        }
    }
}

/// A record that a log does not accept. Its text is for the answer's record errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct RecordFault {
    /// The record's place in the batch, from 0.
    pub index: i32,
    /// What is wrong with it.
    pub cause: RecordFaultCause,
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordFaultCause {
    /// A compacted topic keeps the last record of each key.
    #[error("a compacted topic accepts no record without a key")]
    MissingKey,
    /// Too far before or after now.
    #[error("timestamp {timestamp_ms} lies outside of {earliest_ms} to {latest_ms}")]
    TimestampOutOfRange {
        /// The record's timestamp.
        timestamp_ms: i64,
        /// The earliest that is accepted.
        earliest_ms: i64,
        /// The latest that is accepted.
        latest_ms: i64,
    },
    /// Only a broker knows when a record was appended.
    #[error("a producer cannot set the timestamp type LogAppendTime")]
    ClaimsLogAppendTime,
}

/// Checks that `bytes` hold one whole magic 2 batch; bytes after it that make no second one do not matter. This is what
/// Kafka checks while it reads a request, before it knows anything of the partition.
///
/// # Errors
/// Says what is there instead.
pub fn check_framing(bytes: &[u8]) -> Result<BatchFrame, BatchRejection> {
    let no_batch = BatchRejection::NoBatch { present_bytes: bytes.len() };
    let Some(frame) = peek(bytes)? else { return Err(no_batch) };
    let Some(surplus) = bytes.get(frame.size()..) else { return Err(no_batch) };
    if frame.magic() != MAGIC {
        return Err(BatchRejection::OldMagic { magic: frame.magic() });
    }
    match peek(surplus)? {
        Some(second) if second.size() <= surplus.len() => Err(BatchRejection::SeveralBatches),
        _ => Ok(frame),
    }
}

/// Checks a client's batch against a topic's rules at the time `now_ms`, and makes it what the log stores: timestamps
/// as the topic wants them, compressed as it wants it. The bytes stay as they are where nothing asks for a change.
///
/// # Errors
/// Says why the batch may not be appended.
pub fn check_batch(bytes: Bytes, rules: &BatchRules, now_ms: i64) -> Result<CheckedBatch, BatchRejection> {
    let mut unlimited = usize::MAX;
    let checked = check_batch_within(bytes, rules, now_ms, &mut unlimited)?;
    Ok(checked.expect("no batch takes more than the address space"))
}

/// The same for a caller that cannot stay long. `budget_bytes` is what it has left for records that are decompressed or
/// compressed again, counted uncompressed; what is spent goes off it, whatever comes out. None is the answer if the
/// batch takes more, which says nothing about it.
///
/// # Errors
/// Says why the batch may not be appended.
pub fn check_batch_within(
    bytes: Bytes,
    rules: &BatchRules,
    now_ms: i64,
    budget_bytes: &mut usize,
) -> Result<Option<CheckedBatch>, BatchRejection> {
    let mut bytes = bytes;
    let frame = check_framing(&bytes)?;
    bytes.truncate(frame.size());
    if frame.base_offset() != Offset::ZERO {
        return Err(BatchRejection::BaseOffset { base_offset: frame.base_offset() });
    }
    check_size(frame.size(), rules)?;
    let header = BatchHeader::parse(&bytes)
        .map_err(|_| BatchRejection::ShorterThanHeader { size_bytes: frame.size() })?;
    crc::verify(&header, &bytes)?;
    let id = header.attributes().codec_id();
    let codec = header.codec().ok_or(BatchRejection::UnknownCodec { id })?;
    check_header(&header)?;

    let body = bytes.slice(BATCH_HEADER_BYTES..);
    let mut walk = Walk::new(&header, rules, now_ms);
    let target = rules.compression.for_source(codec);
    let records_bytes = match codec {
        Codec::None if target.codec() == Codec::None => walk.plain(&body)?,
        Codec::None => {
            let Some(left) = budget_bytes.checked_sub(body.len()) else { return Ok(None) };
            *budget_bytes = left;
            walk.plain(&body)?
        }
        _ => match walk.compressed(codec, &body, budget_bytes)? {
            Some(records_bytes) => records_bytes,
            None => return Ok(None),
        },
    };
    let Seen { max_timestamp_ms, offsets_in_order } = walk.finish()?;

    let offsets_must_be_set = codec != Codec::None && !offsets_in_order;
    if target.codec() != codec || offsets_must_be_set {
        let recompression = Recompression { header: &header, codec, records_bytes, target, rules, now_ms };
        return recompression.run(&body).map(Some);
    }
    let mut batch = CheckedBatch::new(&bytes);
    match rules.timestamp_type {
        TimestampType::CreateTime => batch.set_timestamp(TimestampType::CreateTime, max_timestamp_ms),
        TimestampType::LogAppendTime => batch.stamp_log_append_time(now_ms),
    }
    Ok(Some(batch))
}

fn peek(bytes: &[u8]) -> Result<Option<BatchFrame>, BatchRejection> {
    match BatchFrame::peek(bytes) {
        Ok(Some(frame)) => match i32::try_from(frame.size()) {
            Ok(_) => Ok(Some(frame)),
            Err(_) => {
                let length = i32::try_from(frame.size() - BATCH_PREFIX_BYTES).unwrap_or(i32::MAX);
                Err(BatchRejection::LengthOverflow { length })
            }
        },
        Err(BatchError::Length { length }) => Err(BatchRejection::Length { length }),
        Err(BatchError::Magic { magic }) => Err(BatchRejection::UnknownMagic { magic }),
        Ok(None) | Err(_) => Ok(None),
    }
}

pub(super) fn check_size(size_bytes: usize, rules: &BatchRules) -> Result<(), BatchRejection> {
    let limit_bytes = rules.max_message_bytes;
    if size_bytes > limit_bytes {
        return Err(BatchRejection::TooLarge { size_bytes, limit_bytes });
    }
    Ok(())
}

fn check_header(header: &BatchHeader) -> Result<(), BatchRejection> {
    let last_offset_delta = header.last_offset_delta();
    if last_offset_delta < 0 {
        return Err(BatchRejection::OffsetRange { last_offset_delta });
    }
    let record_count = header.record_count();
    if record_count <= 0 {
        return Err(BatchRejection::RecordCount { record_count });
    }
    if record_count - 1 != last_offset_delta {
        return Err(BatchRejection::OffsetsAndCount { record_count, last_offset_delta });
    }
    if header.is_control() {
        return Err(BatchRejection::ControlBatch);
    }
    let (producer_id, base_sequence) = (header.producer_id(), header.base_sequence());
    if producer_id.is_some() && base_sequence < 0 {
        return Err(BatchRejection::Sequence { producer_id, base_sequence });
    }
    Ok(())
}

/// Goes over the records once and remembers what matters of them.
struct Walk<'a> {
    header: &'a BatchHeader,
    rules: &'a BatchRules,
    now_ms: i64,
    seen: Seen,
    timestamp_fault: bool,
    faults: Vec<RecordFault>,
}

/// What the walk leaves when no record is at fault.
struct Seen {
    max_timestamp_ms: i64,
    offsets_in_order: bool,
}

impl<'a> Walk<'a> {
    fn new(header: &'a BatchHeader, rules: &'a BatchRules, now_ms: i64) -> Self {
        let seen = Seen { max_timestamp_ms: NO_TIMESTAMP_MS, offsets_in_order: true };
        Self { header, rules, now_ms, seen, timestamp_fault: false, faults: Vec::new() }
    }

    /// Walks records that are not compressed, and says how many bytes they take.
    fn plain(&mut self, body: &[u8]) -> Result<usize, BatchRejection> {
        let mut rest = body;
        for index in 0..self.header.record_count() {
            let raw = RawRecord::read(&mut rest).map_err(|source| malformed_record(index, source))?;
            self.see(index, raw.into());
        }
        if !rest.is_empty() {
            return Err(self.trailing());
        }
        Ok(body.len())
    }

    /// Walks records while they are decompressed, and says how many bytes they take; none if more than the budget.
    fn compressed(
        &mut self,
        codec: Codec,
        body: &[u8],
        budget_bytes: &mut usize,
    ) -> Result<Option<usize>, BatchRejection> {
        let record_bytes_max = self.rules.max_decompressed_message_bytes;
        let batch_bytes_max = self.rules.decompressed_batch_bytes_max;
        let bytes_max = batch_bytes_max.min(*budget_bytes);
        let mut stream = RecordStream::new(codec, body, bytes_max, record_bytes_max)?;
        let walked = self.stream(&mut stream);
        *budget_bytes -= stream.taken_bytes();
        match walked {
            Ok(()) => Ok(Some(stream.taken_bytes())),
            Err(BatchRejection::Compression(CompressionError::TooLarge { .. }))
                if bytes_max < batch_bytes_max =>
            {
                *budget_bytes = 0;
                Ok(None)
            }
            Err(rejection) => Err(rejection),
        }
    }

    fn stream(&mut self, stream: &mut RecordStream<'_>) -> Result<(), BatchRejection> {
        let limit_bytes = self.rules.max_decompressed_message_bytes;
        for index in 0..self.header.record_count() {
            match stream.next_summary() {
                Ok(summary) => self.see(index, summary),
                Err(StreamError::Compression(error)) => return Err(error.into()),
                Err(StreamError::Structure(source)) => return Err(malformed_record(index, source)),
                Err(StreamError::TooLarge { size_bytes }) => {
                    return Err(BatchRejection::RecordTooLarge { index, size_bytes, limit_bytes });
                }
            }
        }
        if !stream.is_at_end()? {
            return Err(self.trailing());
        }
        Ok(())
    }

    #[inline]
    fn see(&mut self, index: i32, record: RecordSummary) {
        let timestamp_ms = record_timestamp_ms(self.header, record.timestamp_delta_ms);
        if let Some(cause) = self.fault_of(timestamp_ms, record.has_key) {
            self.note(RecordFault { index, cause });
        }
        self.seen.max_timestamp_ms = self.seen.max_timestamp_ms.max(timestamp_ms);
        self.seen.offsets_in_order &= record.offset_delta == index;
    }

    #[inline]
    fn fault_of(&self, timestamp_ms: i64, has_key: bool) -> Option<RecordFaultCause> {
        if self.rules.key_required && !has_key {
            return Some(RecordFaultCause::MissingKey);
        }
        if self.rules.timestamp_type == TimestampType::CreateTime && timestamp_ms != NO_TIMESTAMP_MS {
            return self.timestamp_fault_of(timestamp_ms);
        }
        match self.header.timestamp_type() {
            TimestampType::CreateTime => None,
            TimestampType::LogAppendTime => Some(RecordFaultCause::ClaimsLogAppendTime),
        }
    }

    /// The arithmetic wraps as Kafka's does, so that the extremes have the same fate.
    #[inline]
    fn timestamp_fault_of(&self, timestamp_ms: i64) -> Option<RecordFaultCause> {
        let (before_ms, after_ms) = (self.rules.timestamp_before_max_ms, self.rules.timestamp_after_max_ms);
        let age_ms = self.now_ms.wrapping_sub(timestamp_ms);
        if age_ms <= before_ms && age_ms.wrapping_neg() <= after_ms {
            return None;
        }
        Some(RecordFaultCause::TimestampOutOfRange {
            timestamp_ms,
            earliest_ms: self.now_ms.saturating_sub(before_ms),
            latest_ms: self.now_ms.saturating_add(after_ms),
        })
    }

    #[cold]
    fn note(&mut self, fault: RecordFault) {
        self.timestamp_fault |= fault.cause != RecordFaultCause::MissingKey;
        if self.faults.len() < RECORD_FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    fn trailing(&self) -> BatchRejection {
        BatchRejection::Malformed { source: RecordsError::Trailing { count: self.header.record_count() } }
    }

    fn finish(self) -> Result<Seen, BatchRejection> {
        let Self { seen, timestamp_fault, faults, .. } = self;
        match (faults.is_empty(), timestamp_fault) {
            (true, _) => Ok(seen),
            (false, true) => Err(BatchRejection::Timestamps { faults }),
            (false, false) => Err(BatchRejection::MissingKeys { faults }),
        }
    }
}

pub(super) fn malformed_record(index: i32, source: RecordStructureError) -> BatchRejection {
    BatchRejection::Malformed { source: RecordsError::Record { index, source } }
}
