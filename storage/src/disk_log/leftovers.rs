//! What an interrupted deletion or compaction left in a log's folder: finished or undone, as Kafka does, before the log
//! is looked at. A `.deleted` or `.cleaned` file goes, and so does that of a segment that was never begun. A `.swap` file
//! was whole when it got that name, so it takes the place of the segments that it covers; unless a `.cleaned` one lies at
//! or below it: then the same compaction had not yet made all of its files. The order of the calls is such that this may
//! itself be interrupted anywhere, and what is left then means the same.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;

use ottla_model::Offset;

use crate::io::{Directory, DirectoryEntry};
use crate::log::{LogError, ReadMode};
use crate::segment::name::{FileKind, FileName, PREPARED, Stage, file_name, parse};
use crate::segment::read::ReadFault;
use crate::segment::{Segment, Shared};

/// A live file of a log's folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveFile {
    pub(super) name: FileName,
    pub(super) bytes: u64,
}

/// Leaves only live files, and lists them; says whether anything was changed.
pub(super) fn settle(
    directory: &Arc<dyn Directory>,
    shared: &Shared,
) -> Result<(Vec<LiveFile>, bool), LogError> {
    let mut entries = list(&**directory)?;
    let staged: Vec<_> = entries
        .iter()
        .filter_map(|entry| Some((parse(&entry.name)?, entry.clone())))
        .filter(|(name, _)| name.stage != Stage::Live)
        .collect();
    let cleaned = staged.iter().filter(|(name, _)| name.stage == Stage::Cleaned);
    let first_cleaned = cleaned.map(|(name, _)| name.base).min();
    let is_whole =
        |name: &FileName| name.stage == Stage::Swap && first_cleaned.is_none_or(|first| name.base < first);
    let (mut swaps, mut unfinished): (Vec<_>, Vec<_>) =
        staged.iter().map(|(name, entry)| (*name, entry)).partition(|(name, _)| is_whole(name));
    // A `.cleaned` file makes `.swap` files void, so it goes after them, the lowest of all last.
    unfinished.sort_by_key(|(name, _)| (name.stage == Stage::Cleaned, Reverse(name.base)));
    for (_, entry) in unfinished {
        tracing::info!(path = %directory.path().join(&entry.name).display(), "an unfinished file is removed");
        remove(&**directory, &entry.name)?;
    }
    // A log before its indexes: once one is in its place, what covers that place is no longer to be removed.
    swaps.sort_by_key(|(name, _)| (name.base, name.kind != FileKind::Log));
    complete_swaps(directory, shared, &swaps)?;
    if !staged.is_empty() {
        entries = list(&**directory)?;
    }
    if entries.iter().any(|entry| entry.name == PREPARED) {
        remove(&**directory, PREPARED)?;
    }
    let live = entries
        .into_iter()
        .filter_map(|entry| Some(LiveFile { name: parse(&entry.name)?, bytes: entry.bytes }))
        .filter(|file| file.name.stage == Stage::Live)
        .collect();
    Ok((live, !staged.is_empty()))
}

fn complete_swaps(
    directory: &Arc<dyn Directory>,
    shared: &Shared,
    swaps: &[(FileName, &DirectoryEntry)],
) -> Result<(), LogError> {
    let mut covered: Option<(Offset, Offset)> = None;
    for (name, entry) in swaps.iter().filter(|(name, _)| name.kind == FileKind::Log) {
        let end = end_of_swap(directory, shared, name.base, entry)?;
        let (first, last) = covered.unwrap_or((name.base, end));
        // Where nothing was left, the segment's own files go all the same.
        covered = Some((first.min(name.base), last.max(end).max(name.base.next())));
    }
    if let Some((first, end)) = covered {
        for entry in list(&**directory)? {
            let Some(name) = parse(&entry.name) else { continue };
            if name.stage == Stage::Live && name.base >= first && name.base < end {
                remove(&**directory, &entry.name)?;
            }
        }
    }
    for (name, entry) in swaps {
        let live = file_name(name.base, name.kind);
        tracing::info!(path = %directory.path().join(&live).display(), "a compaction is completed");
        let renamed = directory.rename(&entry.name, &live);
        renamed.map_err(|source| error("rename", &**directory, &entry.name, source))?;
    }
    Ok(())
}

/// The offset after the last batch of a `.log.swap` file.
fn end_of_swap(
    directory: &Arc<dyn Directory>,
    shared: &Shared,
    base: Offset,
    entry: &DirectoryEntry,
) -> Result<Offset, LogError> {
    let segment = Segment::existing_named(directory, shared, base, entry.name.clone(), entry.bytes, 0);
    let walked = segment.walk(entry.bytes, ReadMode::MayBlock).and_then(|mut walk| {
        let (mut position, mut end) = (0, base);
        while let Some(header) = walk.header_at(position)? {
            position += header.size() as u64;
            end = header.next_offset();
        }
        Ok(end)
    });
    walked.map_err(ReadFault::patient)
}

fn list(directory: &dyn Directory) -> Result<Vec<DirectoryEntry>, LogError> {
    directory.list().map_err(|source| error("list", directory, "", source))
}

pub(super) fn remove(directory: &dyn Directory, name: &str) -> Result<(), LogError> {
    directory.remove(name).map_err(|source| error("remove", directory, name, source))
}

fn error(action: &'static str, directory: &dyn Directory, name: &str, source: io::Error) -> LogError {
    LogError::Io { action, path: directory.path().join(name), source }
}
