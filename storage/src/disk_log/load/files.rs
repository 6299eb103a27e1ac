//! What can be told of a log's folder by its listing: which indexes can be believed, and which files belong to no log. One
//! file aside, that of the epochs, none is read through.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ottla_index::{AbortedTransaction, Entry, OffsetEntry, TimeEntry};
use ottla_model::Offset;

use super::LogOpening;
use crate::checkpoint;
use crate::disk_log::leftovers::{self, LiveFile};
use crate::disk_log::memo::LogMemo;
use crate::epoch_cache::EpochCache;
use crate::io::Directory;
use crate::log::LogError;
use crate::segment::name::{FileKind, file_name};
use crate::segment::{Segment, remove_newest_first};

/// The sizes of a folder's live files.
pub(super) struct Sizes(HashMap<(Offset, FileKind), u64>);

impl Sizes {
    pub(super) fn of(files: &[LiveFile]) -> Self {
        Self(files.iter().map(|file| ((file.name.base, file.name.kind), file.bytes)).collect())
    }

    pub(super) fn bytes(&self, base: Offset, kind: FileKind) -> Option<u64> {
        self.0.get(&(base, kind)).copied()
    }

    /// Whether a segment's indexes are there and consist of whole entries. That of transactions need not be.
    pub(super) fn has_indexes(&self, base: Offset) -> bool {
        let is_whole = |kind, bytes: u64| bytes.is_multiple_of(entry_bytes(kind));
        let has = |kind| self.bytes(base, kind).is_some_and(|bytes| is_whole(kind, bytes));
        let txn_bytes = self.bytes(base, FileKind::TxnIndex).unwrap_or_default();
        has(FileKind::OffsetIndex) && has(FileKind::TimeIndex) && is_whole(FileKind::TxnIndex, txn_bytes)
    }

    /// Whether the indexes of a segment are those of the orderly stop; none where its files have other sizes. It then knows
    /// its largest time. Entries for offsets and times are checked where they are used, those of transactions only here.
    pub(super) fn are_as_remembered(&self, segment: &Segment, memo: Option<&LogMemo>) -> Option<bool> {
        let base = segment.base();
        let known = memo.and_then(|memo| memo.segments.at(base))?;
        let bytes = |kind| self.bytes(base, kind).unwrap_or_default();
        let are_same = segment.bytes() == known.bytes
            && bytes(FileKind::OffsetIndex) == known.index_bytes
            && bytes(FileKind::TimeIndex) == known.time_index_bytes
            && bytes(FileKind::TxnIndex) == known.txn_index_bytes;
        if !are_same {
            return None;
        }
        segment.set_largest_timestamp(known.largest);
        Some(known.txn_index_bytes == 0 || segment.aborted_crc().is_ok_and(|crc| crc == known.txn_index_crc))
    }
}

/// Removes index files that have no log.
pub(super) fn remove_orphans(directory: &dyn Directory, files: &[LiveFile]) -> Result<(), LogError> {
    let logs = files.iter().filter(|file| file.name.kind == FileKind::Log);
    let bases: HashSet<Offset> = logs.map(|file| file.name.base).collect();
    let has_log = |base| bases.contains(&base);
    for file in files {
        let is_index =
            matches!(file.name.kind, FileKind::OffsetIndex | FileKind::TimeIndex | FileKind::TxnIndex);
        if is_index && !has_log(file.name.base) {
            if file.bytes > 0 {
                let path = directory.path().join(file_name(file.name.base, file.name.kind));
                tracing::warn!(path = %path.display(), "an index is removed whose segment is missing");
            }
            leftovers::remove(directory, &file_name(file.name.base, file.name.kind))?;
        }
    }
    Ok(())
}

/// Removes the last segment where it is empty and begins above the end of the one before: it would make the log's end
/// jump over offsets that nobody ever had. Up to the recovery point somebody had.
pub(super) fn drop_far_empty(
    segments: &mut Vec<Arc<Segment>>,
    opening: &LogOpening,
) -> Result<bool, LogError> {
    let [.., previous, last] = &segments[..] else { return Ok(false) };
    if last.bytes() > 0 || opening.config.is_compacted || last.base() <= opening.recovery_point {
        return Ok(false);
    }
    let end = previous.walked_end()?;
    if end >= last.base() {
        return Ok(false);
    }
    tracing::warn!(
        file = %last.log_path().display(), end = end.get(),
        "an empty segment is removed that begins after the end of the one before"
    );
    remove_newest_first(&*opening.directory, [last].into_iter())?;
    segments.pop();
    Ok(true)
}

/// The epochs as the file has them, and whether it says nothing.
pub(super) fn read_epochs(directory: &dyn Directory) -> Result<(EpochCache, bool), LogError> {
    match checkpoint::read_epochs(directory) {
        Ok(entries) => Ok((EpochCache::from_file(&entries), false)),
        Err(error @ LogError::Malformed { .. }) => {
            tracing::warn!(%error, "the leader epochs are taken from the batches");
            Ok((EpochCache::lost(), true))
        }
        Err(error) => Err(error),
    }
}

/// What an index file's size is a multiple of.
fn entry_bytes(kind: FileKind) -> u64 {
    let bytes = match kind {
        FileKind::OffsetIndex => OffsetEntry::BYTES,
        FileKind::TimeIndex => TimeEntry::BYTES,
        FileKind::TxnIndex => AbortedTransaction::BYTES,
        FileKind::Log | FileKind::Snapshot => 1,
    };
    bytes as u64
}
