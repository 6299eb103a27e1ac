//! Makes a batch out of records. They are encoded as they come, into the buffer that becomes the batch; compression and
//! checksum follow when it is finished. Limits on its size are the caller's affair.

use bytes::Bytes;

use super::attributes::{Attributes, TimestampType};
use super::checked::CheckedBatch;
use super::control::{ControlRecordType, control_key};
use super::crc::{self, CRC_AT};
use super::header::{BATCH_HEADER_BYTES, BATCH_PREFIX_BYTES, MAGIC, NO_SEQUENCE};
use super::record::NO_TIMESTAMP_MS;
use crate::compression::{Codec, Compression, CompressionError};
use crate::varint::{
    Numbers, PACKED_COPY_BYTES, PACKED_END, Packed, size_of_varint, write_varint, zigzag_long,
};
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

/// What the first record's offset comes after.
const NO_DELTA: i64 = -1;
/// What a record without headers ends with: how many there are.
const NO_HEADERS: u8 = 0;
/// What a batch may have of bytes so that small records can follow, each of two fields and a few numbers, until their
/// offsets are no longer small: then its length still fits 32 bits.
const SMALL_FROM_MAX: u64 = i32::MAX as u64 - PACKED_END / 2 * (PACKED_END + 32);

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
    /// The last offset less the base offset, −1 while there is none; it fits 32 bits.
    last_delta: i64,
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
        let mut buffer = Vec::with_capacity(BATCH_HEADER_BYTES + record_bytes + PACKED_COPY_BYTES);
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
            last_delta: NO_DELTA,
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
        match self.delta_of(last_offset) {
            Some(delta) if i64::from(delta) >= self.last_delta => {
                self.last_delta = delta.into();
                Ok(())
            }
            _ => Err(self.bad_offset(last_offset)),
        }
    }

    /// Adds records after the last one, each at the next offset: less work than one by one.
    ///
    /// # Errors
    /// As [`append`](Self::append); the records before the one that fails are in the batch.
    #[inline]
    pub fn extend<'r>(&mut self, records: impl IntoIterator<Item = NewRecord<'r>>) -> Result<(), BuildError> {
        let mut records = records.into_iter();
        while let Some(record) = self.extend_small(&mut records) {
            self.append_any(&record)?;
        }
        Ok(())
    }

    /// Adds records as long as they are such as most are, for which there is room: without headers and with small
    /// numbers. Gives back the first that is not.
    #[inline]
    fn extend_small<'r>(
        &mut self,
        records: &mut impl Iterator<Item = NewRecord<'r>>,
    ) -> Option<NewRecord<'r>> {
        // The first record says what the others' timestamps are relative to.
        let Some(base_timestamp_ms) = self.base_timestamp_ms else { return records.next() };
        // There is room in all numbers for as many small records as there can be.
        if self.base_offset.get() > i64::MAX - PACKED_END.cast_signed()
            || self.buffer.len() as u64 > SMALL_FROM_MAX
        {
            return records.next();
        }
        // A record is written together with the byte before it, which as a rule is the last one's number of headers.
        let Some(mut byte_before) = self.buffer.pop() else { return records.next() };
        let mut buffer = std::mem::take(&mut self.buffer);
        // As it is written: twice the delta, which is not negative.
        let [first, mut offset] = [2 * (self.last_delta + 1).cast_unsigned(); 2];
        let mut max_timestamp_ms = self.max_timestamp_ms;
        let mut other = None;
        for record in records {
            let timestamp_delta_ms = record.timestamp_ms.wrapping_sub(base_timestamp_ms);
            let small = SmallRecord { byte_before, timestamp_delta_ms, offset, record: &record };
            if !small.append_to(&mut buffer) {
                other = Some(record);
                break;
            }
            byte_before = NO_HEADERS;
            max_timestamp_ms = max_timestamp_ms.max(record.timestamp_ms);
            offset += 2;
        }
        buffer.push(byte_before);
        self.buffer = buffer;
        self.max_timestamp_ms = max_timestamp_ms;
        self.last_delta = (offset / 2).cast_signed() - 1;
        self.record_count +=
            i32::try_from((offset - first) / 2).expect("small records are at most some thousands");
        other
    }

    /// Adds a record after the last one, and says at which offset.
    ///
    /// # Errors
    /// If the record or the batch outgrows its fields; the batch is as it was.
    pub fn append(&mut self, record: &NewRecord<'_>) -> Result<Offset, BuildError> {
        let offset = self.base_offset.checked_add(self.last_delta + 1);
        let offset = offset.ok_or_else(|| self.bad_offset(Offset::MAX))?;
        if self.extend_small(&mut std::iter::once(*record)).is_some() {
            self.append_at(offset, record)?;
        }
        Ok(offset)
    }

    /// The same for any record.
    #[inline(never)]
    fn append_any(&mut self, record: &NewRecord<'_>) -> Result<Offset, BuildError> {
        let offset = self.base_offset.checked_add(self.last_delta + 1);
        let offset = offset.ok_or_else(|| self.bad_offset(Offset::MAX))?;
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
        let mut head = self.record_head(offset, timestamp_ms)?;
        head.varint(nullable_length(key)?);
        let value_length = nullable_length(value)?;
        let header_count = length_field(headers.len())?;
        let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());

        // Without a key all numbers but the last stand together.
        let mut size = key.len() + value.len();
        if key.is_empty() {
            head.varint(value_length);
        } else {
            size += size_of_varint(value_length);
        }
        size += head.len() + size_of_varint(header_count);
        for (key, value) in headers.clone() {
            size += nullable_size(Some(key))? + nullable_size(value)?;
        }
        let size_field = length_field(size)?;
        head.varint_in_front(size_field);
        let record_bytes = size + size_of_varint(size_field);
        let end = self.buffer.len() + record_bytes;
        length_field(end)?;

        let output = &mut self.buffer;
        output.reserve(record_bytes);
        head.append_to(output);
        if !key.is_empty() {
            output.extend_from_slice(key);
            write_varint(output, value_length);
        }
        output.extend_from_slice(value);
        write_varint(output, header_count);
        for (key, value) in headers {
            write_nullable(output, Some(key));
            write_nullable(output, value);
        }
        assert_eq!(output.len(), end, "a record is as long as its length field says");
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
        let mut head = self.record_head(offset, timestamp_ms)?;
        head.varint_in_front(length_field(head.len() + rest_bytes)?);
        head.append_to(&mut self.buffer);
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

    /// What a record at this offset begins with: attributes and deltas.
    #[inline]
    fn record_head(&self, offset: Offset, timestamp_ms: i64) -> Result<Numbers, BuildError> {
        let offset_delta = match self.delta_of(offset) {
            Some(delta) if i64::from(delta) > self.last_delta => delta,
            _ => return Err(self.bad_offset(offset)),
        };
        let mut head = Numbers::new();
        head.byte(0);
        head.varlong(timestamp_ms.wrapping_sub(self.base_timestamp_ms.unwrap_or(timestamp_ms)));
        head.varint(offset_delta);
        Ok(head)
    }

    #[inline]
    fn count(&mut self, offset: Offset, timestamp_ms: i64) {
        self.base_timestamp_ms.get_or_insert(timestamp_ms);
        self.max_timestamp_ms = self.max_timestamp_ms.max(timestamp_ms);
        self.last_delta = offset.get() - self.base_offset.get();
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
        self.write_header(&mut bytes, length);
        let crc = crc::of_batch(&bytes);
        put(&mut bytes, CRC_AT, crc.to_be_bytes());
        Ok(bytes.into())
    }

    /// All but the checksum, which is made of what is written here.
    fn write_header(&self, bytes: &mut [u8], length: i32) {
        let last_offset_delta =
            i32::try_from(self.last_delta.max(0)).expect("offsets are checked when they are set");
        let max_timestamp_ms = self.log_append_time_ms.unwrap_or(self.max_timestamp_ms);
        let base_timestamp_ms = self.base_timestamp_ms.unwrap_or(NO_TIMESTAMP_MS);

        put(bytes, 0, self.base_offset.get().to_be_bytes());
        put(bytes, 8, length.to_be_bytes());
        put(bytes, 12, self.leader_epoch.get().to_be_bytes());
        put(bytes, 16, MAGIC.to_be_bytes());
        put(bytes, 21, self.attributes.get().to_be_bytes());
        put(bytes, 23, last_offset_delta.to_be_bytes());
        put(bytes, 27, base_timestamp_ms.to_be_bytes());
        put(bytes, 35, max_timestamp_ms.to_be_bytes());
        put(bytes, 43, self.producer_id.get().to_be_bytes());
        put(bytes, 51, self.producer_epoch.get().to_be_bytes());
        put(bytes, 53, self.base_sequence.to_be_bytes());
        put(bytes, 57, self.record_count.to_be_bytes());
    }

    /// The offset less the base offset, if a batch can say it.
    #[inline]
    fn delta_of(&self, offset: Offset) -> Option<i32> {
        let delta = offset.get().checked_sub(self.base_offset.get())?;
        i32::try_from(delta).ok().filter(|delta| *delta >= 0)
    }

    #[cold]
    fn bad_offset(&self, offset: Offset) -> BuildError {
        let last = match self.last_delta {
            NO_DELTA => Offset::UNKNOWN,
            delta => Offset::new(self.base_offset.get() + delta),
        };
        BuildError::Offset { offset, last, base: self.base_offset }
    }
}

