//! Finding the last entry at or below a key in the bytes of an index. Bytes may come from outside: an unsorted file
//! gives some entry or none, never a panic, and its caller compares the entry with the log.

use crate::entry::Entry;

/// The end of an index that is searched first. Readers near the log end touch only these pages, so they stay in
/// memory; a search over the whole file would touch cold ones in the middle (KAFKA-6432).
pub(crate) const WARM_BYTES: usize = 8192;

/// The entry with this number.
pub(crate) fn entry<E: Entry>(bytes: &[u8], number: usize) -> Option<E> {
    let start = number.checked_mul(E::BYTES)?;
    bytes.get(start..)?.get(..E::BYTES).and_then(E::decode)
}

/// How many entries there are before a tail of zeros: an index file that was prepared at full size and not trimmed.
pub(crate) fn written_entries<E: Entry>(bytes: &[u8]) -> usize {
    let whole = bytes.len() / E::BYTES;
    let is_written = |number: usize| {
        let start = number * E::BYTES;
        bytes.get(start..start + E::BYTES).is_some_and(|entry| entry.iter().any(|byte| *byte != 0))
    };
    if whole == 0 || is_written(whole - 1) {
        whole
    } else {
        first_where(0, whole, |number| !is_written(number))
    }
}

/// The last of the first `entries` entries whose key is at most `target`, with its number.
pub(crate) fn floor<E: Entry>(bytes: &[u8], entries: usize, target: E::Key) -> Option<(usize, E)> {
    let is_above = |number: usize| entry::<E>(bytes, number).is_none_or(|entry| entry.key() > target);
    let warm = entries.saturating_sub(WARM_BYTES / E::BYTES);
    let (low, high) = if is_above(warm) { (0, warm) } else { (warm, entries) };
    let number = first_where(low, high, is_above).checked_sub(1)?;
    Some((number, entry(bytes, number)?))
}

/// The first of the first `entries` entries that passes, given that all after one that passes pass as well.
pub(crate) fn first<E: Entry>(bytes: &[u8], entries: usize, passes: impl Fn(E) -> bool) -> Option<E> {
    let number = first_where(0, entries, |number| entry::<E>(bytes, number).is_none_or(&passes));
    if number < entries { entry(bytes, number) } else { None }
}

/// The first number in `low..high` that passes, given that all after one that passes pass as well; else `high`.
fn first_where(mut low: usize, mut high: usize, passes: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use ottla_model::Offset;

    use super::*;
    use crate::entry::{OffsetEntry, RelativeOffset};

    fn relative(number: usize) -> RelativeOffset {
        RelativeOffset::of(Offset::new(i64::try_from(number).unwrap()), Offset::ZERO).unwrap()
    }

    fn every_third(count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in 0..count {
            OffsetEntry { offset: relative(number * 3 + 2), position: 7 }.encode(&mut bytes);
        }
        bytes
    }

    #[test]
    fn the_floor_agrees_with_a_walk_on_both_sides_of_the_warm_section() {
        let count = WARM_BYTES / OffsetEntry::BYTES + 50;
        let bytes = every_third(count);
        for target in 0..count * 3 + 5 {
            let walked = (0..count).rev().find(|number| number * 3 + 2 <= target);
            let found = floor::<OffsetEntry>(&bytes, count, relative(target)).map(|(number, _)| number);
            assert_eq!(found, walked, "target {target}");
        }
    }

    #[test]
    fn a_tail_of_zeros_and_a_cut_entry_are_not_counted() {
        let mut bytes = every_third(5);
        assert_eq!(written_entries::<OffsetEntry>(&bytes), 5);
        bytes.extend_from_slice(&[1, 2, 3]);
        assert_eq!(written_entries::<OffsetEntry>(&bytes), 5);
        bytes.truncate(40);
        bytes.resize(4096, 0);
        assert_eq!(written_entries::<OffsetEntry>(&bytes), 5);
        assert_eq!(written_entries::<OffsetEntry>(&[]), 0);
    }

    #[test]
    fn bytes_without_order_never_lead_outside() {
        let mut state = 1_u64;
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .take(1003)
        .collect();
        for length in 0..bytes.len() {
            let bytes = &bytes[..length];
            let entries = written_entries::<OffsetEntry>(bytes);
            let _ = floor::<OffsetEntry>(bytes, entries, relative(length * 1_000_000));
            let _ = floor::<OffsetEntry>(bytes, entries + 10, relative(5));
        }
    }
}
