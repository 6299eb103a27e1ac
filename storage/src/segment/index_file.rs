//! One index of a segment: growing in memory while the segment is active, mapped on first use once it is sealed. It
//! decides nothing about what is indexed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_index::{ActiveIndex, Entry, IndexError, OffsetEntry, RelativeOffset, SealedIndex, TimeEntry};
use parking_lot::RwLock;

use crate::io::{self as disk, Create, Directory, LogFile};
use crate::log::ReadMode;
use crate::pool::{Pool, Slot};

/// Entries go to the file in runs of at least so many bytes, and when the index is sealed. An active index is never
/// trusted after a crash, so nothing is lost by waiting.
const WRITE_BYTES_MIN: usize = 4096;

/// An index file and what is known of its content.
#[derive(Debug)]
pub(crate) struct IndexFile<E: Entry> {
    name: String,
    file: Arc<Slot<dyn LogFile>>,
    map: Arc<Slot<SealedIndex<E>>>,
    state: RwLock<State<E>>,
    /// The file's name is no longer this segment's.
    is_detached: AtomicBool,
}

#[derive(Debug)]
enum State<E> {
    Growing {
        index: ActiveIndex<E>,
        /// How much of it the file holds.
        written: usize,
    },
    Sealed,
}

/// What a look into an index gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look<T> {
    Seen(T),
    WouldBlock,
}

impl<E: Entry> IndexFile<E> {
    pub(crate) fn sealed(
        name: String,
        files: &Arc<Pool<dyn LogFile>>,
        maps: &Arc<Pool<SealedIndex<E>>>,
    ) -> Self {
        Self {
            name,
            file: Slot::new(files),
            map: Slot::new(maps),
            state: RwLock::new(State::Sealed),
            is_detached: AtomicBool::new(false),
        }
    }

    /// Begins anew with an empty index, and an empty file once there is something to write.
    pub(crate) fn start(&self, directory: &dyn Directory, bytes_max: u32) -> io::Result<()> {
        let mut state = self.state.write();
        self.release();
        disk::remove_if_there(directory, &self.name)?;
        *state = State::Growing { index: ActiveIndex::new(bytes_max), written: 0 };
        Ok(())
    }

    /// Makes the index grow again, with the entries that pass. The file is replaced, since readers may have it mapped.
    pub(crate) fn resume(
        &self,
        directory: &dyn Directory,
        bytes_max: u32,
        stays: impl Fn(E) -> bool,
    ) -> io::Result<()> {
        let mut state = self.state.write();
        let mut index = match &*state {
            State::Growing { index, .. } => index.clone(),
            State::Sealed => read_growing(directory, &self.name, bytes_max)?,
        };
        index.truncate_where(stays);
        self.release();
        let temporary = format!("{}.tmp", self.name);
        directory.open(&temporary, Create::Empty)?.write_at(&[index.bytes_from(0)], 0)?;
        directory.rename(&temporary, &self.name)?;
        let written = index.len() * E::BYTES;
        *state = State::Growing { index, written };
        Ok(())
    }

    /// Takes over the file of a segment that was active when its log was cleanly closed.
    pub(crate) fn adopt(&self, directory: &dyn Directory, bytes_max: u32) -> io::Result<()> {
        let index = read_growing(directory, &self.name, bytes_max)?;
        let written = index.len() * E::BYTES;
        *self.state.write() = State::Growing { index, written };
        Ok(())
    }

    /// Writes what is left, cuts the file to its entries, and lets the index rest.
    pub(crate) fn seal(&self, directory: &dyn Directory) -> io::Result<()> {
        self.trim(directory)?;
        let mut state = self.state.write();
        if let State::Growing { index, .. } = &*state {
            let sealed = Arc::new(SealedIndex::from_bytes(index.bytes_from(0).to_vec()));
            self.map.get_or(|| Ok(sealed))?;
            *state = State::Sealed;
        }
        self.file.clear();
        Ok(())
    }

    /// Writes what is left and cuts the file to its entries; a file with none is made.
    pub(crate) fn trim(&self, directory: &dyn Directory) -> io::Result<()> {
        let mut state = self.state.write();
        if let State::Growing { index, written } = &mut *state {
            let file = self.open(directory)?;
            let rest = index.bytes_from(*written);
            if !rest.is_empty() {
                file.write_at(&[rest], *written as u64)?;
                *written += rest.len();
            }
            if file.bytes()? != *written as u64 {
                file.set_bytes(*written as u64)?;
            }
        }
        Ok(())
    }

    /// Writes the entries that wait for it if they are many.
    pub(crate) fn write_if_many(&self, directory: &dyn Directory) -> io::Result<()> {
        let mut state = self.state.write();
        if let State::Growing { index, written } = &mut *state {
            let rest = index.bytes_from(*written);
            if rest.len() >= WRITE_BYTES_MIN {
                self.open(directory)?.write_at(&[rest], *written as u64)?;
                *written += rest.len();
            }
        }
        Ok(())
    }

