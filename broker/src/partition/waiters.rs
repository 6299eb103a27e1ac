//! Which reactors have somebody waiting for a partition, and the list through which a reactor learns that one moved.
//!
//! A move never wakes waiters one by one across threads: it marks the partition in the ready list of each reactor
//! that asked, once, and wakes that reactor once. Who waits there, and for what, only that reactor knows
//! (`delayed/waits.rs`).
//!
//! Why no wake-up is lost. A reactor first sets its bit in `interested`, then looks at the positions; a mover first
//! moves the positions under their lock, then reads `interested`. Whichever took the positions' lock second sees what
//! the other did before taking it. A mover that finds `marked` set relies on a drain that is still to come: the drain
//! clears `marked` before it looks at the positions, and the clearing reads the mover's own write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// So many reactors have their bits in one word of a partition's marks.
const REACTORS_PER_WORD: usize = u64::BITS as usize;

/// The number by which wait tables know a partition, unique while the process lives: a topic that is deleted and
/// made anew gets another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PartitionKey(pub(crate) u64);

/// What one reactor has to look at.
#[derive(Debug, Default)]
pub(crate) struct ReadyList {
    moved: Mutex<Vec<PartitionKey>>,
    notify: Notify,
}

impl ReadyList {
    fn push(&self, key: PartitionKey) {
        self.moved.lock().push(key);
        self.notify.notify_one();
    }

    /// Exchanges the filled list with an empty one, so that its memory is used again.
    pub(crate) fn take_into(&self, empty: &mut Vec<PartitionKey>) {
        empty.clear();
        std::mem::swap(&mut *self.moved.lock(), empty);
    }

    /// Wakes the reactor without a partition, to look at its deadlines.
    pub(crate) fn poke(&self) {
        self.notify.notify_one();
    }

    pub(crate) async fn changed(&self) {
        self.notify.notified().await;
    }
}

/// The ready lists of all reactors.
#[derive(Debug, Clone)]
pub(crate) struct ReadyLists {
    lists: Arc<[Arc<ReadyList>]>,
}

impl ReadyLists {
    /// One list for each of `reactors` threads.
    pub(crate) fn new(reactors: usize) -> Self {
        Self { lists: (0..reactors).map(|_| Arc::new(ReadyList::default())).collect() }
    }

    pub(crate) fn of(&self, reactor: usize) -> Option<Arc<ReadyList>> {
        self.lists.get(reactor).cloned()
    }
}

/// A partition's side: a bit for each reactor that waits and for each that was told already.
#[derive(Debug)]
pub(crate) struct Waiters {
    /// One for every 64 reactors: on most machines one.
    words: Box<[Word]>,
    ready: ReadyLists,
}

/// The bits of 64 reactors.
#[derive(Debug, Default)]
struct Word {
    interested: AtomicU64,
    marked: AtomicU64,
}

impl Waiters {
    pub(crate) fn new(ready: ReadyLists) -> Self {
        let words = ready.lists.len().div_ceil(REACTORS_PER_WORD);
        Self { words: (0..words).map(|_| Word::default()).collect(), ready }
    }

    /// A reactor wants to hear of moves. Only that reactor's thread sets and clears its bit. A mark that nobody was
    /// left to take is cleared, else the next move would count as told already.
    pub(crate) fn register(&self, reactor: usize) {
        let (word, bit) = self.place(reactor);
        word.interested.fetch_or(bit, Ordering::AcqRel);
        self.taken(reactor);
    }

    /// Nobody waits on that reactor any more.
    pub(crate) fn unregister(&self, reactor: usize) {
        let (word, bit) = self.place(reactor);
        word.interested.fetch_and(!bit, Ordering::AcqRel);
    }

    /// The reactor has taken the partition off its ready list and looks at it now.
    pub(crate) fn taken(&self, reactor: usize) {
        let (word, bit) = self.place(reactor);
        word.marked.fetch_and(!bit, Ordering::AcqRel);
    }

