//! A bounded pool of threads for what may wait: cold reads, loading, recovery. Threads are started when there is work
//! and none is idle, and end after a while without any. It knows nothing of what it runs.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How long a thread waits for another job before it ends.
const THREAD_IDLE_TIME: Duration = Duration::from_secs(10);

/// A job did not run to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The pool is shut down.
    #[error("the blocking pool is shut down")]
    Stopped,
    /// The job panicked.
    #[error("a job of the blocking pool panicked")]
    Panicked,
    /// No thread could be started.
    #[error("the blocking pool has no thread and could not start one")]
    NoThread,
}

/// Runs closures on threads of its own, at most so many at a time and so many in the queue. Clones are the same pool.
#[derive(Debug, Clone)]
pub struct BlockingPool {
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
}

type Job = Box<dyn FnOnce() + Send>;

struct Shared {
    name: String,
    threads_max: AtomicUsize,
    state: Mutex<State>,
    work: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockingPool")
            .field("name", &self.name)
            .field("threads_max", &self.threads_max.load(Ordering::Relaxed))
            .finish()
    }
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    stopped: bool,
}

impl BlockingPool {
    /// A pool whose threads carry this name; no thread is started yet. `waiting_max` jobs may be queued or running.
    #[must_use]
    pub fn new(name: &str, threads_max: usize, waiting_max: usize) -> Self {
        let shared = Shared {
            name: name.to_owned(),
            threads_max: AtomicUsize::new(threads_max.max(1)),
            state: Mutex::default(),
            work: Condvar::new(),
        };
        Self { shared: Arc::new(shared), places: Arc::new(Semaphore::new(waiting_max.max(1))) }
    }

    /// Runs the closure on a thread of the pool; waits for a place in the queue first if it is full.
    ///
    /// Cancelling: before the place is taken, the closure never runs; afterwards it runs to its end, and its result is
    /// dropped.
    ///
    /// # Errors
    /// If the pool is shut down, the closure panics, or the system gives no thread.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| PoolError::Stopped)?;
        let (sender, receiver) = oneshot::channel();
        self.submit(
            place,
            Box::new(move || {
                let result = catch_unwind(AssertUnwindSafe(job)).map_err(|_| PoolError::Panicked);
                // The waiter may have gone; then nobody wants the result.
                drop(sender.send(result));
            }),
        )?;
        receiver.await.unwrap_or(Err(PoolError::Stopped))
    }

    /// Runs the closure on a thread of the pool, and waits for nothing: how many such jobs there are at most is the
    /// caller's affair.
    ///
    /// # Errors
    /// If the pool is shut down, or the system gives no thread.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) -> Result<(), PoolError> {
        self.submit_job(Box::new(move || {
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a job of the blocking pool panicked");
            }
        }))
    }

    /// Changes how many threads there are at most. Threads beyond it end after the job they are at.
    pub fn set_threads_max(&self, threads_max: usize) {
        self.shared.threads_max.store(threads_max.max(1), Ordering::Relaxed);
        self.shared.work.notify_all();
    }

    /// Takes no more jobs, drops those that have not begun (their waiters get [`PoolError::Stopped`]), and lets the
    /// threads end after the job they are at.
    pub fn shut_down(&self) {
        self.places.close();
        let dropped = {
            let mut state = self.shared.state.lock();
            state.stopped = true;
            std::mem::take(&mut state.jobs)
        };
        drop(dropped);
        self.shared.work.notify_all();
    }

    fn submit(&self, place: OwnedSemaphorePermit, job: Job) -> Result<(), PoolError> {
        let job: Job = Box::new(move || {
            job();
            drop(place);
        });
        self.submit_job(job)
    }

    fn submit_job(&self, job: Job) -> Result<(), PoolError> {
        let mut state = self.shared.state.lock();
        if state.stopped {
            return Err(PoolError::Stopped);
        }
        state.jobs.push_back(job);
        // An idle thread may already be on its way to an earlier job, so it is the queue that counts.
        let start = state.jobs.len() > state.idle && state.threads < self.shared.threads_max();
        if start {
            state.threads += 1;
        }
        drop(state);
        self.shared.work.notify_one();
        if start { self.start_thread() } else { Ok(()) }
    }

    fn start_thread(&self) -> Result<(), PoolError> {
        let shared = Arc::clone(&self.shared);
        let started = std::thread::Builder::new().name(shared.name.clone()).spawn(move || shared.work_off());
        if let Err(error) = started {
            let mut state = self.shared.state.lock();
            state.threads -= 1;
            if state.threads == 0 {
                let dropped = std::mem::take(&mut state.jobs);
                drop(state);
                drop(dropped);
                tracing::error!(pool = self.shared.name, %error, "no thread for blocking work");
                return Err(PoolError::NoThread);
            }
        }
        Ok(())
    }
}

