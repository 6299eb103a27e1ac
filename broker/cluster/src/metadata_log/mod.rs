//! The log `__cluster_metadata-0` with its snapshots and `quorum-state`: opened by replaying it, appended to in epochs of
//! our own. It decides nothing; what it is given to append has been decided.

mod error;
mod files;
mod load;
mod preflight;
mod trim;

use std::sync::Arc;

use ottla_model::batch::CheckedBatch;
use ottla_model::{LeaderEpoch, NodeId, Offset, Uuid};
use ottla_protocol::control::leader_change::Voter as LeaderChangeVoter;
use ottla_protocol::control::{LeaderChangeMessage, VotersRecord, voters};
use ottla_protocol::metadata::{AbortTransactionRecord, MetadataRecord};
use ottla_storage::io::Directory;
use ottla_storage::{Log, LogError};
use tracing::info;

use crate::batches::{BatchPlace, ControlRecord, control_batch, data_batch};
use crate::builder::ImageBuilder;
use crate::features::{self, METADATA_VERSION};
use crate::image::{Endpoint, ImagePosition, MetadataImage};
use crate::quorum_state::QuorumState;
use crate::snapshot::{KraftState, Snapshot, SnapshotId};
use load::Found;

pub use error::EmbeddedError;
pub(crate) use preflight::refuse_lost;
pub use trim::MetadataRetention;

/// The folder of the log.
pub const METADATA_FOLDER: &str = "__cluster_metadata-0";
/// Whole snapshots that are kept: the newest, and the one before in case that is damaged.
const SNAPSHOTS_KEPT: usize = 2;

/// Who the log belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) node_id: NodeId,
    pub(crate) directory_id: Uuid,
    pub(crate) endpoint: &'a Endpoint,
}

/// The open log, in an epoch of ours.
#[derive(Debug)]
pub(crate) struct MetadataLog {
    log: Box<dyn Log>,
    folder: Arc<dyn Directory>,
    epoch: LeaderEpoch,
    kraft: KraftState,
    end: Offset,
    /// Bytes of the batches since the newest snapshot.
    bytes_since_snapshot: u64,
    last_timestamp_ms: i64,
}

/// What became of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) base: Offset,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) timestamp_ms: i64,
}

impl MetadataLog {
    /// Replays what is there, begins a new epoch, and on the first start of all writes what a new cluster begins with.
    /// When it returns, everything that the image holds is durable.
    pub(crate) fn open(
        log: Box<dyn Log>,
        folder: Arc<dyn Directory>,
        owner: Owner<'_>,
        min_insync_replicas: i32,
        now_ms: i64,
    ) -> Result<(Self, ImageBuilder), EmbeddedError> {
        let mut found = Found::read(&*log, &*folder)?;
        found.check(owner)?;
        let empty = found.end == Offset::ZERO;
        if empty && found.snapshot.is_none() {
            found.kraft = new_quorum(owner);
            write_bootstrap_snapshot(&*folder, &found.kraft, now_ms)?;
            files::write_partition_metadata(&*folder)?;
        }
        let epoch = found.next_epoch()?;
        let state = QuorumState { leader_id: owner.node_id, leader_epoch: epoch };
        let quorum_state = state.to_text(found.kraft.version);
        if !empty {
            files::write_quorum_state(&*folder, &quorum_state)?;
        }
        let mut builder = found.builder;
        builder.set_kraft_version(found.kraft.version);
        let mut opened = Self {
            log,
            folder,
            epoch,
            kraft: found.kraft,
            end: found.end,
            bytes_since_snapshot: found.bytes,
            last_timestamp_ms: builder.current().position().timestamp_ms,
        };
        opened.begin_epoch(owner.node_id, &mut builder, now_ms)?;
        if builder.in_transaction() {
            let reason = Some("the controller that began the transaction has ended".into());
            opened.append_and_replay(&[AbortTransactionRecord { reason }.into()], &mut builder, now_ms)?;
        }
        // What a directory was formatted with counts for no record of the log, so Kafka repeats it there. In a log that
        // is not empty the first change makes the new batches durable with itself.
        if empty {
            let formatted = builder.current().to_records();
            let formatted =
                if formatted.is_empty() { features::initial_records().collect() } else { formatted };
            let records = features::bootstrap_records(formatted, min_insync_replicas);
            opened.append_and_replay(&records, &mut builder, now_ms)?;
            opened.flush(now_ms)?;
            // Only now: where this file is, there was a log.
            files::write_quorum_state(&*opened.folder, &quorum_state)?;
        }
        let (end, topics) = (opened.end.get(), builder.current().topic_count());
        info!(epoch = epoch.get(), end, topics, "the metadata log is open");
        Ok((opened, builder))
    }

    /// The offset that the next record will have.
    pub(crate) fn end(&self) -> Offset {
        self.end
    }

    /// The epoch that this process appends in.
    pub(crate) fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// Bytes appended or replayed since the newest snapshot.
    pub(crate) fn bytes_since_snapshot(&self) -> u64 {
        self.bytes_since_snapshot
    }

    /// Appends records as one batch; [`flush`](Self::flush) makes them durable.
    pub(crate) fn append(
        &mut self,
        records: &[MetadataRecord],
        metadata_version: i16,
        now_ms: i64,
    ) -> Result<Appended, EmbeddedError> {
        let place = self.place(now_ms);
        let batch = data_batch(place, metadata_version, records)?;
        let base = self.append_batch(batch, now_ms)?;
        Ok(Appended { base, epoch: self.epoch, timestamp_ms: place.timestamp_ms })
    }

