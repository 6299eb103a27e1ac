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