impl Shared {
    fn threads_max(&self) -> usize {
        self.threads_max.load(Ordering::Relaxed)
    }

    fn work_off(&self) {
        let mut state = self.state.lock();
        loop {
            // Others are left: a thread ends only while there are more than there may be.
            if state.threads > self.threads_max() && !state.stopped {
                break;
            }
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
                continue;
            }
            if state.stopped {
                break;
            }
            state.idle += 1;
            let timed_out = self.work.wait_for(&mut state, THREAD_IDLE_TIME).timed_out();
            state.idle -= 1;
            if timed_out && state.jobs.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        if !state.jobs.is_empty() {
            self.work.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
    }

    #[test]
    fn a_job_runs_elsewhere_and_returns_its_result() {
        let pool = BlockingPool::new("test-pool", 2, 8);
        let name = block_on(pool.run(|| std::thread::current().name().map(str::to_owned)));
        assert_eq!(name, Ok(Some("test-pool".to_owned())));
    }

    #[test]
    fn a_panic_is_an_error_and_the_pool_goes_on() {
        let pool = BlockingPool::new("test-pool", 1, 8);
        assert_eq!(block_on(pool.run(|| panic!("planted"))), Err::<(), _>(PoolError::Panicked));
        assert_eq!(block_on(pool.run(|| 7)), Ok(7));
    }

    #[test]
    fn jobs_run_at_the_same_time_up_to_the_limit() {
        let pool = BlockingPool::new("test-pool", 2, 8);
        let (to_first, first) = mpsc::channel();
        let (to_second, second) = mpsc::channel();
        // Each waits for a word from the other, so both must be running.
        let sum = block_on(async {
            let one = pool.run(move || {
                to_second.send(1).expect("the second runs");
                first.recv().expect("a word from the second")
            });
            let two = pool.run(move || {
                to_first.send(2).expect("the first runs");
                second.recv().expect("a word from the first")
            });
            let (one, two) = tokio::join!(one, two);
            one.expect("ran") + two.expect("ran")
        });
        assert_eq!(sum, 3);
    }

    #[test]
    fn the_limit_of_threads_can_be_changed() {
        let pool = BlockingPool::new("test-pool", 1, 8);
        let (to_first, first) = mpsc::channel();
        let (to_second, second) = mpsc::channel();
        let sum = block_on(async {
            let one = pool.run(move || {
                to_second.send(1).expect("the second runs");
                first.recv().expect("a word from the second")
            });
            pool.set_threads_max(2);
            let two = pool.run(move || {
                to_first.send(2).expect("the first runs");
                second.recv().expect("a word from the first")
            });
            let (one, two) = tokio::join!(one, two);
            one.expect("ran") + two.expect("ran")
        });
        assert_eq!(sum, 3);
        pool.set_threads_max(1);
        assert_eq!(block_on(pool.run(|| 7)), Ok(7), "fewer threads still work");
    }

    #[test]
    fn a_pool_that_is_shut_down_refuses_and_drops_what_has_not_begun() {
        let pool = BlockingPool::new("test-pool", 1, 8);
        let (go, gate) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        block_on(async {
            let running = pool.run(move || {
                begun.send(()).expect("the test listens");
                gate.recv().expect("the gate opens");
                1
            });
            let queued = pool.run(|| 2);
            let stop = async {
                has_begun.recv().expect("the first job begins");
                pool.shut_down();
                go.send(()).expect("the job waits");
            };
            // The runtime polls in this order, so the jobs are queued before the pool is shut down.
            let (running, queued, ()) = tokio::join!(biased; running, queued, stop);
            assert_eq!(running, Ok(1));
            assert_eq!(queued, Err(PoolError::Stopped));
            assert_eq!(pool.run(|| 3).await, Err(PoolError::Stopped));
        });
    }
}
