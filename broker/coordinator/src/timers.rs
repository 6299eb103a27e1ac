//! When something is due: a set of keys, each with at most one time. Which key does what is the machine's.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Keys by the time at which they are due.
#[derive(Debug, Clone)]
pub(crate) struct Timers<K> {
    due: HashMap<K, i64>,
    queue: BTreeSet<(i64, K)>,
}

impl<K: Clone + Ord + Hash> Timers<K> {
    pub(crate) fn new() -> Self {
        Self { due: HashMap::new(), queue: BTreeSet::new() }
    }

    /// Lets the key be due at this time, and no longer at the one before.
    pub(crate) fn set(&mut self, key: K, at: i64) {
        if let Some(before) = self.due.insert(key.clone(), at) {
            if before == at {
                return;
            }
            self.queue.remove(&(before, key.clone()));
        }
        self.queue.insert((at, key));
    }

    /// The key is not due any more.
    pub(crate) fn cancel(&mut self, key: &K) {
        if let Some(at) = self.due.remove(key) {
            self.queue.remove(&(at, key.clone()));
        }
    }

    /// When the key is due.
    pub(crate) fn get(&self, key: &K) -> Option<i64> {
        self.due.get(key).copied()
    }

    /// When the next key is due.
    pub(crate) fn next(&self) -> Option<i64> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Takes the key that has been due for longest, if one is due by now.
    pub(crate) fn pop(&mut self, now: i64) -> Option<K> {
        if self.next()? > now {
            return None;
        }
        let (_, key) = self.queue.pop_first()?;
        self.due.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_due_once_at_the_time_set_last() {
        let mut timers = Timers::new();
        timers.set("a", 10);
        timers.set("b", 20);
        timers.set("a", 30);
        timers.set("c", 5);
        timers.cancel(&"c");
        assert_eq!((timers.next(), timers.get(&"a")), (Some(20), Some(30)));
        assert_eq!((timers.pop(19), timers.pop(20), timers.pop(29)), (None, Some("b"), None));
        assert_eq!((timers.pop(30), timers.pop(i64::MAX), timers.next()), (Some("a"), None, None));
    }
}
