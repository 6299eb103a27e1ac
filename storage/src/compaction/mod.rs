//! Compaction: of the records of a key only the newest stays (`cleanup.policy=compact`). [`plan()`] and [`dirtiest`] say
//! which log is due, [`Cleaner::begin`] begins one, [`Cleaning::step`] does a piece of the work and says how many bytes
//! it moved. When to call, how fast, and where to note how far it came are the caller's affairs: there is no thread and
//! no clock here.
//!
//! The rules are Kafka's (KIP-534 for tombstones and markers, KIP-98 for producers). One round: the newest offset of
//! each key among the records that were not compacted before goes into a map of fixed size (`offset_map`); then all
//! segments up to where the map came are written anew (`filter`, `output`), in groups that fit one segment, and each
//! group takes the place of the old ones in one exchange (`disk_log/replace.rs`). Where the map was too small for all
//! keys, the round ends earlier and the next one goes on from there.
//!
//! In memory at a time are the map, as far as keys touched it, one piece to read and one to write, the indexes of the
//! segment that is written, and one batch, decompressed where it has to be looked into. A batch that takes more than
//! [`DECOMPRESSED_BATCH_BYTES_MAX`](ottla_model::batch::DECOMPRESSED_BATCH_BYTES_MAX) then, which no broker accepts, makes
//! its log one that cannot be compacted.

mod cleaner;
mod filter;
mod offset_map;
mod output;
mod plan;
mod throttle;
mod transactions;

use std::path::PathBuf;

use ottla_model::batch::{BuildError, RecordsError};

use crate::log::LogError;

pub use cleaner::{CleanReport, Cleaner, CleanerLimits, Cleaning, Step};
pub(crate) use output::{NewSegment, cleaned_name};
pub use plan::{CleanPlan, PlanInput, dirtiest, plan};
pub use throttle::Throttle;

/// Why a log was not compacted. Nothing of the attempt is left, and the log is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CleanError {
    /// The map would have no room for a single key.
    #[error(
        "{bytes} bytes at a load factor of {load_factor} hold no key: log.cleaner.dedupe.buffer.size is too small"
    )]
    MapTooSmall {
        /// The bytes for the map.
        bytes: u64,
        /// The share of it that may be filled.
        load_factor: f64,
    },
    /// The log is being compacted already.
    #[error("the log is being compacted already")]
    Busy,
    /// Segments were truncated or deleted meanwhile.
    #[error("the log's segments changed while it was compacted")]
    Changed,
    /// The records of a batch do not decode.
    #[error("{} holds records at byte {position} that cannot be compacted: {source}", path.display())]
    Records {
        /// The segment's file.
        path: PathBuf,
        /// Where the batch begins.
        position: u64,
        /// What is wrong.
        source: RecordsError,
    },
    /// A batch cannot be written anew.
    #[error("the batch at byte {position} of {} cannot be written anew: {source}", path.display())]
    Build {
        /// The segment's file.
        path: PathBuf,
        /// Where the batch begins.
        position: u64,
        /// What is wrong.
        source: BuildError,
    },
    /// The log, or the disk under it.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl CleanError {
    /// Whether the log's own content is the reason, so that another attempt would end the same: the log should be left
    /// alone until the next start, and a person be told.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Records { .. } | Self::Build { .. } => true,
            Self::Log(error) => matches!(error, LogError::Damaged { .. } | LogError::OldFormat { .. }),
            Self::MapTooSmall { .. } | Self::Busy | Self::Changed => false,
        }
    }
}
