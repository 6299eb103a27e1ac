//! The log `__cluster_metadata-0` with its snapshots and `quorum-state`: opened by replaying it, appended to in epochs of
//! our own. It decides nothing; what it is given to append has been decided.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use ottla_model::batch::{BatchError as FrameError, CheckedBatch, RecordBatch};
use ottla_model::{LeaderEpoch, NodeId, Offset, Uuid};
use ottla_protocol::control::leader_change::Voter as LeaderChangeVoter;
use ottla_protocol::control::{LeaderChangeMessage, VotersRecord, voters};
use ottla_protocol::metadata::{AbortTransactionRecord, MetadataRecord};
use ottla_storage::io::{Create, Directory};
use ottla_storage::{
    Log, LogDirError, LogError, ReadEnd, ReadMode, ReadOutcome, ReadRequest, ReadSlice, SliceSource,
};
use tracing::{info, warn};

use crate::batches::{
    BatchContent, BatchError, BatchPlace, ContentError, ControlRecord, control_batch, data_batch,
};
use crate::features::{self, METADATA_VERSION};
use crate::image::{Endpoint, ImagePosition, MetadataImage};
use crate::quorum_state::{self, QuorumState, QuorumStateError};
use crate::replay::{ImageBuilder, ReplayError};
use crate::snapshot::{KraftState, Snapshot, SnapshotError, SnapshotId};

/// The folder of the log.
pub const METADATA_FOLDER: &str = "__cluster_metadata-0";
/// The id of the log's topic, the same in every cluster.
const METADATA_TOPIC_ID: Uuid = Uuid::ONE;
/// Bytes read at a time when the log is replayed; a larger batch is read whole.
const REPLAY_READ_BYTES: u64 = 1 << 20;
/// Whole snapshots that are kept: the newest, and the one before in case that is damaged.
const SNAPSHOTS_KEPT: usize = 2;

