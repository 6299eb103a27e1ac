//! The index of a sealed segment: bytes that no longer change, mapped or in memory. It trusts nothing that it reads: a
//! zero tail, a cut entry or a wrong order cost a longer search in the log, not a wrong answer.

use std::fs::File;
use std::io;
use std::marker::PhantomData;

use crate::entry::{Entry, OffsetEntry};
use crate::mmap::Mapped;
use crate::search;

/// A sorted run of entries that stays as it is.
#[derive(Debug)]
pub struct SealedIndex<E> {
    bytes: Bytes,
    entries: usize,
    entry: PhantomData<E>,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mapped),
    Owned(Vec<u8>),
}

impl<E: Entry> SealedIndex<E> {
    /// Maps a file for reading.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Safety of use
    /// The file must not be cut while the index lives; storage replaces such files instead of changing them.
    pub fn map(file: &File) -> io::Result<Self> {
        let mapped = Mapped::new(file)?;
        let entries = search::written_entries::<E>(mapped.bytes());
        Ok(Self { bytes: Bytes::Mapped(mapped), entries, entry: PhantomData })
    }

    /// The index in these bytes of a file.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        let entries = search::written_entries::<E>(&bytes);
        Self { bytes: Bytes::Owned(bytes), entries, entry: PhantomData }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The last entry.
    #[must_use]
    pub fn last(&self) -> Option<E> {
        self.get(self.entries.checked_sub(1)?)
    }

    /// The entry with this number, from 0.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<E> {
        if number < self.entries { search::entry(self.bytes(), number) } else { None }
    }

    /// The last entry whose key is at most `target`.
    #[must_use]
    pub fn floor(&self, target: E::Key) -> Option<E> {
        search::floor(self.bytes(), self.entries, target).map(|(_, entry)| entry)
    }

    /// The bytes of the entries.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(mapped) => mapped.bytes(),
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl SealedIndex<OffsetEntry> {
    /// The first entry whose batch begins at this byte or later.
    #[must_use]
    pub fn at_or_after(&self, position: u64) -> Option<OffsetEntry> {
        search::first(self.bytes(), self.entries, |entry: OffsetEntry| u64::from(entry.position) >= position)
    }
}
