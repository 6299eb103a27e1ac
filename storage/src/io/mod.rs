//! What storage asks of a disk, for logs and indexes alike. Two disks exist: [`posix`] and, with the feature `test-util`,
//! the simulated one of `sim`. Nothing here knows what a segment is; nobody else in this crate calls the system for a file.

pub mod posix;
#[cfg(any(test, feature = "test-util"))]
pub mod sim;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ottla_index::{Entry, SealedIndex};

/// One folder. Names are those of its direct entries; a folder inside is reached through [`Directory::folder`].
pub trait Directory: Send + Sync + fmt::Debug {
    /// Where the folder is, for messages.
    fn path(&self) -> PathBuf;

    /// The folder of this name inside; it need not exist.
    fn folder(&self, name: &str) -> Arc<dyn Directory>;

    /// Makes this folder and those above it that are missing. Durable after [`Directory::sync`] of the one above.
    ///
    /// # Errors
    /// What the system says; this holds for all methods.
    fn create(&self) -> io::Result<()>;

    /// The entries; empty where the folder does not exist.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self) -> io::Result<Vec<DirectoryEntry>>;

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// `NotFound` where it is missing and may not be made.
    fn open(&self, name: &str, create: Create) -> io::Result<Arc<dyn LogFile>>;

    /// Gives a file or folder another name, in place of a file that has it.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file's name. Whoever has it open goes on.
    ///
    /// # Errors
    /// `NotFound` where there is none.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Removes a folder inside with all that it holds.
    ///
    /// # Errors
    /// What the system says.
    fn remove_folder(&self, name: &str) -> io::Result<()>;

    /// What an entry looks like from outside, or the folder itself for an empty name; none where it does not exist.
    ///
    /// # Errors
    /// What the system says.
    fn stamp(&self, name: &str) -> io::Result<Option<Stamp>>;

    /// Makes the names in this folder durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&self) -> io::Result<()>;
}

/// A file or folder from outside. Whatever changes its content, its names or its own name, and whatever puts another one
/// in its place, shows here: the times are the disk's, and the second one nobody can set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Which one it is, among all of its file system.
    pub inode: u64,
    /// Its size.
    pub bytes: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// When anything about it last changed.
    pub changed_ns: i128,
}

impl Stamp {
    /// When its content last changed, as [`LogFile::modified_ms`] has it.
    #[must_use]
    pub fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified_ns.div_euclid(1_000_000)).unwrap_or_default()
    }
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name; entries whose name is no UTF-8 are not ours and are left out.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// A file's size.
    pub bytes: u64,
}

/// What to do where a file is missing, or is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    /// It must be there.
    No,
    /// Made if missing.
    IfMissing,
    /// Made, and emptied if it was there.
    Empty,
}

/// One open file. Every access says where; there is no cursor.
pub trait LogFile: Send + Sync + fmt::Debug {
    /// Reads up to the buffer's size; 0 at the end of the file.
    ///
    /// # Errors
    /// What the system says; this holds for all methods.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// Reads as [`LogFile::read_at`], but only what is in memory: none where the first byte is not.
    ///
    /// # Errors
    /// What the system says.
    fn read_cached_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>>;

    /// Writes all pieces one after the other with as few calls as possible: one, unless the system takes less.
    ///
    /// # Errors
    /// Part of the bytes may then be in the file.
    fn write_at(&self, pieces: &[&[u8]], position: u64) -> io::Result<()>;

    /// The size.
    ///
    /// # Errors
    /// What the system says.
    fn bytes(&self) -> io::Result<u64>;

    /// When the content last changed, by the disk's clock.
    ///
    /// # Errors
    /// What the system says.
    fn modified_ms(&self) -> io::Result<i64>;

    /// Makes this the time at which the content last changed.
    ///
    /// # Errors
    /// What the system says.
    fn set_modified_ms(&self, modified_ms: i64) -> io::Result<()>;

    /// Cuts the file, or extends it by zeros.
    ///
    /// # Errors
    /// What the system says.
    fn set_bytes(&self, bytes: u64) -> io::Result<()>;

    /// Sets room on the disk aside for these bytes, so that writing them later need not look for it. Size and content stay.
    /// Where the file system knows no such thing, nothing happens.
    ///
    /// # Errors
    /// What the system says, above all that there is no room.
    fn reserve(&self, position: u64, bytes: u64) -> io::Result<()>;

    /// Makes content and size durable.
    ///
    /// # Errors
    /// What the system says. The content is then unknown, and a second call proves nothing.
    fn sync(&self) -> io::Result<()>;

    /// The file itself, where it is one of the operating system's.
    fn system_file(&self) -> Option<Arc<File>>;
}

/// Fills the buffer from `position` on, or says how many bytes there were.
pub(crate) fn read_full(file: &dyn LogFile, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, position + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The whole content of a file.
pub(crate) fn read_all(file: &dyn LogFile) -> io::Result<Vec<u8>> {
    let bytes = usize::try_from(file.bytes()?).map_err(io::Error::other)?;
    let mut content = vec![0; bytes];
    let filled = read_full(file, &mut content, 0)?;
    content.truncate(filled);
    Ok(content)
}

/// A file's content, or none where there is no such file.
pub(crate) fn read_named(directory: &dyn Directory, name: &str) -> io::Result<Option<Vec<u8>>> {
    match directory.open(name, Create::No) {
        Ok(file) => read_all(&*file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file that need not be there.
pub(crate) fn remove_if_there(directory: &dyn Directory, name: &str) -> io::Result<()> {
    match directory.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a folder that need not be there, with all that it holds.
pub(crate) fn remove_folder_if_there(directory: &dyn Directory, name: &str) -> io::Result<()> {
    match directory.remove_folder(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A sealed index over a file: mapped where the system can.
pub(crate) fn seal<E: Entry>(file: &dyn LogFile) -> io::Result<SealedIndex<E>> {
    match file.system_file() {
        Some(file) => SealedIndex::map(&file),
        None => Ok(SealedIndex::from_bytes(read_all(file)?)),
    }
}

/// Writes a file so that a crash leaves either the old content or the new one: beside it, synced, renamed, folder
/// synced.
pub(crate) fn replace(directory: &dyn Directory, name: &str, content: &[u8]) -> io::Result<()> {
    let temporary = format!("{name}.tmp");
    let file = directory.open(&temporary, Create::Empty)?;
    file.write_at(&[content], 0)?;
    file.sync()?;
    directory.rename(&temporary, name)?;
    directory.sync()
}
