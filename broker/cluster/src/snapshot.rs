//! Snapshot files, `OFFSET-EPOCH.checkpoint` (KIP-630): a header, the records of an image, a footer, in batches of
//! their own offsets. When one is written is the log's affair. A file without its footer is none.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use ottla_model::batch::{BatchError as FrameError, CheckedBatch, RecordBatch};
use ottla_model::{LeaderEpoch, Offset};
use ottla_protocol::control::{KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord, VotersRecord};
use ottla_protocol::metadata::MetadataRecord;

use crate::batches::{
    BatchContent, BatchError, BatchPlace, ContentError, ControlRecord, control_batch, data_batch,
};

const SUFFIX: &str = ".checkpoint";
/// Records in one of a snapshot's batches: of the usual sizes they make some hundred KiB.
const RECORDS_PER_BATCH: usize = 2000;

/// A snapshot's name: it holds everything below an offset, written up to an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SnapshotId {
    /// The first offset that it does not hold.
    pub(crate) end: Offset,
    /// The epoch of the last that it does.
    pub(crate) epoch: LeaderEpoch,
}

impl SnapshotId {
    /// What `format` writes: the state before the log.
    pub(crate) const BOOTSTRAP: Self = Self { end: Offset::ZERO, epoch: LeaderEpoch::new(0) };
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}-{:010}{SUFFIX}", self.end.get(), self.epoch.get())
    }
}

/// A name that is no snapshot's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoSnapshotName;

impl FromStr for SnapshotId {
    type Err = NoSnapshotName;

    fn from_str(name: &str) -> Result<Self, NoSnapshotName> {
        let (end, epoch) =
            name.strip_suffix(SUFFIX).and_then(|stem| stem.split_once('-')).ok_or(NoSnapshotName)?;
        let digits =
            |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(end, 20) || !digits(epoch, 10) {
            return Err(NoSnapshotName);
        }
        let end = end.parse().map_err(|_| NoSnapshotName)?;
        let epoch = epoch.parse().map_err(|_| NoSnapshotName)?;
        Ok(Self { end: Offset::new(end), epoch: LeaderEpoch::new(epoch) })
    }
}

/// What the log says about its voters, in control records; a snapshot repeats it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct KraftState {
    /// The level of `kraft.version`.
    pub(crate) version: i16,
    /// The voters; a log of version 0 does not name them.
    pub(crate) voters: Option<VotersRecord>,
}

impl KraftState {
    /// The control records that say so; none in a log of version 0.
    pub(crate) fn to_records(&self) -> Vec<ControlRecord> {
        let voters = self.voters.iter().cloned().map(ControlRecord::KraftVoters);
        let version = (self.version > 0).then(|| {
            ControlRecord::KraftVersion(KRaftVersionRecord {
                kraft_version: self.version,
                ..KRaftVersionRecord::default()
            })
        });
        version.into_iter().chain(voters).collect()
    }

    pub(crate) fn apply(&mut self, record: &ControlRecord) {
        match record {
            ControlRecord::KraftVersion(record) => self.version = record.kraft_version,
            ControlRecord::KraftVoters(record) => self.voters = Some(record.clone()),
            ControlRecord::LeaderChange(_)
            | ControlRecord::SnapshotHeader(_)
            | ControlRecord::SnapshotFooter(_) => {}
        }
    }
}

/// A snapshot's content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Snapshot {
    /// The timestamp of the last batch that it stands for.
    pub(crate) last_contained_timestamp_ms: i64,
    pub(crate) kraft: KraftState,
    pub(crate) records: Vec<MetadataRecord>,
}

/// Why a file is no whole snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Somewhere a batch should begin and does not.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A batch says nothing that this version understands.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// It does not begin with a header.
    #[error("it has no header")]
    NoHeader,
    /// It ends before its footer: whoever wrote it did not finish.
    #[error("it has no footer")]
    NoFooter,
    /// Something follows the footer.
    #[error("{bytes} bytes follow the footer")]
    Trailing {
        /// How many.
        bytes: usize,
    },
}

