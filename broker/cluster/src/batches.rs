//! Between the metadata log's batches and its records (KIP-595, KIP-631): data batches hold metadata records, control
//! batches what the quorum and snapshots say about themselves. Which offsets they have is decided elsewhere.

use bytes::Bytes;
use ottla_model::batch::{
    BatchBuilder, BuildError, CheckedBatch, ControlError, ControlRecordType, CrcMismatch, NewRecord,
    RecordBatch, RecordsError, parse_control_key,
};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, Offset};
use ottla_protocol::control::{
    KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord, VotersRecord,
};
use ottla_protocol::metadata::{MetadataRecord, MetadataRecordError};
use ottla_protocol::{DecodeError, EncodeError, Message};

/// A compressed batch may grow to this; Kafka writes none of the metadata log above 8 MiB and compresses none.
const DECOMPRESSED_BYTES_MAX: usize = 64 << 20;

/// What a batch of the metadata log says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BatchContent {
    /// Changes of the metadata.
    Data(Vec<MetadataRecord>),
    /// What the log says about itself.
    Control(Vec<ControlRecord>),
}

/// A control record of the metadata log or of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ControlRecord {
    LeaderChange(LeaderChangeMessage),
    SnapshotHeader(SnapshotHeaderRecord),
    SnapshotFooter(SnapshotFooterRecord),
    KraftVersion(KRaftVersionRecord),
    KraftVoters(VotersRecord),
}

/// Why a batch does not say anything that this version understands.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The bytes are not those that were written.
    #[error("the batch at offset {base}: {source}")]
    Crc {
        /// The batch's first offset.
        base: Offset,
        /// Both checksums.
        source: CrcMismatch,
    },
    /// The records cannot be told apart.
    #[error("the batch at offset {base}: {source}")]
    Records {
        /// The batch's first offset.
        base: Offset,
        /// What is wrong.
        source: RecordsError,
    },
    /// A record without key or value where one must be.
    #[error("the record at offset {offset} has no {part}")]
    Missing {
        /// The record's offset.
        offset: Offset,
        /// What it lacks.
        part: &'static str,
    },
    /// A metadata record of a type or version that this version of Ottla does not know, or damaged.
    #[error("the record at offset {offset}: {source}")]
    Metadata {
        /// The record's offset.
        offset: Offset,
        /// What is wrong.
        source: MetadataRecordError,
    },
    /// A control record whose key says nothing.
    #[error("the control record at offset {offset}: {source}")]
    ControlKey {
        /// The record's offset.
        offset: Offset,
        /// What is wrong.
        source: ControlError,
    },
    /// A control record of a type that has no place in a metadata log, or that this version does not know.
    #[error("the control record at offset {offset} has type {kind}, which this version does not know")]
    ControlType {
        /// The record's offset.
        offset: Offset,
        /// The type's number.
        kind: i16,
    },
    /// A control record's value does not decode.
    #[error("the control record at offset {offset}: {source}")]
    ControlValue {
        /// The record's offset.
        offset: Offset,
        /// What is wrong.
        source: DecodeError,
    },
}

/// Why records do not become a batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A record cannot be written in the version that the cluster's `metadata.version` allows.
    #[error("a record cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// The batch outgrows its fields.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl BatchContent {
    /// Reads a batch.
    pub(crate) fn decode(batch: &RecordBatch) -> Result<Self, ContentError> {
        let base = batch.header().base_offset();
        batch.verify_crc().map_err(|source| ContentError::Crc { base, source })?;
        let records =
            batch.records(DECOMPRESSED_BYTES_MAX).map_err(|source| ContentError::Records { base, source })?;
        let control = batch.header().attributes().is_control();
        let mut data = Vec::new();
        let mut controls = Vec::new();
        for record in &records {
            let record = record.map_err(|source| ContentError::Records { base, source })?;
            let offset = record.offset;
            let value = record.value.ok_or(ContentError::Missing { offset, part: "value" })?;
            let value = records.block().slice_ref(value);
            if control {
                let key = record.key.ok_or(ContentError::Missing { offset, part: "key" })?;
                controls.push(ControlRecord::decode(offset, key, value)?);
            } else {
                let record = MetadataRecord::decode(value);
                data.push(record.map_err(|source| ContentError::Metadata { offset, source })?);
            }
        }
        Ok(if control { Self::Control(controls) } else { Self::Data(data) })
    }
}

