//! The deadlines of one reactor's waiters, in one ordered map: a waiter costs an entry here, never a timer or a task.
//! Holds no clock: the time comes from its caller.

use std::collections::BTreeMap;
use std::time::Instant;

/// Names one deadline; two may fall on the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeadlineKey {
    at: Instant,
    number: u64,
}

/// Deadlines with what each belongs to.
#[derive(Debug)]
pub(crate) struct Deadlines<T> {
    entries: BTreeMap<DeadlineKey, T>,
    number_next: u64,
}

impl<T> Default for Deadlines<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), number_next: 0 }
    }
}

impl<T> Deadlines<T> {
    /// Adds a deadline and says whether it is now the earliest one.
    pub(crate) fn add(&mut self, at: Instant, owner: T) -> (DeadlineKey, bool) {
        let key = DeadlineKey { at, number: self.number_next };
        self.number_next += 1;
        let earliest = self.first().is_none_or(|first| at < first);
        self.entries.insert(key, owner);
        (key, earliest)
    }

    pub(crate) fn remove(&mut self, key: DeadlineKey) {
        self.entries.remove(&key);
    }

    pub(crate) fn first(&self) -> Option<Instant> {
        self.entries.first_key_value().map(|(key, _)| key.at)
    }

    /// Whose deadlines they are, the earliest first.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &T> {
        self.entries.values()
    }

    /// Takes out one deadline that has passed.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<T> {
        let entry = self.entries.first_entry()?;
        (entry.key().at <= now).then(|| entry.remove())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn deadlines_expire_in_order_and_only_when_they_have_passed() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut deadlines = Deadlines::default();
        assert!(deadlines.add(at(20), "second").1);
        let (first, earliest) = deadlines.add(at(10), "first");
        assert!(earliest);
        assert!(!deadlines.add(at(20), "third").1);
        assert_eq!(deadlines.take_expired(at(9)), None);
        assert_eq!(deadlines.take_expired(at(10)), Some("first"));
        deadlines.remove(first);
        assert_eq!(deadlines.first(), Some(at(20)));
        assert_eq!(deadlines.take_expired(at(30)), Some("second"));
        assert_eq!(deadlines.take_expired(at(30)), Some("third"));
        assert_eq!(deadlines.take_expired(at(30)), None);
    }
}