impl Snapshot {
    pub(crate) fn decode(mut bytes: Bytes) -> Result<Self, SnapshotError> {
        let mut snapshot = None;
        while let Some(batch) = RecordBatch::split_first(&mut bytes)? {
            match (BatchContent::decode(&batch)?, &mut snapshot) {
                (BatchContent::Control(controls), None) => snapshot = Some(Self::begin(&controls)?),
                (BatchContent::Data(_), None) => return Err(SnapshotError::NoHeader),
                (BatchContent::Data(records), Some(snapshot)) => snapshot.records.extend(records),
                (BatchContent::Control(controls), Some(_)) => {
                    let footer = |record: &ControlRecord| matches!(record, ControlRecord::SnapshotFooter(_));
                    if controls.iter().any(footer) {
                        return Self::end(snapshot, bytes.len());
                    }
                }
            }
        }
        Err(if snapshot.is_none() { SnapshotError::NoHeader } else { SnapshotError::NoFooter })
    }

    fn begin(controls: &[ControlRecord]) -> Result<Self, SnapshotError> {
        let Some(ControlRecord::SnapshotHeader(header)) = controls.first() else {
            return Err(SnapshotError::NoHeader);
        };
        let mut kraft = KraftState::default();
        controls.iter().for_each(|record| kraft.apply(record));
        Ok(Self {
            last_contained_timestamp_ms: header.last_contained_log_timestamp,
            kraft,
            records: Vec::new(),
        })
    }

    fn end(snapshot: Option<Self>, trailing: usize) -> Result<Self, SnapshotError> {
        if trailing > 0 {
            return Err(SnapshotError::Trailing { bytes: trailing });
        }
        snapshot.ok_or(SnapshotError::NoHeader)
    }

    /// The batches of the file, made at this time. The snapshot's epoch is that of every batch.
    pub(crate) fn encode(
        &self,
        id: SnapshotId,
        metadata_version: i16,
        now_ms: i64,
    ) -> Result<Vec<CheckedBatch>, BatchError> {
        let mut batches = Vec::new();
        let mut place = BatchPlace { base: Offset::ZERO, epoch: id.epoch, timestamp_ms: now_ms };
        let mut push = |batch: CheckedBatch, place: &mut BatchPlace| {
            place.base = batch.last_offset().next();
            batches.push(batch);
        };
        let header = SnapshotHeaderRecord {
            last_contained_log_timestamp: self.last_contained_timestamp_ms,
            ..SnapshotHeaderRecord::default()
        };
        let mut controls = vec![ControlRecord::SnapshotHeader(header)];
        controls.extend(self.kraft.to_records());
        push(control_batch(place, &controls)?, &mut place);
        for records in self.records.chunks(RECORDS_PER_BATCH) {
            push(data_batch(place, metadata_version, records)?, &mut place);
        }
        let footer = [ControlRecord::SnapshotFooter(SnapshotFooterRecord::default())];
        push(control_batch(place, &footer)?, &mut place);
        Ok(batches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_twenty_and_ten_digits() {
        let id = SnapshotId { end: Offset::new(379), epoch: LeaderEpoch::new(2) };
        assert_eq!(id.to_string(), "00000000000000000379-0000000002.checkpoint");
        assert_eq!(id.to_string().parse(), Ok(id));
        for name in [
            "00000000000000000379-0000000002.checkpoint.part",
            "00000000000000000379-0000000002.checkpoint.deleted",
            "379-2.checkpoint",
            "0000000000000000037x-0000000002.checkpoint",
            "99999999999999999999-0000000002.checkpoint",
            "00000000000000000379.log",
            "bootstrap.checkpoint",
        ] {
            assert_eq!(name.parse::<SnapshotId>(), Err(NoSnapshotName), "{name}");
        }
    }
}