    /// Makes everything appended so far durable.
    pub(crate) fn flush(&self, now_ms: i64) -> Result<(), LogError> {
        self.log.flush_up_to(self.end, now_ms).map(|_| ())
    }

    /// Writes a snapshot of an image that stands at the end of the log, and removes older ones. The log can do without
    /// it: after an error the next one is due when the log has grown as much again.
    pub(crate) fn write_snapshot(&mut self, image: &MetadataImage, now_ms: i64) -> Result<(), EmbeddedError> {
        self.bytes_since_snapshot = 0;
        let id = SnapshotId { end: self.end, epoch: self.epoch };
        let snapshot = Snapshot {
            last_contained_timestamp_ms: self.last_timestamp_ms,
            kraft: self.kraft.clone(),
            records: image.to_records(),
        };
        let batches = snapshot.encode(id, image.feature_level(METADATA_VERSION), now_ms)?;
        files::write_snapshot(&*self.folder, id, &batches)?;
        info!(snapshot = %id, records = snapshot.records.len(), "a metadata snapshot was written");
        self.remove_old_snapshots()
    }

    /// Ends writing in good order.
    pub(crate) fn close(&self, now_ms: i64) -> Result<(), LogError> {
        self.log.close(now_ms)
    }

    /// Time never runs back in the log, though the clock may.
    fn place(&self, now_ms: i64) -> BatchPlace {
        BatchPlace { base: self.end, epoch: self.epoch, timestamp_ms: now_ms.max(self.last_timestamp_ms) }
    }

    fn append_batch(&mut self, batch: CheckedBatch, now_ms: i64) -> Result<Offset, LogError> {
        let (size, timestamp_ms) = (batch.size() as u64, batch.max_timestamp_ms());
        let info = self.log.append_as_leader(batch, self.epoch, now_ms)?;
        assert_eq!(info.base_offset, self.end, "the metadata log has one writer");
        self.end = info.last_offset.next();
        self.bytes_since_snapshot += size;
        self.last_timestamp_ms = timestamp_ms;
        Ok(info.base_offset)
    }

    /// The first batch of an epoch: who leads; in an empty log also who votes.
    fn begin_epoch(
        &mut self,
        leader: NodeId,
        builder: &mut ImageBuilder,
        now_ms: i64,
    ) -> Result<(), EmbeddedError> {
        let voter = LeaderChangeVoter { voter_id: leader, ..LeaderChangeVoter::default() };
        let mut records = vec![ControlRecord::LeaderChange(LeaderChangeMessage {
            leader_id: leader,
            voters: vec![voter.clone()],
            granting_voters: vec![voter],
            ..LeaderChangeMessage::default()
        })];
        if self.end == Offset::ZERO {
            records.extend(self.kraft.to_records());
        }
        self.log.begin_epoch(self.epoch);
        let place = self.place(now_ms);
        self.append_batch(control_batch(place, &records)?, now_ms)?;
        builder.advance(self.last_position());
        Ok(())
    }

    fn append_and_replay(
        &mut self,
        records: &[MetadataRecord],
        builder: &mut ImageBuilder,
        now_ms: i64,
    ) -> Result<(), EmbeddedError> {
        let place = self.place(now_ms);
        let level = builder.current().feature_level(METADATA_VERSION);
        let level = if level == 0 { features::METADATA_VERSION_MAX } else { level };
        let base = self.append_batch(data_batch(place, level, records)?, now_ms)?;
        let replayed = builder.replay_batch(base, self.epoch, place.timestamp_ms, records);
        replayed.map_err(|(offset, source)| EmbeddedError::Replay { offset, source })
    }

    fn last_position(&self) -> ImagePosition {
        ImagePosition {
            offset: Offset::new(self.end.get() - 1),
            epoch: self.epoch,
            timestamp_ms: self.last_timestamp_ms,
        }
    }

    fn remove_old_snapshots(&self) -> Result<(), EmbeddedError> {
        let snapshots = files::snapshots(&*self.folder)?;
        let old = snapshots.iter().rev().skip(SNAPSHOTS_KEPT).filter(|id| **id != SnapshotId::BOOTSTRAP);
        for id in old.map(ToString::to_string) {
            self.folder.remove(&id).map_err(files::error("remove", &id))?;
        }
        Ok(())
    }
}

/// The voter set of a new cluster: this node.
fn new_quorum(owner: Owner<'_>) -> KraftState {
    let voter = voters::Voter {
        voter_id: owner.node_id,
        voter_directory_id: owner.directory_id,
        endpoints: vec![voters::Endpoint {
            name: owner.endpoint.listener.clone(),
            host: owner.endpoint.host.clone(),
            port: owner.endpoint.port,
        }],
        kraft_version_feature: voters::KRaftVersionFeature {
            min_supported_version: 0,
            max_supported_version: 1,
        },
    };
    KraftState { version: 1, voters: Some(VotersRecord { voters: vec![voter], ..VotersRecord::default() }) }
}

/// What Kafka's `format` leaves behind: the voters and feature levels before the first record.
fn write_bootstrap_snapshot(
    folder: &dyn Directory,
    kraft: &KraftState,
    now_ms: i64,
) -> Result<(), EmbeddedError> {
    let snapshot = Snapshot {
        last_contained_timestamp_ms: now_ms,
        kraft: kraft.clone(),
        records: features::initial_records().collect(),
    };
    let batches = snapshot.encode(SnapshotId::BOOTSTRAP, features::METADATA_VERSION_MAX, now_ms)?;
    files::write_snapshot(folder, SnapshotId::BOOTSTRAP, &batches)
}
