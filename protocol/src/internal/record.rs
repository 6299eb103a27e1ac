//! The records of the internal topics as one type a topic: which key type goes with which key and value. A key carries
//! its type in front, a value its version; no value is a tombstone.

use bytes::Bytes;

use super::group::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue, GroupMetadataKey,
    GroupMetadataValue, LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue,
    ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue, ShareGroupMetadataKey,
    ShareGroupMetadataValue, ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue,
    StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue, StreamsGroupMetadataKey,
    StreamsGroupMetadataValue, StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue, StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue, StreamsGroupTopologyKey, StreamsGroupTopologyValue,
};
use super::share_state::{ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue};
use super::transaction_log::{TransactionLogKey, TransactionLogValue};
use super::versioned::{decode_versioned, encode_versioned};
use crate::codec::{
    DecodeError, DecodeErrorKind, EncodeError, Message, Reader, VersionRange, Wire as _, Writer,
};

/// The version in which every key is written. What stands in front of a key is its type.
const KEY_VERSION: i16 = 0;

/// Why a key and a value are not a coordinator's record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoordinatorRecordError {
    /// A key that is too short to have a type.
    #[error("the key of a coordinator's record: {0}")]
    KeyType(DecodeError),
    /// A key type that is not known here: a newer Kafka wrote it.
    #[error("the key type {kind} is unknown")]
    UnknownType {
        /// The type found.
        kind: i16,
    },
    /// A version of the value that is not known here: a newer Kafka wrote it.
    #[error("{name} has the versions {versions}, not {version}")]
    UnknownVersion {
        /// The value's name.
        name: &'static str,
        /// The version found.
        version: i16,
        /// The versions that are known.
        versions: VersionRange,
    },
    /// The key or the value is damaged.
    #[error("{name}: {source}")]
    Body {
        /// The name of the key or value.
        name: &'static str,
        /// What is wrong, counted from the start of the key or value.
        source: DecodeError,
    },
}

macro_rules! coordinator_records {
    ($(#[$doc:meta])* $records:ident { $($(#[$variant_doc:meta])* $variant:ident($key:ident, $value:ident),)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $records {
            $($(#[$variant_doc])* $variant($key, Option<$value>),)*
        }

        impl $records {
            /// The record of this key and value; no value is a tombstone.
            ///
            /// # Errors
            /// When the key's type or the value's version is not known, or one of them is damaged.
            pub fn decode(key: Bytes, value: Option<Bytes>) -> Result<Self, CoordinatorRecordError> {
                let mut reader = Reader::new(key);
                let kind = reader.field::<i16>("type").map_err(CoordinatorRecordError::KeyType)?;
                $(
                    if $key::KEY == Some(kind) {
                        return Ok(Self::$variant(decode_key(&mut reader)?, value.map(decode_value).transpose()?));
                    }
                )*
                Err(CoordinatorRecordError::UnknownType { kind })
            }

            /// The key's type.
            #[must_use]
            pub fn kind(&self) -> i16 {
                match self {
                    $(Self::$variant(..) => kind_of::<$key>(),)*
                }
            }

            /// The name of the value in Kafka's schemas.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(..) => <$value as crate::codec::Struct>::NAME,)*
                }
            }

            /// The versions in which the value can be written.
            #[must_use]
            pub const fn versions(&self) -> VersionRange {
                match self {
                    $(Self::$variant(..) => $value::VERSIONS,)*
                }
            }

            /// The key, and the value in this version.
            ///
            /// # Errors
            /// When the version does not exist or cannot carry the value.
            pub fn encode(&self, version: i16) -> Result<(Bytes, Option<Bytes>), EncodeError> {
                match self {
                    $(Self::$variant(key, value) => {
                        let value = value.as_ref().map(|value| encode_versioned(value, version)).transpose()?;
                        Ok((encode_key(key)?, value))
                    })*
                }
            }
        }
    };
}

