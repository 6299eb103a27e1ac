//! One thread that tells machines when something of theirs is due. It sleeps until the earliest deadline of all and is
//! poked when an earlier one comes up, so a request that moves a deadline costs two loads and no lock.
//!
//! Why none is missed. Before the thread looks at the deadlines it sets `sleeping_until` to the largest time, so that
//! whoever sets a deadline meanwhile pokes it; only after its look it says until when it sleeps. A deadline that is set
//! after the look reached it is therefore followed by a read of either value, and pokes if it is the earlier one.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// No deadline.
pub(super) const NEVER: i64 = i64::MAX;

/// The thread's bed.
#[derive(Debug)]
pub(super) struct Alarm {
    sleeping_until: AtomicI64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    poked: bool,
    stopping: bool,
}

impl Alarm {
    pub(super) fn new() -> Self {
        Self { sleeping_until: AtomicI64::new(NEVER), state: Mutex::default(), changed: Condvar::new() }
    }

    /// A deadline was set to this time, after it was stored where `earliest` looks.
    pub(super) fn set(&self, at_ms: i64) {
        if at_ms < self.sleeping_until.load(Ordering::SeqCst) {
            self.poke();
        }
    }

    /// Ends the sleep, to look at the deadlines anew.
    pub(super) fn poke(&self) {
        self.state.lock().poked = true;
        self.changed.notify_one();
    }

    pub(super) fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_one();
    }

    /// Sleeps until the earliest deadline has passed; false when it is time to end.
    pub(super) fn sleep(&self, now_ms: &dyn Fn() -> i64, earliest: &dyn Fn() -> i64) -> bool {
        loop {
            self.sleeping_until.store(NEVER, Ordering::SeqCst);
            let until = earliest();
            let mut state = self.state.lock();
            if state.stopping {
                return false;
            }
            if std::mem::take(&mut state.poked) {
                continue;
            }
            let now = now_ms();
            if until <= now {
                return true;
            }
            self.sleeping_until.store(until, Ordering::SeqCst);
            let wait = Duration::from_millis(u64::try_from(until - now).unwrap_or(0));
            match Instant::now().checked_add(wait).filter(|_| until != NEVER) {
                Some(at) => {
                    self.changed.wait_until(&mut state, at);
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_earlier_deadline_ends_the_sleep_and_so_does_a_stop() {
        let alarm = Arc::new(Alarm::new());
        let deadline = Arc::new(AtomicI64::new(NEVER));
        let (woken, is_woken) = std::sync::mpsc::channel();
        let begin = Instant::now();
        let clock = move || i64::try_from(begin.elapsed().as_millis()).expect("a test is short");
        let sleeper = std::thread::spawn({
            let (alarm, deadline) = (Arc::clone(&alarm), Arc::clone(&deadline));
            move || {
                while alarm.sleep(&clock, &|| deadline.load(Ordering::SeqCst)) {
                    deadline.store(NEVER, Ordering::SeqCst);
                    woken.send(()).expect("the test listens");
                }
            }
        });
        for _ in 0..200 {
            deadline.store(clock(), Ordering::SeqCst);
            alarm.set(deadline.load(Ordering::SeqCst));
            is_woken.recv_timeout(Duration::from_secs(30)).expect("the deadline is seen");
        }
        alarm.stop();
        sleeper.join().expect("the sleeper ends");
    }
}
