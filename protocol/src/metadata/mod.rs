//! The records of `__cluster_metadata` (KIP-631), one file each, and the frame that they stand in. What they mean for
//! the cluster's image is not decided here.

mod abort_transaction_record;
mod access_control_entry_record;
mod begin_transaction_record;
mod broker_registration_change_record;
mod clear_elr_record;
mod client_quota_record;
mod config_record;
mod delegation_token_record;
mod end_transaction_record;
mod feature_level_record;
mod fence_broker_record;
mod no_op_record;
mod partition_change_record;
mod partition_record;
mod producer_ids_record;
mod register_broker_record;
mod register_controller_record;
mod remove_access_control_entry_record;
mod remove_delegation_token_record;
mod remove_topic_record;
mod remove_user_scram_credential_record;
mod topic_record;
mod unfence_broker_record;
mod unregister_broker_record;
mod unregister_controller_record;
mod user_scram_credential_record;
mod zk_migration_state_record;

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

pub use abort_transaction_record::AbortTransactionRecord;
pub use access_control_entry_record::AccessControlEntryRecord;
pub use begin_transaction_record::BeginTransactionRecord;
pub use broker_registration_change_record::BrokerRegistrationChangeRecord;
pub use clear_elr_record::ClearElrRecord;
pub use client_quota_record::{ClientQuotaRecord, EntityData};
pub use config_record::ConfigRecord;
pub use delegation_token_record::DelegationTokenRecord;
pub use end_transaction_record::EndTransactionRecord;
pub use feature_level_record::FeatureLevelRecord;
pub use fence_broker_record::FenceBrokerRecord;
pub use no_op_record::NoOpRecord;
pub use partition_change_record::PartitionChangeRecord;
pub use partition_record::PartitionRecord;
pub use producer_ids_record::ProducerIdsRecord;
pub use register_broker_record::{BrokerEndpoint, BrokerFeature, RegisterBrokerRecord};
pub use register_controller_record::{ControllerEndpoint, ControllerFeature, RegisterControllerRecord};
pub use remove_access_control_entry_record::RemoveAccessControlEntryRecord;
pub use remove_delegation_token_record::RemoveDelegationTokenRecord;
pub use remove_topic_record::RemoveTopicRecord;
pub use remove_user_scram_credential_record::RemoveUserScramCredentialRecord;
pub use topic_record::TopicRecord;
pub use unfence_broker_record::UnfenceBrokerRecord;
pub use unregister_broker_record::UnregisterBrokerRecord;
pub use unregister_controller_record::UnregisterControllerRecord;
pub use user_scram_credential_record::UserScramCredentialRecord;
pub use zk_migration_state_record::ZkMigrationStateRecord;

/// The version of the frame around each record.
const FRAME_VERSION: u32 = 1;

/// Why bytes are not a metadata record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataRecordError {
    /// The frame itself is damaged.
    #[error("the frame of a metadata record: {0}")]
    Frame(#[from] DecodeError),
    /// The frame is of another version.
    #[error("frame version {version} is not {FRAME_VERSION}")]
    FrameVersion {
        /// The version found.
        version: u32,
    },
    /// A record type that is not known here: a newer Kafka wrote it.
    #[error("metadata record type {kind} is unknown")]
    UnknownType {
        /// The type found.
        kind: u32,
    },
    /// A version of the record that is not known here: a newer Kafka wrote it.
    #[error("{name} has the versions {versions}, not {version}")]
    UnknownVersion {
        /// The record's name.
        name: &'static str,
        /// The version found.
        version: u32,
        /// The versions that are known.
        versions: VersionRange,
    },
    /// The record itself is damaged.
    #[error("{name}: {source}")]
    Body {
        /// The record's name.
        name: &'static str,
        /// What is wrong, counted from the start of the frame.
        source: DecodeError,
    },
}

macro_rules! metadata_records {
    ($($(#[$doc:meta])* $variant:ident($record:ident),)*) => {
        /// A record of `__cluster_metadata`.
        #[derive(Debug, Clone, PartialEq)]
        pub enum MetadataRecord {
            $($(#[$doc])* $variant($record),)*
        }

        impl MetadataRecord {
            /// The record's name in Kafka's schemas.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$record as crate::codec::Struct>::NAME,)*
                }
            }

            /// The record's type in the frame.
            #[must_use]
            pub fn kind(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => kind_of::<$record>(),)*
                }
            }

            /// The versions in which the record can be written.
            #[must_use]
            pub const fn versions(&self) -> VersionRange {
                match self {
                    $(Self::$variant(_) => $record::VERSIONS,)*
                }
            }

            /// The frame with the record in this version: a batch record's value.
            ///
            /// # Errors
            /// When the version does not exist or cannot carry the record.
            pub fn encode(&self, version: i16) -> Result<Bytes, EncodeError> {
                match self {
                    $(Self::$variant(record) => encode(record, version),)*
                }
            }

            fn decode_body(kind: u32, version: u32, reader: &mut Reader) -> Result<Self, MetadataRecordError> {
                $(
                    if kind == kind_of::<$record>() {
                        return decode::<$record>(version, reader).map(Self::$variant);
                    }
                )*
                Err(MetadataRecordError::UnknownType { kind })
            }
        }

        $(
            impl From<$record> for MetadataRecord {
                fn from(record: $record) -> Self {
                    Self::$variant(record)
                }
            }
        )*
    };
}

