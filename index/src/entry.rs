//! The entries of `.index` (8 bytes) and `.timeindex` (12 bytes), big-endian. An offset within a segment is its own
//! type here; [`RelativeOffset::of`] and [`RelativeOffset::at`] are the only ways between it and a log's offset.

use std::fmt;

use ottla_model::Offset;

/// An offset as its distance from a segment's base: 0 to 2³¹−1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelativeOffset(u32);

impl RelativeOffset {
    const MAX: u32 = i32::MAX.unsigned_abs();

    /// The distance of `offset` from `base`, or none where the files could not hold it.
    #[must_use]
    pub fn of(offset: Offset, base: Offset) -> Option<Self> {
        let distance = offset.get().checked_sub(base.get())?;
        u32::try_from(distance).ok().filter(|distance| *distance <= Self::MAX).map(Self)
    }

    /// The log's offset, in a segment with this base.
    #[must_use]
    pub fn at(self, base: Offset) -> Offset {
        Offset::new(base.get().saturating_add(i64::from(self.0)))
    }

    /// The number itself.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    fn from_stored(bytes: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }
}

impl fmt::Display for RelativeOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An entry of a fixed size whose files are sorted by a key.
pub trait Entry: Copy + fmt::Debug {
    /// Bytes that an entry takes.
    const BYTES: usize;
    /// Entries that a full index leaves room for, so that closing it may add its last one.
    const SPARE: usize;
    /// What the file is sorted by.
    type Key: Ord + Copy;

    /// Reads an entry from exactly [`Entry::BYTES`] bytes; none where there are fewer.
    fn decode(bytes: &[u8]) -> Option<Self>;

    /// Adds the entry's bytes to `out`.
    fn encode(self, out: &mut Vec<u8>);

    /// The sort key.
    fn key(self) -> Self::Key;
}

/// "The batch whose last offset this is begins at this byte."
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetEntry {
    /// The batch's last offset.
    pub offset: RelativeOffset,
    /// The batch's first byte in the segment's log file.
    pub position: u32,
}

impl Entry for OffsetEntry {
    const BYTES: usize = 8;
    const SPARE: usize = 0;
    type Key = RelativeOffset;

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (offset, rest) = bytes.split_first_chunk()?;
        let (position, _) = rest.split_first_chunk()?;
        Some(Self { offset: RelativeOffset::from_stored(*offset), position: u32::from_be_bytes(*position) })
    }

    fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.0.to_be_bytes());
        out.extend_from_slice(&self.position.to_be_bytes());
    }

    fn key(self) -> RelativeOffset {
        self.offset
    }
}

/// "Up to the batch that ends with this offset, no timestamp is larger than this one."
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeEntry {
    /// The largest timestamp so far.
    pub timestamp_ms: i64,
    /// The last offset of the batch that brought it.
    pub offset: RelativeOffset,
}

impl Entry for TimeEntry {
    const BYTES: usize = 12;
    const SPARE: usize = 1;
    type Key = i64;

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (timestamp, rest) = bytes.split_first_chunk()?;
        let (offset, _) = rest.split_first_chunk()?;
        Some(Self {
            timestamp_ms: i64::from_be_bytes(*timestamp),
            offset: RelativeOffset::from_stored(*offset),
        })
    }

    fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.timestamp_ms.to_be_bytes());
        out.extend_from_slice(&self.offset.0.to_be_bytes());
    }

    fn key(self) -> i64 {
        self.timestamp_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_beyond_31_bits_or_below_zero_is_no_relative_offset() {
        let base = Offset::new(100);
        assert_eq!(RelativeOffset::of(Offset::new(99), base), None);
        assert_eq!(RelativeOffset::of(Offset::new(100 + (1 << 31)), base), None);
        let last = RelativeOffset::of(Offset::new(99 + (1 << 31)), base).unwrap();
        assert_eq!(last.at(base), Offset::new(99 + (1 << 31)));
    }

    #[test]
    fn an_entry_that_is_cut_short_does_not_decode() {
        let entry = TimeEntry { timestamp_ms: 7, offset: RelativeOffset(9) };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        assert_eq!(bytes.len(), TimeEntry::BYTES);
        for length in 0..bytes.len() {
            assert_eq!(TimeEntry::decode(&bytes[..length]), None);
        }
        assert_eq!(TimeEntry::decode(&bytes), Some(entry));
    }
}
