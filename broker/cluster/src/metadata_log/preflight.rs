//! Whether the log may be opened at all. Opening cuts it at its first bad batch, and an empty one begins a new cluster:
//! both are right after a crash, and both would silently cost topics where the files were damaged. So this looks first,
//! and changes nothing.

use ottla_model::Offset;
use ottla_storage::LogDir;

use super::error::EmbeddedError;
use super::{METADATA_FOLDER, files};
use crate::quorum_state;

/// Refuses a log that is damaged before its end, or that is empty where something says that it was not.
pub(crate) fn refuse_lost(directory: &LogDir) -> Result<(), EmbeddedError> {
    let found = directory.inspect_internal(METADATA_FOLDER)?;
    if let Some(inner) = found.inner_damage {
        return Err(EmbeddedError::Damaged {
            file: inner.file,
            position: inner.position,
            damage: inner.damage,
            next_sound: inner.next_sound,
        });
    }
    if found.end > Offset::ZERO {
        return Ok(());
    }
    let lost = |evidence| EmbeddedError::Lost { log: directory.path().join(METADATA_FOLDER), evidence };
    match evidence(directory)? {
        Some(evidence) => Err(lost(evidence)),
        None => Ok(()),
    }
}

/// What is there only where the log once held something.
fn evidence(directory: &LogDir) -> Result<Option<String>, EmbeddedError> {
    let folder = directory.folder(METADATA_FOLDER);
    if let Some(snapshot) = files::snapshots(&*folder)?.pop().filter(|id| id.end > Offset::ZERO) {
        return Ok(Some(format!("the snapshot {snapshot}")));
    }
    if files::read(&*folder, quorum_state::FILE_NAME)?.is_some() {
        return Ok(Some(format!("the file {}", quorum_state::FILE_NAME)));
    }
    let holds_partitions = directory.holds_partitions()?;
    Ok(holds_partitions.then(|| "a partition's folder".to_owned()))
}
