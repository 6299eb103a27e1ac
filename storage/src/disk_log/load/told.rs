//! What a log is opened with, and what opening it tells: of segments that were scanned, of what was cut, of what is missing.

use std::path::PathBuf;
use std::sync::Arc;

use ottla_model::Offset;

use crate::io::Directory;
use crate::log::{Damage, LogConfig};

/// What opening a log needs to know.
#[derive(Debug, Clone)]
pub struct LogOpening {
    /// The log's folder. It is made if it is missing.
    pub directory: Arc<dyn Directory>,
    /// Its settings.
    pub config: LogConfig,
    /// The log was closed in good order, so that its files can be believed.
    pub is_clean: bool,
    /// The log start as checkpointed; 0 without an entry.
    pub log_start: Offset,
    /// The recovery point as checkpointed; 0 without an entry.
    pub recovery_point: Offset,
    /// The time, for producers that are too old to be remembered and for the age of a new segment.
    pub now_ms: i64,
}

/// What opening a log did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Segments whose every batch was looked at.
    pub scanned_segments: usize,
    /// Bytes of these segments.
    pub scanned_bytes: u64,
    /// Set where something was taken away.
    pub cut: Option<Cut>,
    /// Records that are missing between two segments. Those after them are kept.
    pub holes: Vec<Hole>,
    /// Set where the log ends before this offset, below which a checkpoint or a snapshot says that there were records.
    pub missing_below: Option<Offset>,
}

/// Offsets without records between two segments of a log that is not compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// The file whose end is missing.
    pub file: PathBuf,
    /// Where its last whole batch ends; the file now ends there.
    pub position: u64,
    /// Bytes that were no batch and were cut off: zeros.
    pub bytes: u64,
    /// The first offset that is missing.
    pub from: Offset,
    /// The base of the next segment.
    pub to: Offset,
}

/// A log that ended before its files did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file with the first bad batch.
    pub file: PathBuf,
    /// Where that batch begins; the file now ends there.
    pub position: u64,
    /// What is wrong with it.
    pub damage: Damage,
    /// Bytes that were cut off this file.
    pub bytes: u64,
    /// Segments after it, which went as a whole.
    pub segments_deleted: usize,
}
