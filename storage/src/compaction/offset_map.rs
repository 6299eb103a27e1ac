//! The newest offset of each key that a compaction has met, in memory of a fixed size: keys are known by a hash of 128
//! bits, and there is a bound on how many. What is done with the answer is decided elsewhere.

use ottla_model::Offset;
use twox_hash::XxHash3_128;

/// What a key takes: its hash and its offset.
pub(crate) const SLOT_BYTES: u64 = 24;

/// Keys and their newest offsets. A slot is the two halves of the hash and the offset plus one, so that zeros, which
/// fresh memory is made of, are a free one.
#[derive(Debug)]
pub(crate) struct OffsetMap {
    slots: Vec<[u64; 3]>,
    used: usize,
    keys_max: usize,
    seed: u64,
    latest: Option<Offset>,
}

/// There is no room for another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MapFull;

impl OffsetMap {
    /// A map of at most so many bytes, that takes keys up to this share of its slots. The memory is touched only where
    /// keys come to lie. A `seed` that nobody can guess keeps others from choosing keys that collide.
    pub(crate) fn new(bytes_max: u64, load_factor: f64, seed: u64) -> Self {
        let slots = usize::try_from(bytes_max / SLOT_BYTES).unwrap_or(usize::MAX);
        Self {
            slots: vec![[0; 3]; slots],
            used: 0,
            keys_max: keys_max(slots, load_factor),
            seed,
            latest: None,
        }
    }

    /// Notes that the key stands at this offset, which is above those noted before.
    pub(crate) fn put(&mut self, key: &[u8], offset: Offset) -> Result<(), MapFull> {
        let hash = self.hash(key);
        let Some(at) = self.slot_of(hash) else { return Err(MapFull) };
        let has_room = self.used < self.keys_max;
        let Some(slot) = self.slots.get_mut(at) else { return Err(MapFull) };
        if slot[2] == 0 {
            if !has_room {
                return Err(MapFull);
            }
            self.used += 1;
        }
        *slot = [hash[0], hash[1], offset.get().unsigned_abs() + 1];
        self.reach(offset);
        Ok(())
    }

    /// The newest offset of the key, if it was met.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Offset> {
        let slot = self.slots.get(self.slot_of(self.hash(key))?)?;
        let offset = slot[2].checked_sub(1)?;
        Some(Offset::new(offset.cast_signed()))
    }

    /// Notes that everything up to this offset, which had no key to be noted, was looked at.
    pub(crate) fn reach(&mut self, offset: Offset) {
        self.latest = self.latest.max(Some(offset));
    }

    /// The last offset that was looked at. Of records above it the map knows nothing.
    pub(crate) fn latest(&self) -> Option<Offset> {
        self.latest
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    fn hash(&self, key: &[u8]) -> [u64; 2] {
        let hash = XxHash3_128::oneshot_with_seed(self.seed, key).to_be_bytes();
        let (high, low) = hash.split_at(8);
        let half = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        [half(high), half(low)]
    }

    /// Where the hash is or would be: the first slot from its own place on that has it or is free.
    fn slot_of(&self, hash: [u64; 2]) -> Option<usize> {
        let count = self.slots.len();
        let start = usize::try_from(hash[1].checked_rem(count as u64)?).ok()?;
        let is_its = |at: &usize| {
            self.slots.get(*at).is_some_and(|slot| slot[2] == 0 || (slot[0] == hash[0] && slot[1] == hash[1]))
        };
        (start..count).find(is_its).or_else(|| (0..start).find(is_its))
    }
}

/// How many keys so many slots take: never all, so that a search for a key that is not there ends.
fn keys_max(slots: usize, load_factor: f64) -> usize {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a number of slots is one"
    )]
    let share = (slots as f64 * load_factor.clamp(0.0, 1.0)) as usize;
    share.min(slots.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn key(number: i64) -> Vec<u8> {
        format!("key-{number}").into_bytes()
    }

    #[test]
    fn the_newest_offset_of_each_key_is_known_and_others_are_not() {
        let mut map = OffsetMap::new(24 * 500, 0.9, 7);
        let mut twin = HashMap::new();
        for offset in 0..5000 {
            let key = key(offset * 7919 % 400);
            map.put(&key, Offset::new(offset)).unwrap();
            twin.insert(key, Offset::new(offset));
        }
        assert_eq!(map.len(), 400);
        for number in 0..1000 {
            assert_eq!(map.get(&key(number)), twin.get(&key(number)).copied());
        }
        assert_eq!(map.latest(), Some(Offset::new(4999)));
    }

    #[test]
    fn a_full_map_takes_no_new_key_and_still_moves_those_it_has() {
        let mut map = OffsetMap::new(24 * 100 + 23, 0.9, 0);
        for number in 0..90 {
            map.put(&key(number), Offset::new(number)).unwrap();
        }
        assert_eq!(map.put(&key(90), Offset::new(90)), Err(MapFull));
        assert_eq!(map.put(&key(3), Offset::new(91)), Ok(()));
        assert_eq!(map.get(&key(3)), Some(Offset::new(91)));
        assert_eq!(map.get(&key(90)), None);
        assert_eq!(map.len(), 90);
    }

    #[test]
    fn a_map_that_may_be_filled_to_the_last_slot_keeps_one_free() {
        let mut map = OffsetMap::new(24 * 4, 1.0, 0);
        let taken = (0..4).filter(|number| map.put(&key(*number), Offset::new(*number)).is_ok()).count();
        assert_eq!(taken, 3);
        assert_eq!(map.get(&key(77)), None);
        assert_eq!(OffsetMap::new(23, 0.9, 0).put(b"", Offset::ZERO), Err(MapFull));
        assert_eq!(OffsetMap::new(0, 0.9, 0).get(b""), None);
    }

    #[test]
    fn an_empty_key_is_a_key_and_offset_zero_an_offset() {
        let mut map = OffsetMap::new(240, 0.9, 0);
        assert_eq!(map.get(b""), None);
        map.put(b"", Offset::ZERO).unwrap();
        assert_eq!(map.get(b""), Some(Offset::ZERO));
        map.reach(Offset::new(9));
        assert_eq!(map.latest(), Some(Offset::new(9)));
    }
}
