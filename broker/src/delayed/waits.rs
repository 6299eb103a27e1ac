//! Who waits on one reactor, and for which partitions. Everything here stays on that reactor's thread; other threads
//! reach it only through its ready list (`partition/waiters.rs`).
//!
//! A waiter costs an entry per partition and one deadline. It is told which of its partitions moved; whether that is
//! enough it decides itself, when its connection polls it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::delayed::deadlines::{DeadlineKey, Deadlines};
use crate::partition::Partition;
use crate::partition::waiters::{PartitionKey, ReadyList};

/// One reactor's wait table.
pub(crate) struct Waits {
    reactor: usize,
    ready: Arc<ReadyList>,
    /// Set once: whoever can be answered with what there is no longer waits.
    draining: Cell<bool>,
    partitions: RefCell<HashMap<PartitionKey, Watched>>,
    deadlines: RefCell<Deadlines<Rc<Waiter>>>,
}

/// A partition that somebody here waits for.
struct Watched {
    partition: Arc<Partition>,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
}

struct Entry {
    waiter: Rc<Waiter>,
    /// The partition's place in the waiter's own list.
    place: usize,
}

#[derive(Default)]
struct Waiter {
    patience: Patience,
    expired: Cell<bool>,
    moved: RefCell<Moved>,
    waker: RefCell<Option<Waker>>,
}

/// What becomes of a wait when the broker is about to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Patience {
    /// It ends at once: what there is, is an answer.
    #[default]
    UntilDrain,
    /// It goes on: what it waits for comes soon, and without it there is no answer.
    UntilDeadline,
}

/// The places that moved since the waiter looked, each named once however often it moved.
#[derive(Default)]
struct Moved {
    places: Vec<usize>,
    named: Vec<bool>,
}

/// A registered wait. Dropping it takes the waiter off every list.
pub(crate) struct Watch {
    waits: Rc<Waits>,
    waiter: Rc<Waiter>,
    registrations: Vec<(PartitionKey, usize)>,
    deadline: Option<DeadlineKey>,
}

/// Why a waiter was woken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// These of the watched partitions moved, by their place in the list.
    Moved(Vec<usize>),
    /// The deadline has passed.
    Expired,
}

impl Waits {
    /// The table of one reactor. Its [`drive`](Self::drive) must run on the same thread.
    pub(crate) fn new(reactor: usize, ready: Arc<ReadyList>) -> Rc<Self> {
        Rc::new(Self {
            reactor,
            ready,
            draining: Cell::new(false),
            partitions: RefCell::default(),
            deadlines: RefCell::default(),
        })
    }

