//! A reactor: one OS thread, one local runtime, one service, and the connections handed to it. It decides nothing
//! about a connection beyond its life; that is connection's.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::thread::JoinHandle;

use bytes::BytesMut;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Notify, mpsc, watch};

use crate::acceptor::{Accepted, Load};
use crate::admission::Admission;
use crate::blocking::BlockingPool;
use crate::config::ServerConfig;
use crate::connection;
use crate::error::StartError;
use crate::metrics::ReactorMetrics;
use crate::server::{Ready, start_thread};
use crate::service::Service;
use crate::shutdown::Phase;

/// What a service is told about the reactor it lives on. Another thread that has something for the reactor keeps a
/// `Send` handle of the service's own making, for instance an `Arc` of a list and a [`tokio::sync::Notify`] that a
/// task spawned here waits on.
#[derive(Debug, Clone)]
pub struct ReactorContext {
    index: usize,
    reactors: usize,
    pool: BlockingPool,
    _stays_on_its_thread: PhantomData<Rc<()>>,
}

impl ReactorContext {
    /// Which reactor this is, from 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// How many reactors there are.
    #[must_use]
    pub const fn reactors(&self) -> usize {
        self.reactors
    }

    /// The pool for what may wait for a disk.
    #[must_use]
    pub const fn pool(&self) -> &BlockingPool {
        &self.pool
    }

    /// Runs a task beside the connections, on this thread, until it ends or the reactor does. To be called on the
    /// reactor's thread, which includes the service factory.
    pub fn spawn_local(&self, task: impl Future<Output = ()> + 'static) {
        drop(tokio::task::spawn_local(task));
    }
}

/// A running reactor, as the acceptor sees it.
#[derive(Debug)]
pub(crate) struct ReactorHandle {
    pub(crate) inbox: mpsc::UnboundedSender<Accepted>,
    pub(crate) load: Load,
    pub(crate) metrics: Arc<ReactorMetrics>,
}

/// What a reactor is made of.
pub(crate) struct ReactorPlan {
    pub(crate) index: usize,
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) pool: BlockingPool,
    pub(crate) admission: Admission,
    pub(crate) phase: watch::Receiver<Phase>,
}

/// What the connections of a reactor share.
pub(crate) struct Reactor {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) pool: BlockingPool,
    pub(crate) admission: Admission,
    pub(crate) metrics: Arc<ReactorMetrics>,
    /// Where sockets are read into. Its length is 0 between reads, its capacity what the last read left.
    pub(crate) block: RefCell<BytesMut>,
    /// Set once: nothing more is read.
    pub(crate) draining: Cell<bool>,
    live: RefCell<HashMap<u64, Waker>>,
    one_ended: Notify,
}

impl ReactorHandle {
    /// Starts the thread; its result is the number of connections that were cut off at the deadline.
    pub(crate) fn start<S, F>(
        plan: ReactorPlan,
        factory: Arc<F>,
    ) -> Result<(Self, JoinHandle<usize>), StartError>
    where
        S: Service,
        F: Fn(&ReactorContext) -> S + Send + Sync + 'static,
    {
        let (inbox, accepted) = mpsc::unbounded_channel();
        let metrics = Arc::new(ReactorMetrics::default());
        let handle = Self { inbox, load: Load::default(), metrics: Arc::clone(&metrics) };
        let name = format!("ottla-reactor-{}", plan.index);
        let thread = start_thread(&name, move |ready| run(plan, metrics, accepted, &*factory, ready))?;
        Ok((handle, thread))
    }
}

fn run<S, F>(
    plan: ReactorPlan,
    metrics: Arc<ReactorMetrics>,
    accepted: mpsc::UnboundedReceiver<Accepted>,
    factory: &F,
    ready: Ready,
) -> usize
where
    S: Service,
    F: Fn(&ReactorContext) -> S,
{
    let runtime = match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
        Ok(runtime) => runtime,
        Err(error) => {
            drop(ready.send(Err(error)));
            return 0;
        }
    };
    let ReactorPlan { index, config, pool, admission, phase } = plan;
    let context = ReactorContext {
        index,
        reactors: config.reactors,
        pool: pool.clone(),
        _stays_on_its_thread: PhantomData,
    };
    runtime.block_on(async move {
        let Ok(service) = catch_unwind(AssertUnwindSafe(|| factory(&context))) else { return 0 };
        let reactor = Rc::new(Reactor {
            config,
            pool,
            admission,
            metrics,
            block: RefCell::default(),
            draining: Cell::new(false),
            live: RefCell::default(),
            one_ended: Notify::new(),
        });
        drop(ready.send(Ok(())));
        reactor.serve(Rc::new(service), accepted, phase).await
    })
}

impl Reactor {
    async fn serve<S: Service>(
        self: &Rc<Self>,
        service: Rc<S>,
        mut accepted: mpsc::UnboundedReceiver<Accepted>,
        mut phase: watch::Receiver<Phase>,
    ) -> usize {
        loop {
            tokio::select! {
                Some(Accepted { stream, info, slot }) = accepted.recv() => {
                    let life = connection::Life::begin(Rc::clone(self), info.id, slot);
                    tokio::task::spawn_local(connection::serve(Rc::clone(&service), life, stream, info));
                }
                // An error means that the handle is gone; then there is no time to wait either.
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => break,
            }
        }
        // Who was accepted and not yet served goes unserved.
        drop(accepted);
        self.draining.set(true);
        if catch_unwind(AssertUnwindSafe(|| service.drain())).is_err() {
            tracing::error!("the service panicked when it was told to drain");
        }
        // A waker may run code of its task's neighbours; it is called with nothing borrowed.
        let wakers: Vec<Waker> = self.live.borrow().values().cloned().collect();
        wakers.into_iter().for_each(Waker::wake);
        self.all_ended_or_deadline(phase).await;
        self.live.borrow().len()
    }

    async fn all_ended_or_deadline(&self, mut phase: watch::Receiver<Phase>) {
        while !self.live.borrow().is_empty() {
            let deadline = match *phase.borrow_and_update() {
                Phase::Draining(deadline) => deadline,
                Phase::Serving => return,
            };
            tokio::select! {
                () = self.one_ended.notified() => {}
                () = tokio::time::sleep_until(deadline.into()) => return,
                changed = phase.changed() => if changed.is_err() { return },
            }
        }
    }

    pub(crate) fn connection_began(&self, id: u64) {
        self.live.borrow_mut().insert(id, Waker::noop().clone());
    }

    /// From now on the connection is woken by this waker when the reactor drains.
    pub(crate) fn connection_polled(&self, id: u64, waker: &Waker) {
        if let Some(kept) = self.live.borrow_mut().get_mut(&id) {
            kept.clone_from(waker);
        }
    }

    pub(crate) fn connection_ended(&self, id: u64) {
        self.live.borrow_mut().remove(&id);
        if self.draining.get() {
            self.one_ended.notify_one();
        }
    }
}
