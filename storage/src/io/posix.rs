//! The disk of the operating system (Linux).

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};

use super::{Create, Directory, DirectoryEntry, LogFile, Stamp};

/// A folder of the file system.
#[derive(Debug, Clone)]
pub struct PosixDirectory {
    path: PathBuf,
}

impl PosixDirectory {
    /// The folder at this path; it need not exist.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }
}

impl Directory for PosixDirectory {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn folder(&self, name: &str) -> Arc<dyn Directory> {
        Arc::new(Self { path: self.path.join(name) })
    }

    fn create(&self) -> io::Result<()> {
        match fs::create_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.path.is_dir() => Ok(()),
            created => created,
        }
    }

    fn list(&self) -> io::Result<Vec<DirectoryEntry>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // Of a folder nothing more is wanted, and the listing says that it is one.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.push(DirectoryEntry { name, is_folder: true, bytes: 0 });
                continue;
            }
            // A file may go between the listing and this look at it: deletion runs beside.
            match fs::metadata(entry.path()) {
                Ok(about) => {
                    found.push(DirectoryEntry { name, is_folder: about.is_dir(), bytes: about.len() });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn open(&self, name: &str, create: Create) -> io::Result<Arc<dyn LogFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create != Create::No).truncate(create == Create::Empty);
        let file = options.open(self.path.join(name))?;
        Ok(Arc::new(PosixFile { file: Arc::new(file) }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir_all(self.path.join(name))
    }

    fn stamp(&self, name: &str) -> io::Result<Option<Stamp>> {
        let about =
            if name.is_empty() { fs::metadata(&self.path) } else { fs::metadata(self.path.join(name)) };
        let at =
            |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        match about {
            Ok(about) => Ok(Some(Stamp {
                inode: about.ino(),
                bytes: about.len(),
                modified_ns: at(about.mtime(), about.mtime_nsec()),
                changed_ns: at(about.ctime(), about.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

#[derive(Debug)]
struct PosixFile {
    file: Arc<File>,
}

impl LogFile for PosixFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.file.read_at(buffer, position)
    }

    fn read_cached_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>> {
        let slices = &mut [IoSliceMut::new(buffer)];
        match rustix::io::preadv2(self.file.as_fd(), slices, position, ReadWriteFlags::NOWAIT) {
            Ok(count) => Ok(Some(count)),
            Err(Errno::AGAIN) => Ok(None),
            // tmpfs and others that live in memory do not know the flag; an old kernel does not know the call.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => self.read_at(buffer, position).map(Some),
            Err(error) => Err(error.into()),
        }
    }

    fn write_at(&self, pieces: &[&[u8]], position: u64) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut rest = &mut slices[..];
        let mut position = position;
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match rustix::io::pwritev(self.file.as_fd(), rest, position) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    position += count as u64;
                    IoSlice::advance_slices(&mut rest, count);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        self.file.metadata().map(|about| about.len())
    }

    fn modified_ms(&self) -> io::Result<i64> {
        let modified = self.file.metadata()?.modified()?;
        let since = match modified.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()),
            Err(before) => i64::try_from(before.duration().as_millis()).map(|before| -before),
        };
        since.map_err(io::Error::other)
    }

    fn set_modified_ms(&self, modified_ms: i64) -> io::Result<()> {
        let distance = Duration::from_millis(modified_ms.unsigned_abs());
        let time =
            if modified_ms < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
        self.file.set_modified(time.ok_or(io::ErrorKind::InvalidInput)?)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn reserve(&self, position: u64, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(self.file.as_fd(), FallocateFlags::KEEP_SIZE, position, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn system_file(&self) -> Option<Arc<File>> {
        Some(Arc::clone(&self.file))
    }
}