    /// Registers a waiter for moves of `partitions`, in this order. The caller looks at the positions after this, not
    /// before: a move in between would be missed.
    pub(crate) fn watch<'a>(
        self: &Rc<Self>,
        partitions: impl Iterator<Item = &'a Arc<Partition>>,
        deadline: Option<Instant>,
        patience: Patience,
    ) -> Watch {
        let waiter = Rc::new(Waiter { patience, ..Waiter::default() });
        waiter.expired.set(self.draining.get() && patience == Patience::UntilDrain);
        let registrations: Vec<_> = partitions
            .enumerate()
            .map(|(place, partition)| self.register(partition, &waiter, place))
            .collect();
        waiter.moved.borrow_mut().named.resize(registrations.len(), false);
        let deadline = deadline.map(|at| {
            let (key, earliest) = self.deadlines.borrow_mut().add(at, Rc::clone(&waiter));
            if earliest {
                self.ready.poke();
            }
            key
        });
        Watch { waits: Rc::clone(self), waiter, registrations, deadline }
    }

    fn register(
        &self,
        partition: &Arc<Partition>,
        waiter: &Rc<Waiter>,
        place: usize,
    ) -> (PartitionKey, usize) {
        let key = partition.key();
        let mut partitions = self.partitions.borrow_mut();
        let watched = partitions.entry(key).or_insert_with(|| {
            partition.waiters().register(self.reactor);
            Watched { partition: Arc::clone(partition), entries: Vec::new(), free: Vec::new() }
        });
        let entry = Some(Entry { waiter: Rc::clone(waiter), place });
        let slot = match watched.free.pop() {
            Some(slot) => {
                watched.entries[slot] = entry;
                slot
            }
            None => {
                watched.entries.push(entry);
                watched.entries.len() - 1
            }
        };
        (key, slot)
    }

    fn unregister(&self, (key, slot): (PartitionKey, usize)) {
        let mut partitions = self.partitions.borrow_mut();
        let Some(watched) = partitions.get_mut(&key) else { return };
        watched.entries[slot] = None;
        watched.free.push(slot);
        if watched.free.len() == watched.entries.len() {
            watched.partition.waiters().unregister(self.reactor);
            partitions.remove(&key);
        }
    }

    /// Hands moves and passed deadlines to the waiters of this reactor, for as long as the reactor runs. Dropping it
    /// leaves every waiter asleep.
    pub(crate) async fn drive(self: Rc<Self>) {
        let mut moved = Vec::new();
        let mut alarm = pin!(tokio::time::sleep_until(Instant::now().into()));
        loop {
            self.ready.take_into(&mut moved);
            for key in moved.drain(..) {
                self.hand_out(key);
            }
            let now = Instant::now();
            self.expire(now);
            let next = self.deadlines.borrow().first();
            let Some(at) = next else {
                self.ready.changed().await;
                continue;
            };
            // An alarm that rings too early costs one more look, setting it anew at each move costs more.
            let set_for = alarm.deadline().into_std();
            if at < set_for || set_for <= now {
                alarm.as_mut().reset(at.into());
            }
            tokio::select! {
                biased;
                () = self.ready.changed() => {}
                () = alarm.as_mut() => {}
            }
        }
    }

    /// The broker is about to stop: ends the waits of those who can be answered with what there is, now and from now
    /// on, as if their deadlines had passed.
    pub(crate) fn drain(&self) {
        self.draining.set(true);
        let waiting: Vec<_> = self.deadlines.borrow().owners().cloned().collect();
        for waiter in waiting.into_iter().filter(|waiter| waiter.patience == Patience::UntilDrain) {
            waiter.expired.set(true);
            waiter.wake();
        }
    }

    fn hand_out(&self, key: PartitionKey) {
        let partitions = self.partitions.borrow();
        // Without an entry the last waiter left after the mark was set. The mark may stay: who registers next looks
        // at the positions itself, and `register` clears it.
        let Some(watched) = partitions.get(&key) else { return };
        watched.partition.waiters().taken(self.reactor);
        for entry in watched.entries.iter().flatten() {
            entry.waiter.partition_moved(entry.place);
        }
    }

    fn expire(&self, now: Instant) {
        loop {
            let expired = self.deadlines.borrow_mut().take_expired(now);
            let Some(waiter) = expired else { return };
            waiter.expired.set(true);
            waiter.wake();
        }
    }
}

impl Waiter {
    fn partition_moved(&self, place: usize) {
        let mut moved = self.moved.borrow_mut();
        if !std::mem::replace(&mut moved.named[place], true) {
            moved.places.push(place);
        }
        drop(moved);
        self.wake();
    }

    /// Wakes with nothing borrowed: whose waker it is, is not known here.
    fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Woken> {
        if self.expired.get() {
            return Poll::Ready(Woken::Expired);
        }
        let mut moved = self.moved.borrow_mut();
        if moved.places.is_empty() {
            *self.waker.borrow_mut() = Some(context.waker().clone());
            return Poll::Pending;
        }
        let places = std::mem::take(&mut moved.places);
        for place in &places {
            moved.named[*place] = false;
        }
        Poll::Ready(Woken::Moved(places))
    }
}

impl Watch {
    /// Waits for the next move or the deadline. Cancelling it loses nothing: a move stays noted.
    pub(crate) async fn woken(&self) -> Woken {
        poll_fn(|context| self.waiter.poll(context)).await
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for registration in self.registrations.drain(..) {
            self.waits.unregister(registration);
        }
        if let Some(key) = self.deadline.take() {
            self.waits.deadlines.borrow_mut().remove(key);
        }
    }
}
