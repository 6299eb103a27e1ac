//! `.txnindex`: the aborted transactions of a segment, 34 bytes each, in order of their markers. A look at it reads few
//! pieces of the file, through a function of its caller's, and keeps none: such a file has no bound but its segment's.

use std::io;

use ottla_model::{Offset, ProducerId};

/// A transaction whose records are not to be shown to a reader of committed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Whose.
    pub producer_id: ProducerId,
    /// Its first record.
    pub first_offset: Offset,
    /// Its marker.
    pub last_offset: Offset,
    /// The first offset that was undecided after the marker, replication aside: what ends later begins there or above.
    pub last_stable: Offset,
}

const VERSION: i16 = 0;

/// So many entries are read at once: a page.
const PIECE_ENTRIES: u64 = 120;
const PIECE_BYTES: usize = 120 * AbortedTransaction::BYTES;

impl AbortedTransaction {
    /// Bytes of an entry.
    pub const BYTES: usize = 34;

    /// The entry's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields =
            [self.producer_id.get(), self.first_offset.get(), self.last_offset.get(), self.last_stable.get()];
        let (version, rest) = bytes.split_at_mut(2);
        version.copy_from_slice(&VERSION.to_be_bytes());
        for (into, field) in rest.chunks_exact_mut(8).zip(fields) {
            into.copy_from_slice(&field.to_be_bytes());
        }
        bytes
    }

    /// Reads the entry at the front of some bytes; none where they are too few or cannot be one: another version, or a
    /// marker that does not come after the first record. So zeros are none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, mut rest) = bytes.split_first_chunk()?;
        let mut field = || {
            let (field, after) = rest.split_first_chunk()?;
            rest = after;
            Some(i64::from_be_bytes(*field))
        };
        let entry = Self {
            producer_id: ProducerId::new(field()?),
            first_offset: Offset::new(field()?),
            last_offset: Offset::new(field()?),
            last_stable: Offset::new(field()?),
        };
        let is_sound = entry.first_offset >= Offset::ZERO && entry.first_offset < entry.last_offset;
        (i16::from_be_bytes(*version) == VERSION && is_sound).then_some(entry)
    }
}

/// A file of so many entries. `read` fills a buffer from a position on and says how many bytes there were.
#[derive(Debug)]
pub struct TxnIndex<R> {
    entries: u64,
    read: R,
}

impl<R: FnMut(u64, &mut [u8]) -> io::Result<usize>> TxnIndex<R> {
    /// The first `entries` entries of a file.
    pub const fn new(entries: u64, read: R) -> Self {
        Self { entries, read }
    }

    /// Adds to `found` the transactions that a reader of `from` up to `end` (exclusive) may meet records of, and says
    /// whether no later segment need be asked.
    ///
    /// # Errors
    /// What `read` says; `InvalidData` where an entry does not read. A file that is shorter than it was said to be ends
    /// where it does: it was cut just now.
    pub fn collect(
        &mut self,
        from: Offset,
        end: Offset,
        found: &mut Vec<AbortedTransaction>,
    ) -> io::Result<bool> {
        let mut number = self.first_ending_at(from)?;
        while number < self.entries {
            let mut buffer = [0; PIECE_BYTES];
            let piece = self.piece(number, &mut buffer)?;
            if piece.is_empty() {
                break;
            }
            for bytes in piece.chunks_exact(AbortedTransaction::BYTES) {
                let entry = decode(bytes, number)?;
                if entry.last_offset >= from && entry.first_offset < end {
                    found.push(entry);
                }
                if entry.last_stable >= end {
                    return Ok(true);
                }
                number += 1;
            }
        }
        Ok(false)
    }

    /// The number of entries before the first whose marker lies at or above `offset`.
    ///
    /// # Errors
    /// As [`TxnIndex::collect`].
    pub fn first_ending_at(&mut self, offset: Offset) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.entries);
        // Readers near the log end want the last page: it is asked first.
        let mut middle = high.saturating_sub(PIECE_ENTRIES);
        while low < high {
            if high - low <= PIECE_ENTRIES {
                return self.first_in_piece(low, high, offset);
            }
            let mut buffer = [0; AbortedTransaction::BYTES];
            let bytes = self.piece(middle, &mut buffer)?;
            if !bytes.is_empty() && decode(bytes, middle)?.last_offset < offset {
                low = middle + 1;
            } else {
                high = middle;
            }
            middle = low + (high - low) / 2;
        }
        Ok(low)
    }

    /// The entry with this number.
    ///
    /// # Errors
    /// As [`TxnIndex::collect`].
    pub fn get(&mut self, number: u64) -> io::Result<Option<AbortedTransaction>> {
        if number >= self.entries {
            return Ok(None);
        }
        let mut buffer = [0; AbortedTransaction::BYTES];
        let bytes = self.piece(number, &mut buffer)?;
        if bytes.is_empty() { Ok(None) } else { decode(bytes, number).map(Some) }
    }

    fn first_in_piece(&mut self, low: u64, high: u64, offset: Offset) -> io::Result<u64> {
        let mut buffer = [0; PIECE_BYTES];
        let mut number = low;
        for bytes in self.piece(low, &mut buffer)?.chunks_exact(AbortedTransaction::BYTES) {
            if number == high || decode(bytes, number)?.last_offset >= offset {
                break;
            }
            number += 1;
        }
        Ok(number)
    }

    /// The whole entries from this number on that are there and fit.
    fn piece<'a>(&mut self, number: u64, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let fitting = buffer.len() / AbortedTransaction::BYTES;
        let wanted = usize::try_from(self.entries.saturating_sub(number)).unwrap_or(fitting).min(fitting);
        let buffer = buffer.get_mut(..wanted * AbortedTransaction::BYTES).unwrap_or_default();
        let filled = (self.read)(number * AbortedTransaction::BYTES as u64, buffer)?;
        let whole = filled / AbortedTransaction::BYTES * AbortedTransaction::BYTES;
        Ok(buffer.get(..whole).unwrap_or_default())
    }
}

fn decode(bytes: &[u8], number: u64) -> io::Result<AbortedTransaction> {
    AbortedTransaction::decode(bytes).ok_or_else(|| {
        let reason = format!("entry {number} of a transaction index does not read");
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}