impl ControlRecord {
    fn decode(offset: Offset, key: &[u8], value: Bytes) -> Result<Self, ContentError> {
        let kind = parse_control_key(key).map_err(|source| ContentError::ControlKey { offset, source })?;
        let record = match kind {
            ControlRecordType::LEADER_CHANGE => decode(value).map(Self::LeaderChange),
            ControlRecordType::SNAPSHOT_HEADER => decode(value).map(Self::SnapshotHeader),
            ControlRecordType::SNAPSHOT_FOOTER => decode(value).map(Self::SnapshotFooter),
            ControlRecordType::KRAFT_VERSION => decode(value).map(Self::KraftVersion),
            ControlRecordType::KRAFT_VOTERS => decode(value).map(Self::KraftVoters),
            other => return Err(ContentError::ControlType { offset, kind: other.get() }),
        };
        record.map_err(|source| ContentError::ControlValue { offset, source })
    }

    fn encode(&self) -> Result<(ControlRecordType, Bytes), EncodeError> {
        // Each in version 0: Kafka 4.4 writes no other, also where kraft.version is 1.
        let (kind, bytes) = match self {
            Self::LeaderChange(record) => (ControlRecordType::LEADER_CHANGE, record.to_bytes(0)),
            Self::SnapshotHeader(record) => (ControlRecordType::SNAPSHOT_HEADER, record.to_bytes(0)),
            Self::SnapshotFooter(record) => (ControlRecordType::SNAPSHOT_FOOTER, record.to_bytes(0)),
            Self::KraftVersion(record) => (ControlRecordType::KRAFT_VERSION, record.to_bytes(0)),
            Self::KraftVoters(record) => (ControlRecordType::KRAFT_VOTERS, record.to_bytes(0)),
        };
        Ok((kind, bytes?))
    }
}

/// A control record's value begins with its version, which is also its first field.
fn decode<M: Message>(value: Bytes) -> Result<M, DecodeError> {
    let version = value.first_chunk().map_or(0, |bytes| i16::from_be_bytes(*bytes));
    M::decode(value, version)
}

/// Where a batch of a snapshot stands and when it was made. In the log itself the append decides the first two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPlace {
    pub(crate) base: Offset,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) timestamp_ms: i64,
}

impl BatchPlace {
    fn builder(self) -> BatchBuilder {
        BatchBuilder::new(Compression::NONE).with_base_offset(self.base).with_leader_epoch(self.epoch)
    }
}

/// A batch of metadata records, each in the version that this `metadata.version` has it in.
pub(crate) fn data_batch(
    place: BatchPlace,
    metadata_version: i16,
    records: &[MetadataRecord],
) -> Result<CheckedBatch, BatchError> {
    let mut builder = place.builder();
    for record in records {
        let value = record.encode(record_version(record, metadata_version))?;
        builder.append(&NewRecord {
            timestamp_ms: place.timestamp_ms,
            key: None,
            value: Some(&value),
            headers: &[],
        })?;
    }
    Ok(builder.finish()?)
}

/// A batch of control records.
pub(crate) fn control_batch(
    place: BatchPlace,
    records: &[ControlRecord],
) -> Result<CheckedBatch, BatchError> {
    let mut builder = place.builder().with_control(true);
    for record in records {
        let (kind, value) = record.encode()?;
        builder.append_control(kind, place.timestamp_ms, &value)?;
    }
    Ok(builder.finish()?)
}

/// 3.7-IV2: partitions and brokers know their directories (KIP-858).
const DIRECTORIES_SINCE: i16 = 17;
/// 4.0-IV1: eligible leader replicas (KIP-966).
const ELIGIBLE_REPLICAS_SINCE: i16 = 23;
/// 4.4-IV2, below which no cordoned directories are written.
const CORDONED_SINCE: i16 = 33;

/// The version of a record that every node of this `metadata.version` reads.
fn record_version(record: &MetadataRecord, metadata_version: i16) -> i16 {
    match record {
        MetadataRecord::Partition(_) | MetadataRecord::PartitionChange(_) => match metadata_version {
            ELIGIBLE_REPLICAS_SINCE.. => 2,
            DIRECTORIES_SINCE.. => 1,
            _ => 0,
        },
        MetadataRecord::RegisterBroker(_) => match metadata_version {
            CORDONED_SINCE.. => 4,
            DIRECTORIES_SINCE.. => 3,
            _ => 1,
        },
        _ => 0,
    }
}
