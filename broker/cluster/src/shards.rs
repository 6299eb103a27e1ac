//! A map that copies cheaply: a clone shares every shard, and a change copies the one shard that it touches. So each
//! committed batch can have an image of its own though there are ten thousand topics. It is no concurrent map.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

/// Shards of a map: with 10,000 entries a change copies about 80 of them, and a clone counts 128 references.
const SHARDS: usize = 128;

/// A copy-on-write hash map in [`SHARDS`] parts.
#[derive(Debug, Clone)]
pub(crate) struct ShardMap<K, V> {
    hasher: RandomState,
    shards: Vec<Arc<HashMap<K, V, RandomState>>>,
    len: usize,
}

impl<K: Hash + Eq + Clone, V: Clone> ShardMap<K, V> {
    pub(crate) fn new() -> Self {
        let hasher = RandomState::new();
        let empty = Arc::new(HashMap::with_hasher(hasher.clone()));
        Self { hasher, shards: vec![empty; SHARDS], len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.shards.get(self.shard_of(key)).and_then(|shard| shard.get(key))
    }

    pub(crate) fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let shard = self.shard_of(key);
        let shard = self.shards.get_mut(shard)?;
        if !shard.contains_key(key) {
            return None;
        }
        Arc::make_mut(shard).get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let shard = self.shard_of(&key);
        let replaced = Arc::make_mut(self.shards.get_mut(shard)?).insert(key, value);
        self.len += usize::from(replaced.is_none());
        replaced
    }

    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let shard = self.shard_of(key);
        let shard = self.shards.get_mut(shard)?;
        if !shard.contains_key(key) {
            return None;
        }
        let removed = Arc::make_mut(shard).remove(key);
        self.len -= usize::from(removed.is_some());
        removed
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }

    /// The entries that may differ from `other`'s: those of shards that the two do not share. Maps of different
    /// origin share nothing and hash differently, so they yield everything.
    pub(crate) fn unshared<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a K, &'a V)> {
        let pairs = self.shards.iter().zip(&other.shards);
        pairs.filter(|(ours, theirs)| !Arc::ptr_eq(ours, theirs)).flat_map(|(ours, _)| ours.iter())
    }

    fn shard_of<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        // The map inside takes the hash's low and top bits; the shard is chosen by some in the middle.
        usize::try_from((self.hasher.hash_one(key) >> 32) & (SHARDS as u64 - 1)).unwrap_or(0)
    }
}

const _: () = assert!(SHARDS.is_power_of_two());

impl<K: Hash + Eq + Clone, V: Clone + PartialEq> PartialEq for ShardMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.unshared(other).all(|(key, value)| other.get(key) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_does_not_see_later_changes() {
        let mut map = ShardMap::new();
        for key in 0..1000 {
            map.insert(key, key * 2);
        }
        let before = map.clone();
        map.insert(7, 1);
        map.remove(&8);
        assert_eq!((before.get(&7), before.get(&8), before.len()), (Some(&14), Some(&16), 1000));
        assert_eq!((map.get(&7), map.get(&8), map.len()), (Some(&1), None, 999));
    }

    #[test]
    fn only_touched_shards_are_compared() {
        let mut map = ShardMap::new();
        for key in 0..10_000 {
            map.insert(key, ());
        }
        let before = map.clone();
        map.insert(10_000, ());
        let unshared = map.unshared(&before).count();
        assert!((1..400).contains(&unshared), "{unshared} entries for one change");
        assert_eq!(before.unshared(&before.clone()).count(), 0);
    }

    #[test]
    fn equality_looks_at_entries_and_not_at_origin() {
        let fill = |keys: &[i32]| {
            let mut map = ShardMap::new();
            for key in keys {
                map.insert(*key, key.to_string());
            }
            map
        };
        assert_eq!(fill(&[1, 2, 3]), fill(&[3, 2, 1]));
        assert_ne!(fill(&[1, 2, 3]), fill(&[1, 2]));
        assert_ne!(fill(&[1, 2]), fill(&[1, 3]));
    }
}
