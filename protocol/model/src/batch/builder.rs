//! Makes a batch out of records. They are encoded as they come, into the buffer that becomes the batch; compression and
//! checksum follow when it is finished. Limits on its size are the caller's affair.

use bytes::Bytes;

use super::attributes::{Attributes, TimestampType};
use super::checked::CheckedBatch;
use super::control::{ControlRecordType, control_key};
use super::crc;
use super::header::{BATCH_HEADER_BYTES, BATCH_PREFIX_BYTES, MAGIC, NO_SEQUENCE};
use super::record::NO_TIMESTAMP_MS;
use crate::compression::{Codec, Compression, CompressionError};
use crate::varint::{size_of_varint, size_of_varlong, write_varint, write_varlong};
use crate::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// A record to be added to a batch.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewRecord<'a> {
    /// Its time; −1 for none.
    pub timestamp_ms: i64,
    /// Its key, if it has one.
    pub key: Option<&'a [u8]>,
    /// Its value; without one it is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers: key and value.
    pub headers: &'a [(&'a [u8], Option<&'a [u8]>)],
}

/// Why a record does not fit, or a batch cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Offsets of a batch ascend and span less than 2³¹.
    #[error("offset {offset} cannot follow {last} in a batch that begins at {base}")]
    Offset {
        /// The record's offset.
        offset: Offset,
        /// The offset of the record before it, or −1.
        last: Offset,
        /// The batch's first offset.
        base: Offset,
    },
    /// Lengths are signed 32-bit numbers.
    #[error("{size} bytes do not fit a field of 32 bits")]
    Size {
        /// What the record, or the batch, would take.
        size: usize,
    },
    /// The codec failed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
}

/// A batch that is being filled.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    /// Room for the header, then the records.
    buffer: Vec<u8>,
    compression: Compression,
    attributes: Attributes,
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    base_sequence: i32,
    base_timestamp_ms: Option<i64>,
    max_timestamp_ms: i64,
    log_append_time_ms: Option<i64>,
    last_offset: Option<Offset>,
    record_count: i32,
}

impl BatchBuilder {
    /// An empty batch at offset 0 with the producer's timestamps, neither idempotent nor in a transaction.
    #[must_use]
    pub fn new(compression: Compression) -> Self {
        Self::with_capacity(compression, 0)
    }

    /// The same with room for so many bytes of records.
    #[must_use]
    pub fn with_capacity(compression: Compression, record_bytes: usize) -> Self {
        let mut buffer = Vec::with_capacity(BATCH_HEADER_BYTES + record_bytes);
        buffer.resize(BATCH_HEADER_BYTES, 0);
        Self {
            buffer,
            compression,
            attributes: Attributes::default().with_codec(compression.codec()),
            base_offset: Offset::ZERO,
            leader_epoch: LeaderEpoch::UNKNOWN,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            base_sequence: NO_SEQUENCE,
            base_timestamp_ms: None,
            max_timestamp_ms: NO_TIMESTAMP_MS,
            log_append_time_ms: None,
            last_offset: None,
            record_count: 0,
        }
    }

    /// Begins the batch at this offset. To be called before the first record.
    #[must_use]
    pub fn with_base_offset(self, base_offset: Offset) -> Self {
        debug_assert_eq!(self.record_count, 0, "the base offset is set before the first record");
        Self { base_offset, ..self }
    }

    /// Names the epoch of the leader that appends the batch.
    #[must_use]
    pub fn with_leader_epoch(self, leader_epoch: LeaderEpoch) -> Self {
        Self { leader_epoch, ..self }
    }

    /// Names the producer, and the number of the first record in its count ([`NO_SEQUENCE`] for none).
    #[must_use]
    pub fn with_producer(
        self,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        base_sequence: i32,
    ) -> Self {
        Self { producer_id, producer_epoch, base_sequence, ..self }
    }

    /// Makes the batch part of a transaction.
    #[must_use]
    pub fn with_transactional(self, transactional: bool) -> Self {
        Self { attributes: self.attributes.with_transactional(transactional), ..self }
    }

    /// Makes the batch one of control records.
    #[must_use]
    pub fn with_control(self, control: bool) -> Self {
        Self { attributes: self.attributes.with_control(control), ..self }
    }

    /// Gives all records the time of the append; their own remain in the bytes.
    #[must_use]
    pub fn with_log_append_time(self, now_ms: i64) -> Self {
        let attributes = self.attributes.with_timestamp_type(TimestampType::LogAppendTime);
        Self { attributes, log_append_time_ms: Some(now_ms), ..self }
    }

    /// Says until when compaction keeps the tombstones in it. To be called before the first record.
    #[must_use]
    pub fn with_delete_horizon(self, delete_horizon_ms: i64) -> Self {
        debug_assert_eq!(self.record_count, 0, "the delete horizon is set before the first record");
        let attributes = self.attributes.with_delete_horizon(true);
        Self { attributes, base_timestamp_ms: Some(delete_horizon_ms), ..self }
    }

