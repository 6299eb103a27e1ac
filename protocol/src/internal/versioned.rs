//! Values with their version in front, as 16 bits: coordinators' records, the consumer protocol, principals, entries
//! of a transaction index.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Message, Reader, Wire as _, Writer};

/// Reads a version and the message in that version. What follows it is not looked at.
///
/// # Errors
/// When the version does not exist or the bytes are not the message.
pub fn decode_versioned<M: Message>(bytes: Bytes) -> Result<(M, i16), DecodeError> {
    let mut reader = Reader::new(bytes);
    let version: i16 = reader.field("version")?;
    Ok((M::decode_from(&mut reader, version)?, version))
}

/// As [`decode_versioned`], but a version that is newer than those known is read as the newest known: so Kafka's
/// clients read the consumer protocol, whose newer versions only add to its end.
///
/// # Errors
/// When the version is older than those known or the bytes are not the message.
pub fn decode_versioned_or_newer<M: Message>(bytes: Bytes) -> Result<(M, i16), DecodeError> {
    let mut reader = Reader::new(bytes);
    let version: i16 = reader.field("version")?;
    Ok((M::decode_from(&mut reader, version.min(M::VERSIONS.last))?, version))
}

/// Writes the version and the message in that version.
///
/// # Errors
/// When the version does not exist or cannot carry the value.
pub fn encode_versioned<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    version.write(&mut writer)?;
    message.encode_into(&mut writer, version)?;
    writer.finish().into_bytes()
}
