//! Why the embedded controller does not start, or no longer runs: each cause with what it is about.

use std::path::PathBuf;

use ottla_model::batch::BatchError as FrameError;
use ottla_model::{LeaderEpoch, NodeId, Offset, Uuid};
use ottla_storage::{Damage, LogDirError, LogError};

use crate::batches::{BatchError, ContentError};
use crate::quorum_state::QuorumStateError;
use crate::replay::ReplayError;

/// Why the embedded controller cannot start, or did not stop in good order.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The log itself.
    #[error("the metadata log: {0}")]
    Log(#[from] LogError),
    /// The log is damaged before its end: to cut it there would lose changes that were answered.
    #[error(
        "{} is damaged at byte {position} ({damage}), and sound records follow from offset {next_sound} on; \
         nothing was changed",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where the bad batch begins.
        position: u64,
        /// What is wrong with it.
        damage: Damage,
        /// The first offset of the next sound batch.
        next_sound: Offset,
    },
    /// The log holds nothing, though there was one: a new cluster would disown every topic.
    #[error("{} holds no sound record, though {evidence} shows that it did; nothing was changed", log.display())]
    Lost {
        /// The log's folder.
        log: PathBuf,
        /// What shows it.
        evidence: String,
    },
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