    /// Lets the largest timestamp be at least this, though no record has it: compaction keeps the one that was.
    #[must_use]
    pub fn with_max_timestamp_at_least(self, timestamp_ms: i64) -> Self {
        Self { max_timestamp_ms: self.max_timestamp_ms.max(timestamp_ms), ..self }
    }

    /// Lets the batch end at this offset though its last record comes earlier, or it has none: compaction keeps the
    /// span that was.
    ///
    /// # Errors
    /// If the offset lies before the last record's, or 2³¹ or more after the first.
    pub fn extend_to(&mut self, last_offset: Offset) -> Result<(), BuildError> {
        self.delta_of(last_offset)?;
        if self.last_offset.is_some_and(|last| last_offset < last) {
            return Err(self.bad_offset(last_offset));
        }
        self.last_offset = Some(last_offset);
        Ok(())
    }

    /// Adds a record after the last one, and says at which offset.
    ///
    /// # Errors
    /// If the record or the batch outgrows its fields; the batch is as it was.
    pub fn append(&mut self, record: &NewRecord<'_>) -> Result<Offset, BuildError> {
        let offset = match self.last_offset {
            None => self.base_offset,
            Some(last) => last.checked_add(1).ok_or_else(|| self.bad_offset(Offset::MAX))?,
        };
        self.append_at(offset, record)?;
        Ok(offset)
    }

    /// Adds a record at an offset after the last one's.
    ///
    /// # Errors
    /// If the offset does not lie there, or the record or the batch outgrows its fields; the batch is as it was.
    pub fn append_at(&mut self, offset: Offset, record: &NewRecord<'_>) -> Result<(), BuildError> {
        self.append_fields(
            offset,
            record.timestamp_ms,
            record.key,
            record.value,
            record.headers.iter().copied(),
        )
    }