coordinator_records! {
    /// A record of `__consumer_offsets`.
    ConsumerOffsetsRecord {
        /// A committed offset in the form of Kafka 0.8.
        LegacyOffsetCommit(LegacyOffsetCommitKey, LegacyOffsetCommitValue),
        /// A committed offset.
        OffsetCommit(OffsetCommitKey, OffsetCommitValue),
        /// A classic group.
        GroupMetadata(GroupMetadataKey, GroupMetadataValue),
        /// A consumer group.
        ConsumerGroupMetadata(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        /// The topics of a consumer group.
        ConsumerGroupPartitionMetadata(ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
        /// A member of a consumer group.
        ConsumerGroupMemberMetadata(ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        /// The target assignment of a consumer group.
        ConsumerGroupTargetAssignmentMetadata(
            ConsumerGroupTargetAssignmentMetadataKey,
            ConsumerGroupTargetAssignmentMetadataValue
        ),
        /// What a member of a consumer group is to have.
        ConsumerGroupTargetAssignmentMember(
            ConsumerGroupTargetAssignmentMemberKey,
            ConsumerGroupTargetAssignmentMemberValue
        ),
        /// What a member of a consumer group has.
        ConsumerGroupCurrentMemberAssignment(
            ConsumerGroupCurrentMemberAssignmentKey,
            ConsumerGroupCurrentMemberAssignmentValue
        ),
        /// A member of a share group.
        ShareGroupMemberMetadata(ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
        /// A share group.
        ShareGroupMetadata(ShareGroupMetadataKey, ShareGroupMetadataValue),
        /// The target assignment of a share group.
        ShareGroupTargetAssignmentMetadata(
            ShareGroupTargetAssignmentMetadataKey,
            ShareGroupTargetAssignmentMetadataValue
        ),
        /// What a member of a share group is to have.
        ShareGroupTargetAssignmentMember(
            ShareGroupTargetAssignmentMemberKey,
            ShareGroupTargetAssignmentMemberValue
        ),
        /// What a member of a share group has.
        ShareGroupCurrentMemberAssignment(
            ShareGroupCurrentMemberAssignmentKey,
            ShareGroupCurrentMemberAssignmentValue
        ),
        /// Which share-partitions have a state.
        ShareGroupStatePartitionMetadata(
            ShareGroupStatePartitionMetadataKey,
            ShareGroupStatePartitionMetadataValue
        ),
        /// A regular expression that members of a consumer group subscribe to.
        ConsumerGroupRegularExpression(ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
        /// A streams group.
        StreamsGroupMetadata(StreamsGroupMetadataKey, StreamsGroupMetadataValue),
        /// A member of a streams group.
        StreamsGroupMemberMetadata(StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
        /// The target assignment of a streams group.
        StreamsGroupTargetAssignmentMetadata(
            StreamsGroupTargetAssignmentMetadataKey,
            StreamsGroupTargetAssignmentMetadataValue
        ),
        /// What a member of a streams group is to have.
        StreamsGroupTargetAssignmentMember(
            StreamsGroupTargetAssignmentMemberKey,
            StreamsGroupTargetAssignmentMemberValue
        ),
        /// What a member of a streams group has.
        StreamsGroupCurrentMemberAssignment(
            StreamsGroupCurrentMemberAssignmentKey,
            StreamsGroupCurrentMemberAssignmentValue
        ),
        /// The topology of a streams group.
        StreamsGroupTopology(StreamsGroupTopologyKey, StreamsGroupTopologyValue),
    }
}

coordinator_records! {
    /// A record of `__transaction_state`.
    TransactionStateRecord {
        /// A transaction.
        TransactionLog(TransactionLogKey, TransactionLogValue),
    }
}

coordinator_records! {
    /// A record of `__share_group_state`.
    ShareGroupStateRecord {
        /// The whole state of a share-partition.
        ShareSnapshot(ShareSnapshotKey, ShareSnapshotValue),
        /// What changed in it since.
        ShareUpdate(ShareUpdateKey, ShareUpdateValue),
    }
}

fn kind_of<K: Message>() -> i16 {
    K::KEY.expect("every key has a type")
}

fn decode_key<K: Message>(reader: &mut Reader) -> Result<K, CoordinatorRecordError> {
    K::decode_from(reader, KEY_VERSION)
        .map_err(|source| CoordinatorRecordError::Body { name: K::NAME, source })
}

fn decode_value<V: Message>(bytes: Bytes) -> Result<V, CoordinatorRecordError> {
    let decoded = decode_versioned(bytes);
    decoded.map(|(value, _version)| value).map_err(|source| match source.kind() {
        DecodeErrorKind::UnsupportedVersion { version, .. } => {
            CoordinatorRecordError::UnknownVersion { name: V::NAME, version, versions: V::VERSIONS }
        }
        _ => CoordinatorRecordError::Body { name: V::NAME, source },
    })
}

fn encode_key<K: Message>(key: &K) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    kind_of::<K>().write(&mut writer)?;
    key.encode_into(&mut writer, KEY_VERSION)?;
    writer.finish().into_bytes()
}
