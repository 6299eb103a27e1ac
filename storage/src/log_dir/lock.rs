//! The lock of a log directory: an exclusive open-file-description lock over the whole of `.lock`. It conflicts with the
//! record lock of a running Apache Kafka, both ways round (flock would not), and ends with the process.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// The lock file's name.
pub(super) const LOCK_FILE: &str = ".lock";

/// A held lock. Dropping it gives the directory free; the file stays, as Kafka's does.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock, or none where somebody else has it.
    pub(super) fn take(directory: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        let path = directory.join(LOCK_FILE);
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file())) {
            Ok(_) => Ok(Some(Self { _file: file })),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether somebody holds the lock of a directory; nothing is made or taken.
///
/// # Errors
/// If the lock file cannot be read.
pub fn is_locked(directory: &Path) -> io::Result<bool> {
    let file = match OpenOptions::new().read(true).write(true).open(directory.join(LOCK_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut lock = whole_file();
    fcntl(&file, FcntlArg::F_OFD_GETLK(&mut lock))?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

/// A write lock from the first byte to wherever the file ends.
fn whole_file() -> libc::flock {
    libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}