    /// Adds a control record.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_control(
        &mut self,
        kind: ControlRecordType,
        timestamp_ms: i64,
        value: &[u8],
    ) -> Result<Offset, BuildError> {
        let key = control_key(kind);
        self.append(&NewRecord { timestamp_ms, key: Some(&key), value: Some(value), headers: &[] })
    }

    pub(super) fn append_fields<'h>(
        &mut self,
        offset: Offset,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl ExactSizeIterator<Item = (&'h [u8], Option<&'h [u8]>)> + Clone,
    ) -> Result<(), BuildError> {
        let (timestamp_delta_ms, offset_delta) = self.deltas_of(offset, timestamp_ms)?;
        let header_count = length_field(headers.len())?;

        let mut size = 1 + size_of_varlong(timestamp_delta_ms) + size_of_varint(offset_delta);
        size += nullable_size(key)? + nullable_size(value)? + size_of_varint(header_count);
        for (key, value) in headers.clone() {
            size += nullable_size(Some(key))? + nullable_size(value)?;
        }
        let size_field = length_field(size)?;
        length_field(self.buffer.len() + size + size_of_varint(size_field))?;

        let output = &mut self.buffer;
        output.reserve(size + size_of_varint(size_field));
        write_varint(output, size_field);
        let body_at = output.len();
        output.push(0);
        write_varlong(output, timestamp_delta_ms);
        write_varint(output, offset_delta);
        write_nullable(output, key);
        write_nullable(output, value);
        write_varint(output, header_count);
        for (key, value) in headers {
            write_nullable(output, Some(key));
            write_nullable(output, value);
        }
        assert_eq!(output.len() - body_at, size, "a record is as long as its length field says");
        self.count(offset, timestamp_ms);
        Ok(())
    }

    /// Adds what stands before a record's key. The rest, `rest_bytes`, goes by this builder: the caller sees to it that
    /// it follows [`encoded`](Self::encoded).
    pub(super) fn append_head(
        &mut self,
        offset: Offset,
        timestamp_ms: i64,
        rest_bytes: usize,
    ) -> Result<(), BuildError> {
        let (timestamp_delta_ms, offset_delta) = self.deltas_of(offset, timestamp_ms)?;
        let size = 1 + size_of_varlong(timestamp_delta_ms) + size_of_varint(offset_delta) + rest_bytes;
        let size_field = length_field(size)?;
        let output = &mut self.buffer;
        write_varint(output, size_field);
        output.push(0);
        write_varlong(output, timestamp_delta_ms);
        write_varint(output, offset_delta);
        self.count(offset, timestamp_ms);
        Ok(())
    }

    /// The records that are encoded and not yet taken away.
    pub(super) fn encoded(&self) -> &[u8] {
        self.buffer.get(BATCH_HEADER_BYTES..).unwrap_or_default()
    }

    /// Forgets the bytes of [`encoded`](Self::encoded), which are kept elsewhere.
    pub(super) fn clear_encoded(&mut self) {
        self.buffer.truncate(BATCH_HEADER_BYTES);
    }

    fn deltas_of(&mut self, offset: Offset, timestamp_ms: i64) -> Result<(i64, i32), BuildError> {
        let offset_delta = self.delta_of(offset)?;
        if self.last_offset.is_some_and(|last| offset <= last) {
            return Err(self.bad_offset(offset));
        }
        let base_timestamp_ms = *self.base_timestamp_ms.get_or_insert(timestamp_ms);
        Ok((timestamp_ms.wrapping_sub(base_timestamp_ms), offset_delta))
    }

    fn count(&mut self, offset: Offset, timestamp_ms: i64) {
        self.max_timestamp_ms = self.max_timestamp_ms.max(timestamp_ms);
        self.last_offset = Some(offset);
        self.record_count += 1;
    }

    /// How many records there are.
    #[must_use]
    pub const fn record_count(&self) -> i32 {
        self.record_count
    }

    /// Whether there are no records.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.record_count == 0
    }

    /// The batch's size so far, header included and before compression.
    #[must_use]
    pub const fn uncompressed_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Closes the batch, for a log.
    ///
    /// # Errors
    /// If the codec fails or the batch outgrows its length field.
    pub fn finish(self) -> Result<CheckedBatch, BuildError> {
        Ok(CheckedBatch::new(&self.finish_bytes()?))
    }

    /// Closes the batch, in one piece, for a request.
    ///
    /// # Errors
    /// If the codec fails or the batch outgrows its length field.
    pub fn finish_bytes(mut self) -> Result<Bytes, BuildError> {
        let mut bytes = std::mem::take(&mut self.buffer);
        if self.compression.codec() != Codec::None {
            let (_, records) = bytes.split_at(BATCH_HEADER_BYTES);
            let mut compressed = Vec::with_capacity(BATCH_HEADER_BYTES + records.len() / 2);
            compressed.resize(BATCH_HEADER_BYTES, 0);
            self.compression.compress(records, &mut compressed)?;
            bytes = compressed;
        }
        self.seal(bytes)
    }

    /// Closes the batch around records that are compressed already, behind room for the header.
    pub(super) fn seal(self, mut bytes: Vec<u8>) -> Result<Bytes, BuildError> {
        let length = length_field(bytes.len() - BATCH_PREFIX_BYTES)?;
        let (header, body) =
            bytes.split_first_chunk_mut().expect("the buffer begins with room for the header");
        self.write_header(header, length, body);
        Ok(bytes.into())
    }

    fn write_header(&self, header: &mut [u8; BATCH_HEADER_BYTES], length: i32, body: &[u8]) {
        let last_offset_delta = self.last_offset.map_or(0, |last| last.get() - self.base_offset.get());
        let last_offset_delta =
            i32::try_from(last_offset_delta).expect("offsets are checked when they are set");
        let max_timestamp_ms = self.log_append_time_ms.unwrap_or(self.max_timestamp_ms);
        let base_timestamp_ms = self.base_timestamp_ms.unwrap_or(NO_TIMESTAMP_MS);

        let mut fields = Vec::with_capacity(BATCH_HEADER_BYTES);
        fields.extend_from_slice(&self.base_offset.get().to_be_bytes());
        fields.extend_from_slice(&length.to_be_bytes());
        fields.extend_from_slice(&self.leader_epoch.get().to_be_bytes());
        fields.extend_from_slice(&MAGIC.to_be_bytes());
        fields.extend_from_slice(&[0; 4]);
        fields.extend_from_slice(&self.attributes.get().to_be_bytes());
        fields.extend_from_slice(&last_offset_delta.to_be_bytes());
        fields.extend_from_slice(&base_timestamp_ms.to_be_bytes());
        fields.extend_from_slice(&max_timestamp_ms.to_be_bytes());
        fields.extend_from_slice(&self.producer_id.get().to_be_bytes());
        fields.extend_from_slice(&self.producer_epoch.get().to_be_bytes());
        fields.extend_from_slice(&self.base_sequence.to_be_bytes());
        fields.extend_from_slice(&self.record_count.to_be_bytes());
        header.copy_from_slice(&fields);

        let crc = crc::compute(header, body);
        let (_, from_crc) = header.split_at_mut(crc::CRC_AT);
        let (crc_field, _) = from_crc.split_at_mut(crc::CRC_FROM - crc::CRC_AT);
        crc_field.copy_from_slice(&crc.to_be_bytes());
    }

    fn delta_of(&self, offset: Offset) -> Result<i32, BuildError> {
        let delta =
            offset.get().checked_sub(self.base_offset.get()).and_then(|delta| i32::try_from(delta).ok());
        delta.filter(|delta| *delta >= 0).ok_or_else(|| self.bad_offset(offset))
    }

    fn bad_offset(&self, offset: Offset) -> BuildError {
        let last = self.last_offset.unwrap_or(Offset::UNKNOWN);
        BuildError::Offset { offset, last, base: self.base_offset }
    }
}

fn length_field(size: usize) -> Result<i32, BuildError> {
    i32::try_from(size).map_err(|_| BuildError::Size { size })
}

fn nullable_size(bytes: Option<&[u8]>) -> Result<usize, BuildError> {
    match bytes {
        None => Ok(size_of_varint(-1)),
        Some(bytes) => Ok(size_of_varint(length_field(bytes.len())?) + bytes.len()),
    }
}

/// Lengths were checked by [`nullable_size`].
fn write_nullable(output: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else { return write_varint(output, -1) };
    write_varint(
        output,
        i32::try_from(bytes.len()).expect("a field's length is checked before it is written"),
    );
    output.extend_from_slice(bytes);
}
