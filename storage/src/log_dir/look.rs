//! A look at a directory from outside its logs: whether it is still the one that was opened, whether it takes writes, and
//! how much room its volume has. Reads and writes no file.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::StatVfsMountFlags;

use super::{LogDir, LogDirError};

/// The room on a directory's volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeSpace {
    /// Bytes of the volume.
    pub total_bytes: u64,
    /// Bytes of it that this process may still use.
    pub usable_bytes: u64,
}

/// Which folder of which device a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    device: u64,
    inode: u64,
}

impl Place {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }
}

impl LogDir {
    /// Looks whether the directory is still there and takes writes, and how much room there is; none on a disk that only
    /// this process has. Asks the system, which may wait for a disk that does not answer.
    ///
    /// # Errors
    /// Of the directory, which is offline from then on: it has been removed, exchanged, made read-only, or cannot be
    /// looked at.
    pub fn look(&self) -> Result<Option<VolumeSpace>, LogDirError> {
        self.shared.health.check()?;
        let Some(opened) = self.place else { return Ok(None) };
        let looked = Place::of(&self.path).and_then(|found| match found == opened {
            true => volume(&self.path),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "another folder is in its place")),
        });
        looked.map(Some).map_err(|source| self.shared.health.fail("use", self.path.clone(), source).into())
    }
}

fn volume(path: &Path) -> io::Result<VolumeSpace> {
    let found = rustix::fs::statvfs(path)?;
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "its volume is read-only"));
    }
    Ok(VolumeSpace {
        total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
        usable_bytes: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_room_until_it_is_removed_and_stays_offline_when_it_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs");
        let dir = LogDir::open(&path).unwrap();
        let space = dir.look().unwrap().expect("a directory of the system's is on a volume");
        assert!(space.usable_bytes <= space.total_bytes && space.total_bytes > 0, "{space:?}");
        std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        assert!(dir.look().is_err());
        std::fs::rename(folder.path().join("elsewhere"), &path).unwrap();
        let told = dir.look().unwrap_err().to_string();
        assert!(told.contains("offline since a failure: cannot use"), "{told}");
    }

    #[test]
    fn another_folder_of_the_same_name_is_not_the_directory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs");
        let dir = LogDir::open(&path).unwrap();
        std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        std::fs::create_dir(&path).unwrap();
        let told = dir.look().unwrap_err().to_string();
        assert!(told.contains("another folder is in its place"), "{told}");
    }
}
