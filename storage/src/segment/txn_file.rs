//! A segment's `.txnindex`: written entry by entry as markers of aborted transactions are appended, read in place. The
//! file is made for the first entry. Which transactions there are is decided above.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ottla_index::{AbortedTransaction, TxnIndex};
use ottla_model::{Offset, crc32c};

use crate::io::{self as disk, Create, Directory, LogFile, read_full};
use crate::log::ReadMode;
use crate::pool::{Pool, Slot};

const ENTRY_BYTES: u64 = AbortedTransaction::BYTES as u64;

/// The file and how many of its entries count.
#[derive(Debug)]
pub(crate) struct TxnFile {
    name: String,
    file: Arc<Slot<dyn LogFile>>,
    /// What lies beyond in the file is of an append that failed.
    entries: AtomicU64,
    /// The file, once the segment left the log.
    pinned: OnceLock<Arc<dyn LogFile>>,
}

impl TxnFile {
    /// A file that has so many bytes, or none.
    pub(crate) fn new(name: String, files: &Arc<Pool<dyn LogFile>>, bytes: u64) -> Self {
        let entries = AtomicU64::new(bytes / ENTRY_BYTES);
        Self { name, file: Slot::new(files), entries, pinned: OnceLock::new() }
    }

    /// Whether no entry counts.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries() == 0
    }

    fn entries(&self) -> u64 {
        self.entries.load(Ordering::Acquire)
    }

    /// Begins anew without entries.
    pub(crate) fn start(&self, directory: &dyn Directory) -> io::Result<()> {
        self.entries.store(0, Ordering::Release);
        self.file.clear();
        disk::remove_if_there(directory, &self.name)
    }

    /// Writes an entry after those that count. It counts once [`TxnFile::count_next`] says so.
    pub(crate) fn write_next(&self, directory: &dyn Directory, entry: &AbortedTransaction) -> io::Result<()> {
        self.open(directory, Create::IfMissing)?.write_at(&[&entry.to_bytes()], self.entries() * ENTRY_BYTES)
    }

    /// The entry that was just written counts.
    pub(crate) fn count_next(&self) {
        self.entries.fetch_add(1, Ordering::Release);
    }

    /// Takes the entries away whose marker lies at or above an offset.
    pub(crate) fn truncate(&self, directory: &dyn Directory, offset: Offset) -> io::Result<()> {
        if self.entries() > 0 {
            let kept = self.index(directory, ReadMode::MayBlock).first_ending_at(offset)?;
            self.entries.store(kept, Ordering::Release);
        }
        self.trim(directory)
    }

    /// Cuts the file to the entries that count; a missing one is right where there are none.
    pub(crate) fn trim(&self, directory: &dyn Directory) -> io::Result<()> {
        let bytes = self.entries() * ENTRY_BYTES;
        match self.open(directory, Create::No) {
            Ok(file) if file.bytes()? > bytes => file.set_bytes(bytes),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes the file durable, if there is one.
    pub(crate) fn sync(&self, directory: &dyn Directory) -> io::Result<()> {
        match self.open(directory, Create::No) {
            Ok(file) => file.sync(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds the aborted transactions of a range; says whether no later segment need be asked. The error `WouldBlock` is
    /// of a read that may not wait.
    pub(crate) fn collect(
        &self,
        directory: &dyn Directory,
        from: Offset,
        end: Offset,
        mode: ReadMode,
        found: &mut Vec<AbortedTransaction>,
    ) -> io::Result<bool> {
        if self.is_empty() { Ok(false) } else { self.index(directory, mode).collect(from, end, found) }
    }

    /// Whether the last entry can be one of a segment with these bounds.
    pub(crate) fn is_sound(&self, directory: &dyn Directory, base: Offset, end: Offset) -> io::Result<bool> {
        let Some(last) = self.entries().checked_sub(1) else { return Ok(true) };
        match self.index(directory, ReadMode::MayBlock).get(last) {
            Ok(entry) => Ok(entry.is_some_and(|entry| (base..end).contains(&entry.last_offset))),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The CRC-32C of the entries that count.
    pub(crate) fn crc(&self, directory: &dyn Directory) -> io::Result<u32> {
        let end = self.entries() * ENTRY_BYTES;
        let (mut crc, mut position) = (0, 0);
        let mut buffer = [0; 4096];
        while position < end {
            let file = self.open(directory, Create::No)?;
            let wanted = usize::try_from(end - position).unwrap_or(usize::MAX).min(buffer.len());
            let filled = read_full(&*file, buffer.get_mut(..wanted).unwrap_or_default(), position)?;
            if filled == 0 {
                break;
            }
            crc = crc32c::append(crc, buffer.get(..filled).unwrap_or_default());
            position += filled as u64;
        }
        Ok(crc)
    }

    /// Lets go of the file.
    pub(crate) fn release(&self) {
        self.file.clear();
    }

    /// Keeps the file from now on: its name will be another's.
    pub(crate) fn pin(&self, directory: &dyn Directory) -> io::Result<()> {
        if self.entries() > 0 {
            let file = self.open(directory, Create::No)?;
            self.pinned.get_or_init(|| file);
        }
        Ok(())
    }

    fn index<'a>(
        &'a self,
        directory: &'a dyn Directory,
        mode: ReadMode,
    ) -> TxnIndex<impl FnMut(u64, &mut [u8]) -> io::Result<usize> + 'a> {
        TxnIndex::new(self.entries(), move |position, buffer: &mut [u8]| {
            let file = self.open(directory, Create::No)?;
            match mode {
                ReadMode::MayBlock => read_full(&*file, buffer, position),
                ReadMode::Cached => {
                    let read = file.read_cached_at(buffer, position)?;
                    // Fewer bytes than wanted: the rest is not in memory.
                    read.filter(|read| *read == buffer.len()).ok_or(io::ErrorKind::WouldBlock.into())
                }
            }
        })
    }

    fn open(&self, directory: &dyn Directory, create: Create) -> io::Result<Arc<dyn LogFile>> {
        if let Some(file) = self.pinned.get() {
            return Ok(Arc::clone(file));
        }
        let file = self.file.get_or(|| directory.open(&self.name, create));
        // The segment may have left the log meanwhile, and the name be that of its successor.
        self.pinned.get().map_or(file, |pinned| Ok(Arc::clone(pinned)))
    }
}
