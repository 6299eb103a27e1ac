//! The `.snapshot` file: producer state at an offset, in Kafka's format. Of each producer only the newest batch is in
//! it. Finding and choosing files is the log's.

use std::collections::VecDeque;

use ottla_model::{Offset, ProducerEpoch, ProducerId, crc32c};

use super::{BatchMark, Producer, ProducerStates};

const VERSION: i16 = 1;
/// Version and checksum come first; the checksum covers the rest.
const CHECKED_FROM: usize = 6;
const NO_OFFSET: i64 = -1;

impl ProducerStates {
    /// The file's content. Producers are written in order of their ids; Kafka's order is its hash map's.
    pub(crate) fn to_snapshot(&self) -> Vec<u8> {
        let mut producers: Vec<_> = self.producers.iter().collect();
        producers.sort_unstable_by_key(|(id, _)| **id);
        let mut checked = u32::try_from(producers.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
        for (id, producer) in producers {
            producer.write(*id, &mut checked);
        }
        let mut out = VERSION.to_be_bytes().to_vec();
        out.extend_from_slice(&crc32c::checksum(&checked).to_be_bytes());
        out.extend_from_slice(&checked);
        out
    }

    /// Reads a file that describes the log below `end`; says what is wrong with it otherwise.
    pub(crate) fn from_snapshot(bytes: &[u8], end: Offset) -> Result<Self, &'static str> {
        let (head, checked) = bytes.split_at_checked(CHECKED_FROM).ok_or("it ends within its head")?;
        let mut head = Fields(head);
        if head.i16()? != VERSION {
            return Err("its version is not 1");
        }
        if head.i32()?.cast_unsigned() != crc32c::checksum(checked) {
            return Err("its checksum does not match");
        }
        let mut fields = Fields(checked);
        let count = fields.i32()?;
        let mut states = Self::new(end);
        for _ in 0..count {
            let (id, producer) = Producer::read(&mut fields)?;
            if let Some(start) = producer.transaction_start {
                states.open.insert(start, id);
            }
            states.producers.insert(id, producer);
        }
        if fields.0.is_empty() { Ok(states) } else { Err("something follows its last entry") }
    }
}

impl Producer {
    fn write(&self, id: ProducerId, out: &mut Vec<u8>) {
        let none = BatchMark {
            last_sequence: -1,
            last_offset: Offset::new(NO_OFFSET),
            offset_delta: 0,
            timestamp_ms: self.last_timestamp_ms,
        };
        let last = self.batches.back().unwrap_or(&none);
        out.extend_from_slice(&id.get().to_be_bytes());
        out.extend_from_slice(&self.epoch.get().to_be_bytes());
        out.extend_from_slice(&last.last_sequence.to_be_bytes());
        out.extend_from_slice(&last.last_offset.get().to_be_bytes());
        out.extend_from_slice(&last.offset_delta.to_be_bytes());
        out.extend_from_slice(&self.last_timestamp_ms.to_be_bytes());
        out.extend_from_slice(&self.coordinator_epoch.to_be_bytes());
        let start = self.transaction_start.map_or(NO_OFFSET, Offset::get);
        out.extend_from_slice(&start.to_be_bytes());
    }

    fn read(fields: &mut Fields<'_>) -> Result<(ProducerId, Self), &'static str> {
        let id = ProducerId::new(fields.i64()?);
        let epoch = ProducerEpoch::new(fields.i16()?);
        let last_sequence = fields.i32()?;
        let last_offset = Offset::new(fields.i64()?);
        let offset_delta = fields.i32()?;
        let last_timestamp_ms = fields.i64()?;
        let coordinator_epoch = fields.i32()?;
        let transaction_start = Some(fields.i64()?).filter(|start| *start >= 0).map(Offset::new);
        let mark = BatchMark { last_sequence, last_offset, offset_delta, timestamp_ms: last_timestamp_ms };
        let batches = if last_offset.get() >= 0 { VecDeque::from([mark]) } else { VecDeque::new() };
        Ok((id, Self { epoch, batches, last_timestamp_ms, coordinator_epoch, transaction_start }))
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (field, rest) = self.0.split_first_chunk().ok_or("it ends within an entry")?;
        self.0 = rest;
        Ok(*field)
    }

    fn i16(&mut self) -> Result<i16, &'static str> {
        self.take().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, &'static str> {
        self.take().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, &'static str> {
        self.take().map(i64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn vectors() -> Vec<Value> {
        let text = include_str!("../../tests/data/producer-snapshots.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn bytes(vector: &Value) -> Vec<u8> {
        let hex = vector["hex"].as_str().unwrap().as_bytes();
        hex.chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn number(value: &Value, name: &str) -> i64 {
        value[name].as_i64().unwrap()
    }

    #[test]
    fn kafkas_snapshots_read_as_kafka_reads_them_and_are_written_again_byte_for_byte() {
        let vectors = vectors();
        assert_eq!(vectors.len(), 6);
        for vector in vectors {
            let states = ProducerStates::from_snapshot(&bytes(&vector), Offset::ZERO).unwrap();
            assert_eq!(states.to_snapshot(), bytes(&vector), "{}", vector["case"]);
            let entries = vector["entries"].as_array().unwrap();
            assert_eq!(states.producers.len(), entries.len());
            for entry in entries {
                let producer = &states.producers[&ProducerId::new(number(entry, "producerId"))];
                assert_eq!(i64::from(producer.epoch.get()), number(entry, "epoch"));
                assert_eq!(i64::from(producer.coordinator_epoch), number(entry, "coordinatorEpoch"));
                let start = producer.transaction_start.map_or(-1, Offset::get);
                assert_eq!(start, number(entry, "currentTxnFirstOffset"));
                let batches = entry["batches"].as_array().unwrap();
                assert_eq!(producer.batches.len(), batches.len());
                for (mark, batch) in producer.batches.iter().zip(batches) {
                    assert_eq!(i64::from(mark.first_sequence()), number(batch, "firstSeq"));
                    assert_eq!(mark.first_offset().get(), number(batch, "firstOffset"));
                    assert_eq!(mark.timestamp_ms, number(batch, "timestamp"));
                }
            }
        }
    }

    #[test]
    fn a_snapshot_cut_anywhere_or_with_a_flipped_bit_is_refused() {
        for vector in vectors() {
            let whole = bytes(&vector);
            for length in 0..whole.len() {
                assert!(ProducerStates::from_snapshot(&whole[..length], Offset::ZERO).is_err());
            }
            for at in 0..whole.len() {
                let mut flipped = whole.clone();
                flipped[at] ^= 0x10;
                assert!(ProducerStates::from_snapshot(&flipped, Offset::ZERO).is_err(), "byte {at}");
            }
        }
    }
}