    /// Something that a waiter may wait for has moved.
    pub(crate) fn moved(&self, key: PartitionKey) {
        for (word, lists) in self.words.iter().zip(self.ready.lists.chunks(REACTORS_PER_WORD)) {
            let mut interested = word.interested.load(Ordering::Acquire);
            while interested != 0 {
                let reactor = interested.trailing_zeros();
                let bit = 1_u64 << reactor;
                interested &= !bit;
                if word.marked.fetch_or(bit, Ordering::AcqRel) & bit == 0
                    && let Some(list) = lists.get(reactor as usize)
                {
                    list.push(key);
                }
            }
        }
    }

    /// A reactor's word, and its bit there.
    fn place(&self, reactor: usize) -> (&Word, u64) {
        let word =
            self.words.get(reactor / REACTORS_PER_WORD).expect("a reactor has a ready list and so a bit");
        (word, 1 << (reactor % REACTORS_PER_WORD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(list: &ReadyList) -> Vec<PartitionKey> {
        let mut keys = Vec::new();
        list.take_into(&mut keys);
        keys
    }

    #[test]
    fn a_move_reaches_only_the_reactors_that_asked_and_each_once() {
        let ready = ReadyLists::new(3);
        let waiters = Waiters::new(ready.clone());
        waiters.register(0);
        waiters.register(2);
        waiters.moved(PartitionKey(7));
        waiters.moved(PartitionKey(7));
        let lists: Vec<_> = (0..3).filter_map(|reactor| ready.of(reactor)).map(|list| taken(&list)).collect();
        assert_eq!(lists, [vec![PartitionKey(7)], vec![], vec![PartitionKey(7)]]);
    }

    #[test]
    fn each_of_many_reactors_has_a_bit_of_its_own() {
        let ready = ReadyLists::new(130);
        let waiters = Waiters::new(ready.clone());
        for reactor in [1, 64, 129] {
            waiters.register(reactor);
        }
        waiters.moved(PartitionKey(7));
        let told = |reactor: &usize| ready.of(*reactor).is_some_and(|list| !taken(&list).is_empty());
        assert_eq!((0..130).filter(told).collect::<Vec<_>>(), [1, 64, 129]);
        waiters.unregister(129);
        waiters.taken(64);
        waiters.moved(PartitionKey(7));
        assert_eq!((0..130).filter(told).collect::<Vec<_>>(), [64]);
    }

    #[test]
    fn a_partition_that_was_taken_is_marked_again_by_the_next_move() {
        let ready = ReadyLists::new(1);
        let waiters = Waiters::new(ready.clone());
        let list = ready.of(0).expect("one reactor has a list");
        waiters.register(0);
        waiters.moved(PartitionKey(1));
        assert_eq!(taken(&list).len(), 1);
        waiters.taken(0);
        waiters.moved(PartitionKey(1));
        assert_eq!(taken(&list).len(), 1);
        waiters.taken(0);
        waiters.unregister(0);
        waiters.moved(PartitionKey(1));
        assert!(taken(&list).is_empty());
    }

    #[test]
    fn no_move_is_lost_between_a_look_and_a_wait() {
        const MOVES: u64 = 20_000;
        let ready = ReadyLists::new(1);
        let list = ready.of(0).expect("one reactor has a list");
        let waiters = Waiters::new(ready);
        // Behind a lock, as a partition's positions are: the argument above rests on it.
        let position = Mutex::new(0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for moved_to in 1..=MOVES {
                    *position.lock() = moved_to;
                    waiters.moved(PartitionKey(1));
                }
            });
            let mut keys = Vec::new();
            let mut seen = 0;
            while seen < MOVES {
                waiters.register(0);
                let now = *position.lock();
                if now == seen {
                    let told = runtime.block_on(async {
                        tokio::time::timeout(std::time::Duration::from_secs(30), list.changed()).await
                    });
                    told.unwrap_or_else(|_| panic!("nobody told of the move beyond {seen}"));
                    list.take_into(&mut keys);
                    waiters.taken(0);
                }
                seen = *position.lock();
                waiters.unregister(0);
            }
        });
    }
}
