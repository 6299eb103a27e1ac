//! From typed records to the bytes of `__consumer_offsets`, each value in the version that Kafka 4.4 writes, and back.
//! What the records mean is the machine's.

use bytes::Bytes;
use ottla_protocol::codec::EncodeError;
use ottla_protocol::internal::{ConsumerOffsetsRecord, CoordinatorRecordError};

use crate::effects::Record;

/// The version of a classic group's value: static members, not flexible.
const GROUP_METADATA_VERSION: i16 = 3;
/// The version of an offset's value with a leader epoch and without a topic's id.
const OFFSET_VERSION: i16 = 3;
/// The version of an offset's value that knows its topic's id.
const OFFSET_WITH_TOPIC_ID_VERSION: i16 = 4;
/// The version of an offset's value that says when it expires.
const OFFSET_WITH_EXPIRY_VERSION: i16 = 1;

/// The record's key and value as bytes.
///
/// # Errors
/// When a text is longer than its length can say.
pub(crate) fn encode(record: &ConsumerOffsetsRecord) -> Result<Record, EncodeError> {
    let (key, value) = record.encode(version_of(record))?;
    Ok(Record { key, value })
}

/// The record that these bytes are.
///
/// # Errors
/// When they are none that is known here.
pub(crate) fn decode(
    key: Bytes,
    value: Option<Bytes>,
) -> Result<ConsumerOffsetsRecord, CoordinatorRecordError> {
    ConsumerOffsetsRecord::decode(key, value)
}

fn version_of(record: &ConsumerOffsetsRecord) -> i16 {
    match record {
        ConsumerOffsetsRecord::GroupMetadata(..) => GROUP_METADATA_VERSION,
        ConsumerOffsetsRecord::OffsetCommit(_, Some(value)) if value.expire_timestamp != -1 => {
            OFFSET_WITH_EXPIRY_VERSION
        }
        ConsumerOffsetsRecord::OffsetCommit(_, Some(value)) if !value.topic_id.is_zero() => {
            OFFSET_WITH_TOPIC_ID_VERSION
        }
        ConsumerOffsetsRecord::OffsetCommit(..) => OFFSET_VERSION,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_model::batch::RecordBatch;

    #[test]
    fn a_record_that_kafka_wrote_is_written_byte_for_byte_again() {
        let logs: [&'static [u8]; 3] = [
            include_bytes!("../tests/data/kafka/__consumer_offsets-0.log"),
            include_bytes!("../tests/data/kafka/__consumer_offsets-1.log"),
            include_bytes!("../tests/data/kafka/__consumer_offsets-2.log"),
        ];
        let mut compared = 0;
        for log in logs {
            let mut bytes = Bytes::from_static(log);
            while let Some(batch) = RecordBatch::split_first(&mut bytes).expect("a batch") {
                if batch.header().attributes().is_control() {
                    continue;
                }
                let records = batch.records(1 << 20).expect("records");
                for record in &records {
                    let record = record.expect("a record");
                    let key = Bytes::copy_from_slice(record.key.expect("a key"));
                    let value = record.value.map(Bytes::copy_from_slice);
                    let typed = decode(key.clone(), value.clone()).expect("a known record");
                    assert_eq!(encode(&typed).expect("it fits"), Record { key, value }, "{typed:?}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 54, "records compared");
    }
}