/// A record to be written by way of machine words, if it is such as most are.
struct SmallRecord<'a> {
    /// The last byte that is in the batch before it, and not yet in the buffer.
    byte_before: u8,
    timestamp_delta_ms: i64,
    /// The offset less the base offset, as it is written.
    offset: u64,
    record: &'a NewRecord<'a>,
}

impl SmallRecord<'_> {
    /// Writes the record, but for the last byte, which is [`NO_HEADERS`], if it has no headers, all its numbers are
    /// below [`PACKED_END`]. Else nothing is done.
    #[inline]
    fn append_to(&self, output: &mut Vec<u8>) -> bool {
        let Self { offset, record, .. } = *self;
        let timestamp = zigzag_long(self.timestamp_delta_ms);
        let [key_length, value_length] =
            [record.key, record.value].map(|field| field.map_or(1, |field| 2 * field.len() as u64));
        if (timestamp | offset | key_length | value_length) >= PACKED_END || !record.headers.is_empty() {
            return false;
        }
        let (key, value) = (record.key.unwrap_or_default(), record.value.unwrap_or_default());

        let mut lengths = Packed::default();
        lengths.unsigned(key_length);
        let mut before_value = Packed::default();
        if key.is_empty() { &mut lengths } else { &mut before_value }.unsigned(value_length);
        let mut numbers = Packed::default();
        numbers.unsigned(timestamp);
        numbers.unsigned(offset);
        numbers.all(lengths);
        let fields = numbers.len() + key.len() + before_value.len() + value.len();

        let mut front = Packed::of(self.byte_before);
        let [attributes, headers] = [1; 2];
        front.wide_unsigned(2 * (attributes + fields + headers) as u64);
        front.zero(); // attributes

        let end = output.len() + front.len() + fields;
        numbers.append_behind(front, output);
        if !key.is_empty() {
            output.extend_from_slice(key);
            before_value.append_to(output);
        }
        output.extend_from_slice(value);
        debug_assert_eq!(output.len(), end, "a record is as long as its length field says");
        true
    }
}

/// Fields of the header, for which there is room from the beginning.
#[inline]
fn put<const N: usize>(bytes: &mut [u8], at: usize, field: [u8; N]) {
    bytes.get_mut(at..at + N).expect("the buffer begins with room for the header").copy_from_slice(&field);
}

#[inline]
fn length_field(size: usize) -> Result<i32, BuildError> {
    i32::try_from(size).map_err(|_| BuildError::Size { size })
}

/// The length as it is written: −1 for none.
#[inline]
fn nullable_length(bytes: Option<&[u8]>) -> Result<i32, BuildError> {
    bytes.map_or(Ok(-1), |bytes| length_field(bytes.len()))
}

fn nullable_size(bytes: Option<&[u8]>) -> Result<usize, BuildError> {
    Ok(size_of_varint(nullable_length(bytes)?) + bytes.map_or(0, <[u8]>::len))
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