metadata_records! {
    /// A broker is registered.
    RegisterBroker(RegisterBrokerRecord),
    /// A broker is no longer registered.
    UnregisterBroker(UnregisterBrokerRecord),
    /// A topic is made; its partitions follow.
    Topic(TopicRecord),
    /// A partition is made.
    Partition(PartitionRecord),
    /// A config is set or taken back.
    Config(ConfigRecord),
    /// A partition changes: only what is set does.
    PartitionChange(PartitionChangeRecord),
    /// A broker is fenced. Superseded by [`BrokerRegistrationChange`](Self::BrokerRegistrationChange).
    FenceBroker(FenceBrokerRecord),
    /// A broker is no longer fenced. Superseded by
    /// [`BrokerRegistrationChange`](Self::BrokerRegistrationChange).
    UnfenceBroker(UnfenceBrokerRecord),
    /// A topic is removed, with its partitions.
    RemoveTopic(RemoveTopicRecord),
    /// A delegation token is made or renewed.
    DelegationToken(DelegationTokenRecord),
    /// A user's SCRAM credential is set.
    UserScramCredential(UserScramCredentialRecord),
    /// A feature's level changes.
    FeatureLevel(FeatureLevelRecord),
    /// A client quota is set or ends.
    ClientQuota(ClientQuotaRecord),
    /// A broker gets a block of producer ids.
    ProducerIds(ProducerIdsRecord),
    /// A broker's registration changes.
    BrokerRegistrationChange(BrokerRegistrationChangeRecord),
    /// An access control entry is made.
    AccessControlEntry(AccessControlEntryRecord),
    /// An access control entry is removed.
    RemoveAccessControlEntry(RemoveAccessControlEntryRecord),
    /// Nothing happens; the log moves on.
    NoOp(NoOpRecord),
    /// Where a migration from ZooKeeper stands.
    ZkMigrationState(ZkMigrationStateRecord),
    /// A user's SCRAM credential is removed.
    RemoveUserScramCredential(RemoveUserScramCredentialRecord),
    /// A metadata transaction begins: records up to its end count together or not at all.
    BeginTransaction(BeginTransactionRecord),
    /// A metadata transaction ends, and its records count.
    EndTransaction(EndTransactionRecord),
    /// A metadata transaction ends, and its records count for nothing.
    AbortTransaction(AbortTransactionRecord),
    /// A delegation token is removed.
    RemoveDelegationToken(RemoveDelegationTokenRecord),
    /// A controller is registered.
    RegisterController(RegisterControllerRecord),
    /// A topic's eligible leader replicas, or those of all topics, are forgotten.
    ClearElr(ClearElrRecord),
    /// A controller is no longer registered.
    UnregisterController(UnregisterControllerRecord),
}

impl MetadataRecord {
    /// Reads a framed record: a batch record's value.
    ///
    /// # Errors
    /// When it is damaged, or of a type or version that is not known here.
    pub fn decode(value: Bytes) -> Result<Self, MetadataRecordError> {
        Self::decode_with_version(value).map(|(record, _)| record)
    }

    /// Reads a framed record and says in which version it was written.
    ///
    /// # Errors
    /// When it is damaged, or of a type or version that is not known here.
    pub fn decode_with_version(value: Bytes) -> Result<(Self, i16), MetadataRecordError> {
        let mut reader = Reader::new(value);
        let frame_version = reader.unsigned_varint_field("frameVersion")?;
        if frame_version != FRAME_VERSION {
            return Err(MetadataRecordError::FrameVersion { version: frame_version });
        }
        let kind = reader.unsigned_varint_field("type")?;
        let version = reader.unsigned_varint_field("version")?;
        let record = Self::decode_body(kind, version, &mut reader)?;
        reader.expect_end().map_err(|source| MetadataRecordError::Body { name: record.name(), source })?;
        Ok((record, reader.version()))
    }
}

fn kind_of<M: Message>() -> u32 {
    let kind = M::KEY.and_then(|key| u32::try_from(key).ok());
    kind.expect("every metadata record has a type that is not negative")
}

fn encode<M: Message>(record: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    writer.put_unsigned_varint(FRAME_VERSION);
    writer.put_unsigned_varint(kind_of::<M>());
    writer.put_unsigned_varint(u32::from(version.unsigned_abs()));
    record.encode_into(&mut writer, version)?;
    writer.finish().into_bytes()
}

fn decode<M: Message>(version: u32, reader: &mut Reader) -> Result<M, MetadataRecordError> {
    let known = i16::try_from(version).ok().filter(|version| M::VERSIONS.contains(*version));
    let Some(known) = known else {
        return Err(MetadataRecordError::UnknownVersion { name: M::NAME, version, versions: M::VERSIONS });
    };
    M::decode_from(reader, known).map_err(|source| MetadataRecordError::Body { name: M::NAME, source })
}