/// Why the embedded controller cannot start, or did not stop in good order.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The log itself.
    #[error("the metadata log: {0}")]
    Log(#[from] LogError),
    /// A file beside the log.
    #[error("cannot {action} {file}: {source}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A batch of the log has no batch's shape.
    #[error("the metadata log at offset {offset}: {source}")]
    Frame {
        /// Where it should begin.
        offset: Offset,
        /// What is wrong.
        source: FrameError,
    },
    /// A batch says something that this version does not understand.
    #[error("the metadata log: {0}")]
    Content(#[from] ContentError),
    /// A record says something that cannot be.
    #[error("the metadata log, the record at offset {offset}: {source}")]
    Replay {
        /// The record's offset.
        offset: Offset,
        /// What is wrong.
        source: ReplayError,
    },
    /// The records that a snapshot holds say something that cannot be.
    #[error("the metadata snapshot {file}: {source}")]
    SnapshotReplay {
        /// The snapshot's name.
        file: String,
        /// What is wrong.
        source: ReplayError,
    },
    /// The log begins after its first record, and no snapshot holds what was before.
    #[error("the metadata log begins at offset {start}, and no readable snapshot reaches that far{}", detail(.cause))]
    NoSnapshot {
        /// The log's first offset.
        start: Offset,
        /// Why the newest snapshot could not be read.
        cause: Option<String>,
    },
    /// `quorum-state` is damaged or of another version.
    #[error("the file quorum-state: {0}")]
    QuorumState(#[from] QuorumStateError),
    /// The log belongs to a quorum of which this node is not the only member.
    #[error(
        "the metadata log is one of the controllers {voters:?}; this node, {node}, alone cannot carry it on"
    )]
    OtherVoters {
        /// The voters that it names.
        voters: Vec<i32>,
        /// This node.
        node: NodeId,
    },
    /// The log names another log directory for this node than the one that it lies in.
    #[error("the metadata log names directory {named} for node {node}, and lies in {actual}")]
    OtherDirectory {
        /// The directory that it names.
        named: Uuid,
        /// This node.
        node: NodeId,
        /// The directory that it is in.
        actual: Uuid,
    },
    /// The log knows other brokers.
    #[error("the metadata log knows the brokers {brokers:?}; this node, {node}, alone cannot carry it on")]
    OtherBrokers {
        /// The brokers beside this one.
        brokers: Vec<i32>,
        /// This node.
        node: NodeId,
    },
    /// The log holds access control entries, which this version does not enforce.
    #[error("the metadata log holds {count} access control entries, which this version does not enforce")]
    AccessControl {
        /// How many.
        count: usize,
    },
    /// No epoch is left above that of the log.
    #[error("the metadata log is in epoch {epoch}, the last there is")]
    EpochsExhausted {
        /// The epoch.
        epoch: LeaderEpoch,
    },
    /// The first batches cannot be made.
    #[error("the metadata log: {0}")]
    Batch(#[from] BatchError),
    /// The directory of the log.
    #[error(transparent)]
    Directory(#[from] LogDirError),
    /// A snapshot cannot be written.
    #[error("a metadata snapshot cannot be written: {0}")]
    Snapshot(std::io::Error),
    /// The controller's thread has panicked.
    #[error("the controller's thread has panicked")]
    Panicked,
    /// The controller's thread cannot be started.
    #[error("cannot start the controller's thread: {0}")]
    Thread(std::io::Error),
}

fn detail(cause: &Option<String>) -> String {
    cause.as_ref().map_or_else(String::new, |cause| format!(" ({cause})"))
}

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
    /// When it returns, all of that is durable.
    pub(crate) fn open(
        log: Box<dyn Log>,
        folder: Arc<dyn Directory>,
        owner: Owner<'_>,
        min_insync_replicas: i32,
        now_ms: i64,
    ) -> Result<(Self, ImageBuilder), EmbeddedError> {
        let mut replay = Replay::read(&*log, &*folder)?;
        replay.check(owner)?;
        let empty = replay.end == Offset::ZERO;
        if empty && replay.snapshot.is_none() {
            replay.kraft = new_quorum(owner);
            write_bootstrap_snapshot(&*folder, &replay.kraft, now_ms)?;
            write_partition_metadata(&*folder)?;
        }
        let epoch = replay.next_epoch()?;
        let state = QuorumState { leader_id: owner.node_id, leader_epoch: epoch };
        let text = state.to_text(replay.kraft.version);
        replace(&*folder, quorum_state::FILE_NAME, &[text.as_bytes()])
            .map_err(io("write", quorum_state::FILE_NAME))?;

        let mut opened = Self {
            log,
            folder,
            epoch,
            kraft: replay.kraft,
            end: replay.end,
            bytes_since_snapshot: replay.bytes,
            last_timestamp_ms: replay.builder.current().position().timestamp_ms,
        };
        let mut builder = replay.builder;
        opened.begin_epoch(owner.node_id, &mut builder, now_ms)?;
        if builder.in_transaction() {
            let reason = Some("the controller that began the transaction has ended".into());
            opened.append_and_replay(&[AbortTransactionRecord { reason }.into()], &mut builder, now_ms)?;
        }
        if empty {
            // A snapshot of what the directory was formatted with counts for no record of the log, so Kafka repeats it.
            let formatted = builder.current().to_records();
            let formatted =
                if formatted.is_empty() { features::initial_records().collect() } else { formatted };
            let records = features::bootstrap_records(formatted, min_insync_replicas);
            opened.append_and_replay(&records, &mut builder, now_ms)?;
        }
        opened.flush(now_ms)?;
        info!(
            epoch = epoch.get(),
            end = opened.end.get(),
            topics = builder.current().topic_count(),
            "metadata replayed"
        );
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

    /// Writes a snapshot of an image that stands at the end of the log, and removes older ones.
    pub(crate) fn write_snapshot(&mut self, image: &MetadataImage, now_ms: i64) -> Result<(), EmbeddedError> {
        let id = SnapshotId { end: self.end, epoch: self.epoch };
        let snapshot = Snapshot {
            last_contained_timestamp_ms: self.last_timestamp_ms,
            kraft: self.kraft.clone(),
            records: image.to_records(),
        };
        let batches = snapshot.encode(id, image.feature_level(METADATA_VERSION), now_ms)?;
        write_snapshot_file(&*self.folder, id, &batches).map_err(EmbeddedError::Snapshot)?;
        self.bytes_since_snapshot = 0;
        info!(snapshot = %id, records = snapshot.records.len(), "metadata snapshot written");
        self.remove_old_snapshots();
        Ok(())
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

    /// What cannot be removed is only in the way; the next snapshot tries again.
    fn remove_old_snapshots(&self) {
        let names = match snapshots(&*self.folder) {
            Ok(names) => names,
            Err(error) => return warn!(%error, "cannot list the metadata snapshots"),
        };
        let old = names.iter().rev().skip(SNAPSHOTS_KEPT).filter(|id| **id != SnapshotId::BOOTSTRAP);
        for id in old {
            if let Err(error) = self.folder.remove(&id.to_string()) {
                warn!(snapshot = %id, %error, "cannot remove an old metadata snapshot");
            }
        }
    }
}

/// The log as it was found.
struct Replay {
    builder: ImageBuilder,
    kraft: KraftState,
    snapshot: Option<SnapshotId>,
    end: Offset,
    /// The highest epoch that any file names.
    epoch: LeaderEpoch,
    /// Bytes of the batches after the snapshot.
    bytes: u64,
    /// The voters of the newest leader change: all that a log of `kraft.version` 0 says of them.
    leader_change_voters: Vec<NodeId>,
}

impl Replay {
    fn read(log: &dyn Log, folder: &dyn Directory) -> Result<Self, EmbeddedError> {
        let mut epoch = LeaderEpoch::new(0);
        if let Some(text) = read_named(folder, quorum_state::FILE_NAME)? {
            epoch = QuorumState::parse(&text)?.leader_epoch;
        }
        let mut replay = Self {
            builder: ImageBuilder::default(),
            kraft: KraftState::default(),
            snapshot: None,
            end: Offset::ZERO,
            epoch: epoch.max(log.latest_epoch().unwrap_or_default()),
            bytes: 0,
            leader_change_voters: Vec::new(),
        };
        replay.load_snapshot(log.positions().log_start, folder)?;
        replay.load_log(log)?;
        Ok(replay)
    }

    /// Takes the newest snapshot that is whole. A damaged one is passed over as long as the log has what it holds.
    fn load_snapshot(&mut self, log_start: Offset, folder: &dyn Directory) -> Result<(), EmbeddedError> {
        let mut cause = None;
        for id in snapshots(folder)?.into_iter().rev() {
            if id.end < log_start {
                break;
            }
            let file = id.to_string();
            let Some(bytes) = read_named(folder, &file)? else { continue };
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
            let mut bytes = slice_bytes(&slice).map_err(io("read", METADATA_FOLDER))?;
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
    fn check(&self, owner: Owner<'_>) -> Result<(), EmbeddedError> {
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

    fn next_epoch(&self) -> Result<LeaderEpoch, EmbeddedError> {
        let next = self.epoch.get().checked_add(1);
        next.map(LeaderEpoch::new).ok_or(EmbeddedError::EpochsExhausted { epoch: self.epoch })
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
    write_snapshot_file(folder, SnapshotId::BOOTSTRAP, &batches)
        .map_err(io("write", &SnapshotId::BOOTSTRAP.to_string()))
}

fn write_partition_metadata(folder: &dyn Directory) -> Result<(), EmbeddedError> {
    const NAME: &str = "partition.metadata";
    let text = format!("version: 0\ntopic_id: {METADATA_TOPIC_ID}");
    replace(folder, NAME, &[text.as_bytes()]).map_err(io("write", NAME))
}

fn write_snapshot_file(
    folder: &dyn Directory,
    id: SnapshotId,
    batches: &[CheckedBatch],
) -> std::io::Result<()> {
    let pieces: Vec<&[u8]> = batches.iter().flat_map(CheckedBatch::parts).collect();
    replace_by_way_of(folder, &format!("{id}.part"), &id.to_string(), &pieces)
}

/// The snapshots in the folder, ascending.
fn snapshots(folder: &dyn Directory) -> Result<Vec<SnapshotId>, EmbeddedError> {
    let entries = folder.list().map_err(io("list", METADATA_FOLDER))?;
    let mut ids: Vec<SnapshotId> = entries.iter().filter_map(|entry| entry.name.parse().ok()).collect();
    ids.sort();
    Ok(ids)
}

fn read_named(folder: &dyn Directory, name: &str) -> Result<Option<Vec<u8>>, EmbeddedError> {
    let read = || {
        let file = folder.open(name, Create::No)?;
        let bytes = usize::try_from(file.bytes()?).map_err(std::io::Error::other)?;
        let mut content = vec![0; bytes];
        let mut filled = 0;
        while let Some(rest) = content.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        content.truncate(filled);
        Ok(content)
    };
    match read() {
        Ok(content) => Ok(Some(content)),
        Err(error) if std::io::Error::kind(&error) == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io("read", name)(error)),
    }
}

/// Writes a file so that a crash leaves either none, or the old content, or the new one.
fn replace(folder: &dyn Directory, name: &str, pieces: &[&[u8]]) -> std::io::Result<()> {
    replace_by_way_of(folder, &format!("{name}.tmp"), name, pieces)
}

fn replace_by_way_of(
    folder: &dyn Directory,
    temporary: &str,
    name: &str,
    pieces: &[&[u8]],
) -> std::io::Result<()> {
    let file = folder.open(temporary, Create::Empty)?;
    file.write_at(pieces, 0)?;
    file.sync()?;
    folder.rename(temporary, name)?;
    folder.sync()
}

fn slice_bytes(slice: &ReadSlice) -> std::io::Result<Bytes> {
    let length = usize::try_from(slice.length).map_err(std::io::Error::other)?;
    match &slice.source {
        SliceSource::File(file) => {
            let mut buffer = vec![0; length];
            file.read_exact_at(&mut buffer, slice.position)?;
            Ok(Bytes::from(buffer))
        }
        SliceSource::Memory(bytes) => {
            let start = usize::try_from(slice.position).map_err(std::io::Error::other)?;
            Ok(bytes.slice(start..start + length))
        }
    }
}

fn io(action: &'static str, file: &str) -> impl FnOnce(std::io::Error) -> EmbeddedError {
    let file = file.to_owned();
    move |source| EmbeddedError::Io { action, file, source }
}
