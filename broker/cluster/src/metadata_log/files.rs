//! The files beside the log: snapshots, `quorum-state`, `partition.metadata`. Each is written so that a crash leaves it
//! as it was or as it is to be.

use std::io;

use ottla_model::Uuid;
use ottla_model::batch::CheckedBatch;
use ottla_storage::io::{Create, Directory, DirectoryEntry};

use super::METADATA_FOLDER;
use super::error::EmbeddedError;
use crate::quorum_state;
use crate::snapshot::SnapshotId;

/// The id of the log's topic, the same in every cluster.
const METADATA_TOPIC_ID: Uuid = Uuid::ONE;

/// The snapshots in the folder, ascending.
pub(super) fn snapshots(folder: &dyn Directory) -> Result<Vec<SnapshotId>, EmbeddedError> {
    Ok(snapshots_with_sizes(folder)?.into_iter().map(|(id, _)| id).collect())
}

/// The same with their sizes.
pub(super) fn snapshots_with_sizes(folder: &dyn Directory) -> Result<Vec<(SnapshotId, u64)>, EmbeddedError> {
    let entries = folder.list().map_err(error("list", METADATA_FOLDER))?;
    let snapshot = |entry: &DirectoryEntry| Some((entry.name.parse().ok()?, entry.bytes));
    let mut found: Vec<(SnapshotId, u64)> = entries.iter().filter_map(snapshot).collect();
    found.sort();
    Ok(found)
}

/// Kafka's way: a whole file under another name first, so that what has a snapshot's name is one.
pub(super) fn write_snapshot(
    folder: &dyn Directory,
    id: SnapshotId,
    batches: &[CheckedBatch],
) -> Result<(), EmbeddedError> {
    let (name, temporary) = (id.to_string(), format!("{id}.part"));
    let pieces: Vec<&[u8]> = batches.iter().flat_map(CheckedBatch::parts).collect();
    let written = write(folder, &temporary, &pieces).and_then(|()| folder.rename(&temporary, &name));
    written.and_then(|()| folder.sync()).map_err(error("write", &name))
}

/// The new name becomes durable with a later flush, if at all: where a crash undoes it, the log still knows its epochs.
pub(super) fn write_quorum_state(folder: &dyn Directory, text: &str) -> Result<(), EmbeddedError> {
    let name = quorum_state::FILE_NAME;
    let temporary = format!("{name}.tmp");
    let written = write(folder, &temporary, &[text.as_bytes()]);
    written.and_then(|()| folder.rename(&temporary, name)).map_err(error("write", name))
}

/// Durable with the log's first flush, as the folder itself.
pub(super) fn write_partition_metadata(folder: &dyn Directory) -> Result<(), EmbeddedError> {
    const NAME: &str = "partition.metadata";
    const TEMPORARY: &str = "partition.metadata.tmp";
    let text = format!("version: 0\ntopic_id: {METADATA_TOPIC_ID}");
    let written = write(folder, TEMPORARY, &[text.as_bytes()]);
    written.and_then(|()| folder.rename(TEMPORARY, NAME)).map_err(error("write", NAME))
}

/// A file's content, or none where there is no such file.
pub(super) fn read(folder: &dyn Directory, name: &str) -> Result<Option<Vec<u8>>, EmbeddedError> {
    let file = match folder.open(name, Create::No) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(error("open", name)(cause)),
    };
    let read = || {
        let mut content = vec![0; usize::try_from(file.bytes()?).map_err(io::Error::other)?];
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
    read().map(Some).map_err(error("read", name))
}

pub(super) fn error(action: &'static str, file: &str) -> impl FnOnce(io::Error) -> EmbeddedError {
    let file = file.to_owned();
    move |source| EmbeddedError::Io { action, file, source }
}

fn write(folder: &dyn Directory, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
    let file = folder.open(name, Create::Empty)?;
    file.write_at(pieces, 0)?;
    file.sync()
}
