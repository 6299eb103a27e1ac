//! Reading what is there before anything is written: the newest snapshot that is whole, the log after it, and whether
//! one node alone may carry them on.

use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use ottla_model::batch::RecordBatch;
use ottla_model::{LeaderEpoch, NodeId, Offset};
use ottla_storage::io::Directory;
use ottla_storage::{Log, ReadEnd, ReadMode, ReadOutcome, ReadRequest, ReadSlice, SliceSource};
use tracing::warn;

use super::error::EmbeddedError;
use super::{METADATA_FOLDER, Owner, files};
use crate::batches::{BatchContent, ContentError, ControlRecord};
use crate::builder::ImageBuilder;
use crate::image::ImagePosition;
use crate::quorum_state::{self, QuorumState};
use crate::snapshot::{KraftState, Snapshot, SnapshotError, SnapshotId};

/// Bytes read at a time when the log is replayed; a larger batch is read whole.
const REPLAY_READ_BYTES: u64 = 1 << 20;

/// The log as it was found.
pub(super) struct Found {
    pub(super) builder: ImageBuilder,
    pub(super) kraft: KraftState,
    pub(super) snapshot: Option<SnapshotId>,
    pub(super) end: Offset,
    /// The highest epoch that any file names.
    epoch: LeaderEpoch,
    /// Bytes of the batches after the snapshot.
    pub(super) bytes: u64,
    /// The voters of the newest leader change: all that a log of `kraft.version` 0 says of them.
    leader_change_voters: Vec<NodeId>,
}

impl Found {
    pub(super) fn read(log: &dyn Log, folder: &dyn Directory) -> Result<Self, EmbeddedError> {
        let mut epoch = LeaderEpoch::new(0);
        if let Some(text) = files::read(folder, quorum_state::FILE_NAME)? {
            epoch = QuorumState::parse(&text)?.leader_epoch;
        }
        let mut found = Self {
            builder: ImageBuilder::default(),
            kraft: KraftState::default(),
            snapshot: None,
            end: Offset::ZERO,
            epoch: epoch.max(log.latest_epoch().unwrap_or_default()),
            bytes: 0,
            leader_change_voters: Vec::new(),
        };
        found.load_snapshot(log.positions().log_start, folder)?;
        found.load_log(log)?;
        Ok(found)
    }

    /// Takes the newest snapshot that is whole. A damaged one is passed over as long as the log has what it holds.
    fn load_snapshot(&mut self, log_start: Offset, folder: &dyn Directory) -> Result<(), EmbeddedError> {
        let mut cause = None;
        for id in files::snapshots(folder)?.into_iter().rev() {
            if id.end < log_start {
                break;
            }
            let file = id.to_string();
            let Some(bytes) = files::read(folder, &file)? else { continue };
            match Snapshot::decode(Bytes::from(bytes)) {
                Ok(snapshot) => return self.apply_snapshot(id, snapshot),
                // What this version cannot understand, another has written: an older snapshot is no way around it.
                Err(SnapshotError::Content(error @ ContentError::Metadata { .. })) => {
                    return Err(error.into());
                }
                Err(error) => {
                    warn!(snapshot = %id, %error, "a metadata snapshot cannot be read");
                    cause.get_or_insert(format!("{file}: {error}"));
                }
            }
        }
        if log_start > Offset::ZERO {
            return Err(EmbeddedError::NoSnapshot { start: log_start, cause });
        }
        Ok(())
    }

    fn apply_snapshot(&mut self, id: SnapshotId, snapshot: Snapshot) -> Result<(), EmbeddedError> {
        for record in &snapshot.records {
            let replayed = self.builder.replay(record);
            replayed.map_err(|source| EmbeddedError::SnapshotReplay { file: id.to_string(), source })?;
        }
        self.builder.advance(ImagePosition {
            offset: Offset::new(id.end.get() - 1),
            epoch: id.epoch,
            timestamp_ms: snapshot.last_contained_timestamp_ms,
        });
        self.kraft = snapshot.kraft;
        self.snapshot = Some(id);
        self.end = id.end;
        self.epoch = self.epoch.max(id.epoch);
        Ok(())
    }

