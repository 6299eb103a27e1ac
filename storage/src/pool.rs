//! Values that can be had again at a cost, of which only so many are kept: open files and mapped indexes. It bounds
//! how many a directory holds, not how many are in use: whoever has one keeps it alive.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// A bound on kept values, by second chance: a value that was used since it was last looked at stays another round.
pub(crate) struct Pool<T: ?Sized> {
    capacity: usize,
    kept: Mutex<VecDeque<Weak<Slot<T>>>>,
}

/// The place of one value. The value is made on first use and again after the pool took it away.
pub(crate) struct Slot<T: ?Sized> {
    pool: Arc<Pool<T>>,
    used: AtomicBool,
    value: Mutex<Option<Arc<T>>>,
}

impl<T: ?Sized> Pool<T> {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity: capacity.max(1), kept: Mutex::new(VecDeque::new()) })
    }

    /// Enters a slot that got its value, and makes room where there are too many.
    fn enter(&self, slot: Weak<Slot<T>>) {
        let mut kept = self.kept.lock();
        kept.push_back(slot);
        // Twice around: the first may do no more than take back second chances.
        for _ in 0..2 * kept.len() {
            if kept.len() <= self.capacity {
                return;
            }
            let Some(oldest) = kept.pop_front() else { return };
            let Some(slot) = oldest.upgrade() else { continue };
            let spared = slot.used.swap(false, Ordering::Relaxed);
            // A slot whose lock is taken is in use at this very moment.
            match slot.value.try_lock().filter(|_| !spared) {
                Some(mut value) => *value = None,
                None => kept.push_back(oldest),
            }
        }
    }
}

impl<T: ?Sized> Pool<T> {
    /// Lets go of what was not used since the last call; says how much that was.
    pub(crate) fn sweep(&self) -> usize {
        let mut idle = Vec::new();
        self.kept.lock().retain(|slot| {
            let Some(slot) = slot.upgrade() else { return false };
            // A slot whose lock is taken is in use at this very moment.
            let Some(mut value) = slot.value.try_lock() else { return true };
            if value.is_some() && slot.used.swap(false, Ordering::Relaxed) {
                return true;
            }
            idle.extend(value.take());
            false
        });
        idle.len()
    }
}

impl<T: ?Sized> Slot<T> {
    pub(crate) fn new(pool: &Arc<Pool<T>>) -> Arc<Self> {
        Arc::new(Self { pool: Arc::clone(pool), used: AtomicBool::new(false), value: Mutex::new(None) })
    }

    /// The value, made by `make` if it is not there.
    pub(crate) fn get_or(self: &Arc<Self>, make: impl FnOnce() -> io::Result<Arc<T>>) -> io::Result<Arc<T>> {
        let made = {
            let mut value = self.value.lock();
            self.used.store(true, Ordering::Relaxed);
            if let Some(value) = &*value {
                return Ok(Arc::clone(value));
            }
            let made = make()?;
            *value = Some(Arc::clone(&made));
            made
        };
        // Not under the slot's lock: making room takes other slots' locks.
        self.pool.enter(Arc::downgrade(self));
        Ok(made)
    }

    /// The value, if it is there.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        self.used.store(true, Ordering::Relaxed);
        self.value.lock().clone()
    }

    /// Lets go of the value; the next use makes a new one.
    pub(crate) fn clear(&self) {
        *self.value.lock() = None;
    }
}

impl<T: ?Sized> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(slot: &Arc<Slot<u32>>, value: u32) -> u32 {
        *slot.get_or(|| Ok(Arc::new(value))).unwrap()
    }

    #[test]
    fn no_more_values_are_kept_than_the_pool_has_room_for() {
        let pool = Pool::new(3);
        let slots: Vec<_> = (0..10).map(|_| Slot::new(&pool)).collect();
        for (slot, value) in slots.iter().zip(0..) {
            assert_eq!(fill(slot, value), value);
        }
        assert_eq!(slots.iter().filter(|slot| slot.value.lock().is_some()).count(), 3);
    }

    #[test]
    fn a_value_in_steady_use_outlives_those_used_once() {
        let pool = Pool::new(3);
        let steady = Slot::new(&pool);
        fill(&steady, 0);
        for value in 1..100 {
            let once = Slot::new(&pool);
            fill(&once, value);
            assert_eq!(fill(&steady, 1000), 0, "after {value} others");
        }
    }

    #[test]
    fn a_value_that_nobody_used_between_two_sweeps_goes() {
        let pool = Pool::new(8);
        let (idle, busy) = (Slot::new(&pool), Slot::new(&pool));
        fill(&idle, 1);
        fill(&busy, 2);
        assert_eq!(pool.sweep(), 0, "both were just used");
        assert_eq!(busy.get().as_deref(), Some(&2));
        assert_eq!(pool.sweep(), 1);
        assert!(idle.value.lock().is_none() && busy.value.lock().is_some());
        assert_eq!(fill(&idle, 3), 3, "it is made again");
        assert_eq!((pool.sweep(), pool.sweep()), (1, 1));
        assert_eq!(pool.kept.lock().len(), 0);
    }

    #[test]
    fn a_value_taken_away_lives_on_with_its_user_and_is_made_anew() {
        let pool = Pool::new(1);
        let first = Slot::new(&pool);
        let held = first.get_or(|| Ok(Arc::new(1))).unwrap();
        first.clear();
        assert_eq!(first.get(), None);
        assert_eq!(fill(&first, 2), 2);
        assert_eq!(*held, 1);
    }
}
