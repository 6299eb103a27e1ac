//! Writes the records of a batch that was checked anew, as the batch that a producer would have sent with another
//! compression: offsets without gaps, no bits that mean nothing. They go from the decoder to the encoder through a
//! window, and no more is kept than the new batch may have; so it takes the same memory however far they unfold.

use std::cell::Cell;
use std::io::{self, Write};

use super::attributes::TimestampType;
use super::builder::{BatchBuilder, BuildError};
use super::check::{BatchRejection, check_size, malformed_record};
use super::checked::CheckedBatch;
use super::header::{BATCH_HEADER_BYTES, BatchHeader};
use super::record::record_timestamp_ms;
use super::rules::BatchRules;
use super::stream::{RecordStream, StreamError, StreamedRecord};
use crate::Offset;
use crate::compression::{Codec, Compression, CompressionError, Encoder};

/// How much is encoded before it is handed to the codec.
const STEP_BYTES: usize = 32 << 10;

/// What is to be done.
pub(super) struct Recompression<'a> {
    pub(super) header: &'a BatchHeader,
    /// What the records are compressed with.
    pub(super) codec: Codec,
    /// What they take before compression: they have been walked once.
    pub(super) records_bytes: usize,
    /// What they are to be compressed with.
    pub(super) target: Compression,
    pub(super) rules: &'a BatchRules,
    pub(super) now_ms: i64,
}

impl Recompression<'_> {
    pub(super) fn run(&self, body: &[u8]) -> Result<CheckedBatch, BatchRejection> {
        let limit_bytes = self.rules.max_message_bytes;
        if self.target.codec() == Codec::None {
            check_size(BATCH_HEADER_BYTES + self.records_bytes, self.rules)?;
        }
        let mut output = Vec::with_capacity(BATCH_HEADER_BYTES + body.len().min(limit_bytes));
        output.resize(BATCH_HEADER_BYTES, 0);
        let wanted_bytes = Cell::new(0);
        let bounded = Bounded { bytes: &mut output, limit_bytes, wanted_bytes: &wanted_bytes };
        let builder = match self.write(body, bounded) {
            // That the codec fails for want of room is no fault of the codec.
            Err(_) if wanted_bytes.get() > limit_bytes => {
                return Err(BatchRejection::TooLarge { size_bytes: wanted_bytes.get(), limit_bytes });
            }
            written => written?,
        };
        let bytes = builder.seal(output).map_err(|source| BatchRejection::Rebuild { source })?;
        check_size(bytes.len(), self.rules)?;
        Ok(CheckedBatch::new(&bytes))
    }

    fn write(&self, body: &[u8], output: Bounded<'_>) -> Result<BatchBuilder, BatchRejection> {
        let Self { header, codec, target, .. } = *self;
        // The walk has kept to the limits, and uncompressed records have none each.
        let mut stream = RecordStream::new(codec, body, self.records_bytes, usize::MAX)?;
        let mut builder = BatchBuilder::with_capacity(target, self.records_bytes.min(2 * STEP_BYTES))
            .with_producer(header.producer_id(), header.producer_epoch(), header.base_sequence())
            .with_transactional(header.is_transactional());
        if self.rules.timestamp_type == TimestampType::LogAppendTime {
            builder = builder.with_log_append_time(self.now_ms);
        }
        let mut encoder = Encoder::new(target, output).map_err(rebuild)?;
        for index in 0..header.record_count() {
            let offset = Offset::new(i64::from(index));
            let record = stream.next_record().map_err(|error| rejection_of(index, error))?;
            let appended = match record {
                StreamedRecord::Whole(raw) => {
                    let timestamp_ms = record_timestamp_ms(header, raw.timestamp_delta_ms);
                    builder.append_fields(offset, timestamp_ms, raw.key, raw.value, raw.headers)
                }
                // Its length stands before it and depends on numbers all over it: they stay as they came, overlong ones
                // too.
                StreamedRecord::Large { timestamp_delta_ms, mut left_bytes } => {
                    let timestamp_ms = record_timestamp_ms(header, timestamp_delta_ms);
                    let appended = builder.append_head(offset, timestamp_ms, left_bytes);
                    hand_over(&mut builder, &mut encoder)?;
                    while left_bytes > 0 && appended.is_ok() {
                        let piece = stream.next_piece(&mut left_bytes);
                        encoder
                            .write_all(piece.map_err(|error| rejection_of(index, error))?)
                            .map_err(rebuild)?;
                    }
                    appended
                }
            };
            appended.map_err(|source| BatchRejection::Rebuild { source })?;
            if builder.encoded().len() >= STEP_BYTES {
                hand_over(&mut builder, &mut encoder)?;
            }
        }
        hand_over(&mut builder, &mut encoder)?;
        encoder.finish().map_err(rebuild)?;
        Ok(builder)
    }
}

fn hand_over(builder: &mut BatchBuilder, encoder: &mut Encoder<Bounded<'_>>) -> Result<(), BatchRejection> {
    encoder.write_all(builder.encoded()).map_err(rebuild)?;
    builder.clear_encoded();
    Ok(())
}

fn rebuild(error: CompressionError) -> BatchRejection {
    BatchRejection::Rebuild { source: BuildError::Compression(error) }
}

fn rejection_of(index: i32, error: StreamError) -> BatchRejection {
    match error {
        StreamError::Compression(error) => error.into(),
        StreamError::Structure(source) => malformed_record(index, source),
        StreamError::TooLarge { size_bytes } => {
            BatchRejection::RecordTooLarge { index, size_bytes, limit_bytes: usize::MAX }
        }
    }
}

/// Takes bytes up to a limit and remembers what it would have had to take.
struct Bounded<'a> {
    bytes: &'a mut Vec<u8>,
    limit_bytes: usize,
    wanted_bytes: &'a Cell<usize>,
}

impl Write for Bounded<'_> {
    fn write(&mut self, input: &[u8]) -> io::Result<usize> {
        let wanted_bytes = self.bytes.len().saturating_add(input.len());
        self.wanted_bytes.set(self.wanted_bytes.get().max(wanted_bytes));
        if wanted_bytes > self.limit_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(input);
        Ok(input.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