    fn load_log(&mut self, log: &dyn Log) -> Result<(), EmbeddedError> {
        let log_end = log.positions().log_end.offset;
        if log_end < self.end {
            // The snapshot is durable and the log's end was not: the records between are in the snapshot.
            warn!(
                log_end = log_end.get(),
                snapshot_end = self.end.get(),
                "the metadata log begins anew at its snapshot"
            );
            log.restart_at(self.end, self.builder.current().position().timestamp_ms)?;
            return Ok(());
        }
        while self.end < log_end {
            let request = ReadRequest {
                from: self.end,
                max_bytes: REPLAY_READ_BYTES,
                end: ReadEnd::LogEnd,
                at_least_one_batch: true,
                mode: ReadMode::MayBlock,
            };
            let ReadOutcome::Found(slice) = log.read(&request)? else { break };
            let mut bytes = slice_bytes(&slice).map_err(files::error("read", METADATA_FOLDER))?;
            let before = self.end;
            while let Some(batch) = self.split(&mut bytes)? {
                self.replay_batch(&batch)?;
            }
            assert!(self.end > before, "a read of the log returns a whole batch");
        }
        Ok(())
    }

    fn split(&self, bytes: &mut Bytes) -> Result<Option<RecordBatch>, EmbeddedError> {
        RecordBatch::split_first(bytes).map_err(|source| EmbeddedError::Frame { offset: self.end, source })
    }

    fn replay_batch(&mut self, batch: &RecordBatch) -> Result<(), EmbeddedError> {
        let header = batch.header();
        let (base, last) = (header.base_offset(), header.last_offset());
        if last < self.end {
            // The first read may begin with a batch that the snapshot holds.
            return Ok(());
        }
        let (epoch, timestamp_ms) = (header.leader_epoch(), header.max_timestamp_ms());
        match BatchContent::decode(batch)? {
            BatchContent::Control(controls) => {
                controls.iter().for_each(|record| self.kraft.apply(record));
                for record in &controls {
                    if let ControlRecord::LeaderChange(change) = record {
                        self.leader_change_voters =
                            change.voters.iter().map(|voter| voter.voter_id).collect();
                    }
                }
                self.builder.advance(ImagePosition { offset: last, epoch, timestamp_ms });
            }
            BatchContent::Data(records) => {
                let replayed = self.builder.replay_batch(base, epoch, timestamp_ms, &records);
                replayed.map_err(|(offset, source)| EmbeddedError::Replay { offset, source })?;
            }
        }
        self.end = last.next();
        self.epoch = self.epoch.max(epoch);
        self.bytes += batch.bytes().len() as u64;
        Ok(())
    }

    /// Whether one node alone may carry this log on.
    pub(super) fn check(&self, owner: Owner<'_>) -> Result<(), EmbeddedError> {
        let node = owner.node_id;
        let voters: Vec<NodeId> = match &self.kraft.voters {
            Some(record) => record.voters.iter().map(|voter| voter.voter_id).collect(),
            None => self.leader_change_voters.clone(),
        };
        if voters.iter().any(|voter| *voter != node) {
            return Err(EmbeddedError::OtherVoters {
                voters: voters.iter().map(|voter| voter.get()).collect(),
                node,
            });
        }
        let named =
            self.kraft.voters.iter().flat_map(|record| &record.voters).map(|voter| voter.voter_directory_id);
        for named in named {
            if named != owner.directory_id {
                return Err(EmbeddedError::OtherDirectory { named, node, actual: owner.directory_id });
            }
        }
        let brokers: Vec<i32> = self
            .builder
            .current()
            .brokers()
            .map(|broker| broker.id)
            .filter(|id| *id != node)
            .map(NodeId::get)
            .collect();
        if !brokers.is_empty() {
            return Err(EmbeddedError::OtherBrokers { brokers, node });
        }
        let count = self.builder.current().kept().acls.len();
        if count > 0 {
            return Err(EmbeddedError::AccessControl { count });
        }
        Ok(())
    }

    pub(super) fn next_epoch(&self) -> Result<LeaderEpoch, EmbeddedError> {
        let next = self.epoch.get().checked_add(1);
        next.map(LeaderEpoch::new).ok_or(EmbeddedError::EpochsExhausted { epoch: self.epoch })
    }
}

fn slice_bytes(slice: &ReadSlice) -> io::Result<Bytes> {
    let length = usize::try_from(slice.length).map_err(io::Error::other)?;
    match &slice.source {
        SliceSource::File(file) => {
            let mut buffer = vec![0; length];
            file.read_exact_at(&mut buffer, slice.position)?;
            Ok(Bytes::from(buffer))
        }
        SliceSource::Memory(bytes) => {
            let start = usize::try_from(slice.position).map_err(io::Error::other)?;
            Ok(bytes.slice(start..start + length))
        }
    }
}