    /// Makes the file durable, if there is one.
    pub(crate) fn sync(&self, directory: &dyn Directory) -> io::Result<()> {
        match self.file.get_or(|| directory.open(&self.name, Create::No)) {
            Ok(file) => file.sync(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The last entry at or below a key.
    pub(crate) fn floor(
        &self,
        directory: &dyn Directory,
        key: E::Key,
        mode: ReadMode,
    ) -> io::Result<Look<Option<E>>> {
        self.look(directory, mode, |index| index.floor(key), |index| index.floor(key))
    }

    /// The bytes of its entries.
    pub(crate) fn bytes(&self, directory: &dyn Directory) -> io::Result<u64> {
        let entries = self.look(directory, ReadMode::MayBlock, ActiveIndex::len, SealedIndex::len)?;
        Ok(match entries {
            Look::Seen(entries) => (entries * E::BYTES) as u64,
            Look::WouldBlock => 0,
        })
    }

    /// The last entry.
    pub(crate) fn last(&self, directory: &dyn Directory, mode: ReadMode) -> io::Result<Look<Option<E>>> {
        self.look(directory, mode, ActiveIndex::last, SealedIndex::last)
    }

    /// Whether the segment should end because this index can take no more.
    pub(crate) fn is_full(&self) -> bool {
        match &*self.state.read() {
            State::Growing { index, .. } => index.is_full(),
            State::Sealed => true,
        }
    }

    /// Whether the entries are those of the file.
    pub(crate) fn is_sealed(&self) -> bool {
        matches!(&*self.state.read(), State::Sealed)
    }

    /// From now on the file is not opened by its name.
    pub(crate) fn detach(&self) {
        self.is_detached.store(true, Ordering::Release);
    }

    /// Lets go of file and map.
    pub(crate) fn release(&self) {
        self.file.clear();
        self.map.clear();
    }

    fn look<T>(
        &self,
        directory: &dyn Directory,
        mode: ReadMode,
        growing: impl FnOnce(&ActiveIndex<E>) -> T,
        sealed: impl FnOnce(&SealedIndex<E>) -> T,
    ) -> io::Result<Look<T>> {
        if let State::Growing { index, .. } = &*self.state.read() {
            return Ok(Look::Seen(growing(index)));
        }
        // Sealed until here; a truncation may make it grow again right now, and its file is then still a right one.
        let map = match (self.map.get(), mode) {
            (Some(map), _) => map,
            (None, ReadMode::Cached) => return Ok(Look::WouldBlock),
            (None, ReadMode::MayBlock) => self.map.get_or(|| self.read_sealed(directory))?,
        };
        Ok(Look::Seen(sealed(&map)))
    }

    fn read_sealed(&self, directory: &dyn Directory) -> io::Result<Arc<SealedIndex<E>>> {
        let none = || Ok(Arc::new(SealedIndex::from_bytes(Vec::new())));
        if self.is_detached.load(Ordering::Acquire) {
            return none();
        }
        let opened = directory.open(&self.name, Create::No);
        // The segment may have left the log meanwhile, and the name be that of its successor.
        if self.is_detached.load(Ordering::Acquire) {
            return none();
        }
        match opened {
            Ok(file) => disk::seal(&*file).map(Arc::new),
            // A segment is readable without its index, from its first byte on.
            Err(error) if error.kind() == io::ErrorKind::NotFound => none(),
            Err(error) => Err(error),
        }
    }

    fn open(&self, directory: &dyn Directory) -> io::Result<Arc<dyn LogFile>> {
        self.file.get_or(|| directory.open(&self.name, Create::IfMissing))
    }
}

impl IndexFile<OffsetEntry> {
    /// The first entry whose batch begins at this byte or later.
    pub(crate) fn at_or_after(
        &self,
        directory: &dyn Directory,
        position: u64,
        mode: ReadMode,
    ) -> io::Result<Look<Option<OffsetEntry>>> {
        self.look(directory, mode, |index| index.at_or_after(position), |index| index.at_or_after(position))
    }

    /// Adds an entry in memory. A sealed index takes none.
    pub(crate) fn push(&self, entry: OffsetEntry) -> Result<(), IndexError> {
        match &mut *self.state.write() {
            State::Growing { index, .. } => index.push(entry),
            State::Sealed => Ok(()),
        }
    }
}

impl IndexFile<TimeEntry> {
    /// Adds an entry in memory if its timestamp is later than the last one's. A sealed index takes none.
    pub(crate) fn push_if_later(&self, timestamp_ms: i64, offset: RelativeOffset) -> Result<(), IndexError> {
        match &mut *self.state.write() {
            State::Growing { index, .. } => index.push_if_later(timestamp_ms, offset).map(|_| ()),
            State::Sealed => Ok(()),
        }
    }
}

fn read_growing<E: Entry>(
    directory: &dyn Directory,
    name: &str,
    bytes_max: u32,
) -> io::Result<ActiveIndex<E>> {
    let content = disk::read_named(directory, name)?.unwrap_or_default();
    Ok(ActiveIndex::from_bytes(content, bytes_max))
}
