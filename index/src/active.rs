//! The index of the active segment: in memory, growing. Its owner writes the bytes that [`ActiveIndex::bytes_from`]
//! shows to the file; this type never touches one, so a full disk cannot fault a reader.

use crate::entry::{Entry, OffsetEntry, RelativeOffset, TimeEntry};
use crate::error::IndexError;
use crate::search;

/// A sorted run of entries that only grows, or is cut at its end.
#[derive(Debug, Clone)]
pub struct ActiveIndex<E> {
    bytes: Vec<u8>,
    entries_max: usize,
    entry: std::marker::PhantomData<E>,
}

impl<E: Entry> ActiveIndex<E> {
    /// An empty index whose file may have `bytes_max` bytes (`segment.index.bytes`).
    #[must_use]
    pub fn new(bytes_max: u32) -> Self {
        Self::from_bytes(Vec::new(), bytes_max)
    }

    /// The index that a file holds, without its zero tail or a cut last entry.
    #[must_use]
    pub fn from_bytes(mut bytes: Vec<u8>, bytes_max: u32) -> Self {
        bytes.truncate(search::written_entries::<E>(&bytes) * E::BYTES);
        let entries_max = usize::try_from(bytes_max).unwrap_or(usize::MAX) / E::BYTES;
        Self { bytes, entries_max, entry: std::marker::PhantomData }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / E::BYTES
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the next entry belongs to a new segment.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() + E::SPARE >= self.entries_max
    }

    /// The last entry.
    #[must_use]
    pub fn last(&self) -> Option<E> {
        search::entry(&self.bytes, self.len().checked_sub(1)?)
    }

    /// The last entry whose key is at most `target`.
    #[must_use]
    pub fn floor(&self, target: E::Key) -> Option<E> {
        search::floor(&self.bytes, self.len(), target).map(|(_, entry)| entry)
    }

    /// The file's bytes from this one on.
    #[must_use]
    pub fn bytes_from(&self, position: usize) -> &[u8] {
        self.bytes.get(position..).unwrap_or_default()
    }

    /// Takes all entries away.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Removes the entries from the first one on that does not pass.
    pub fn truncate_where(&mut self, stays: impl Fn(E) -> bool) {
        let first =
            (0..self.len()).find(|number| search::entry(&self.bytes, *number).is_none_or(|e| !stays(e)));
        if let Some(number) = first {
            self.bytes.truncate(number * E::BYTES);
        }
    }

    fn push_unchecked(&mut self, entry: E) {
        entry.encode(&mut self.bytes);
    }
}

impl ActiveIndex<OffsetEntry> {
    /// The first entry whose batch begins at this byte or later.
    #[must_use]
    pub fn at_or_after(&self, position: u64) -> Option<OffsetEntry> {
        search::first(&self.bytes, self.len(), |entry: OffsetEntry| u64::from(entry.position) >= position)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// When its offset is not above the last one's.
    pub fn push(&mut self, entry: OffsetEntry) -> Result<(), IndexError> {
        match self.last() {
            Some(last) if entry.offset <= last.offset => {
                Err(IndexError::OffsetNotAscending { offset: entry.offset, last: last.offset })
            }
            _ => {
                self.push_unchecked(entry);
                Ok(())
            }
        }
    }
}

impl ActiveIndex<TimeEntry> {
    /// Adds an entry if its timestamp is above the last one's (−1 in an empty index), and says whether it did.
    ///
    /// # Errors
    /// When its timestamp or its offset is below the last one's.
    pub fn push_if_later(&mut self, timestamp_ms: i64, offset: RelativeOffset) -> Result<bool, IndexError> {
        if let Some(last) = self.last() {
            if offset < last.offset {
                return Err(IndexError::OffsetNotAscending { offset, last: last.offset });
            }
            if timestamp_ms < last.timestamp_ms {
                return Err(IndexError::TimeDescending { timestamp_ms, last_ms: last.timestamp_ms });
            }
        }
        let is_later = timestamp_ms > self.last().map_or(-1, |last| last.timestamp_ms);
        if is_later {
            self.push_unchecked(TimeEntry { timestamp_ms, offset });
        }
        Ok(is_later)
    }
}

#[cfg(test)]
mod tests {
    use ottla_model::Offset;

    use super::*;

    fn relative(number: i64) -> RelativeOffset {
        RelativeOffset::of(Offset::new(number), Offset::ZERO).unwrap()
    }

    #[test]
    fn an_offset_that_does_not_go_up_is_refused() {
        let mut index = ActiveIndex::new(4096);
        index.push(OffsetEntry { offset: relative(5), position: 10 }).unwrap();
        let refused = index.push(OffsetEntry { offset: relative(5), position: 20 });
        assert_eq!(refused, Err(IndexError::OffsetNotAscending { offset: relative(5), last: relative(5) }));
        assert_eq!(index.len(), 1);
    }

    #[test]
    fn an_index_is_full_at_its_size_and_a_time_index_one_entry_before() {
        let mut offsets = ActiveIndex::<OffsetEntry>::new(17);
        assert!(!offsets.is_full());
        offsets.push(OffsetEntry { offset: relative(1), position: 0 }).unwrap();
        assert!(!offsets.is_full());
        offsets.push(OffsetEntry { offset: relative(2), position: 0 }).unwrap();
        assert!(offsets.is_full());

        let mut times = ActiveIndex::<TimeEntry>::new(24);
        assert!(!times.is_full());
        assert_eq!(times.push_if_later(0, relative(1)), Ok(true));
        assert!(times.is_full());
    }

    #[test]
    fn truncation_keeps_the_entries_before_the_first_that_fails() {
        let mut index = ActiveIndex::new(4096);
        for number in 0..10 {
            index.push(OffsetEntry { offset: relative(number), position: 0 }).unwrap();
        }
        index.truncate_where(|entry| entry.offset < relative(4));
        assert_eq!(index.last().map(|entry| entry.offset), Some(relative(3)));
        assert_eq!(index.bytes_from(24).len(), 8);
        assert_eq!(index.bytes_from(100).len(), 0);
    }
}
