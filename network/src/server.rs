//! Binding and starting: the sockets first, so that a taken port is known before anything else is done and a free one
//! has its number; the threads later. Stopping is shutdown.rs's.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::watch;

use crate::acceptor::{Acceptor, BoundListener, ConnectionSlots};
use crate::admission::Admission;
use crate::blocking::BlockingPool;
use crate::config::{ListenerConfig, ServerConfig};
use crate::error::StartError;
use crate::metrics::AcceptorMetrics;
use crate::reactor::{ReactorContext, ReactorHandle, ReactorPlan};
use crate::service::Service;
use crate::shutdown::{Phase, ServerHandle};

/// A server whose sockets are bound and that serves nobody yet; the system keeps who connects meanwhile.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    listeners: Vec<BoundListener>,
}

impl Server {
    /// Binds every listener.
    ///
    /// # Errors
    /// If an address is taken or not ours, or a limit is too small to work.
    pub fn bind(config: ServerConfig) -> Result<Self, StartError> {
        for (what, value) in [
            ("the number of listeners", config.listeners.len()),
            ("the number of reactors", config.reactors),
            ("the request limit in bytes", config.request_bytes_max),
            ("the memory for requests in bytes", config.request_memory_bytes_max),
            ("the number of replies in flight", config.replies_in_flight_max),
            ("the limit of unsent bytes", config.unsent_bytes_max),
            ("the number of connections", config.connections_max),
        ] {
            if value == 0 {
                return Err(StartError::TooSmall { what, value, min: 1 });
            }
        }
        let listeners =
            config.listeners.iter().map(|listener| bind(listener, &config)).collect::<Result<_, _>>()?;
        Ok(Self { config, listeners })
    }

    /// The listeners' names and addresses, in the order of the configuration; ports that were 0 have their number.
    pub fn local_addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.listeners.iter().map(|listener| (&*listener.name, listener.address))
    }

    /// Starts the reactors, each with a service that the factory makes on the reactor's own thread, and then accepts.
    /// The pool warms what lies cold in files; the caller keeps it and may use it for more.
    ///
    /// # Errors
    /// If a thread cannot be made or the factory panics; whatever had been started is stopped again.
    pub fn start<S, F>(self, pool: BlockingPool, factory: F) -> Result<ServerHandle, StartError>
    where
        S: Service,
        F: Fn(&ReactorContext) -> S + Send + Sync + 'static,
    {
        let Self { config, listeners } = self;
        let addresses =
            listeners.iter().map(|listener| (Arc::clone(&listener.name), listener.address)).collect();
        let (phase, watched) = watch::channel(Phase::Serving);
        let admission = Admission::new(config.request_memory_bytes_max);
        let slots = ConnectionSlots::new(&config);
        let acceptor_metrics = Arc::new(AcceptorMetrics::default());
        let mut handle = ServerHandle::new(
            addresses,
            phase,
            admission.clone(),
            Arc::clone(&slots),
            Arc::clone(&acceptor_metrics),
        );
        let config = Arc::new(config);
        let factory = Arc::new(factory);
        let mut reactors = Vec::with_capacity(config.reactors);
        for index in 0..config.reactors {
            let plan = ReactorPlan {
                index,
                config: Arc::clone(&config),
                pool: pool.clone(),
                admission: admission.clone(),
                phase: watched.clone(),
            };
            let (reactor, thread) = ReactorHandle::start(plan, Arc::clone(&factory))?;
            handle.add_reactor(thread, Arc::clone(&reactor.metrics));
            reactors.push(reactor);
        }
        let acceptor = Acceptor { listeners, reactors, slots, metrics: acceptor_metrics, phase: watched };
        handle.add_acceptor(acceptor.start()?);
        Ok(handle)
    }
}

fn bind(listener: &ListenerConfig, config: &ServerConfig) -> Result<BoundListener, StartError> {
    let ListenerConfig { name, address } = listener;
    let bound = listen(*address, config).and_then(|socket| {
        Ok(BoundListener { name: Arc::clone(name), address: socket.local_addr()?, socket })
    });
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => {
            StartError::AddressInUse { listener: Arc::clone(name), address: *address }
        }
        _ => StartError::Bind { listener: Arc::clone(name), address: *address, source },
    })
}

fn listen(address: SocketAddr, config: &ServerConfig) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait until the connections of the last run have left TIME_WAIT.
    socket.set_reuse_address(true)?;
    // Accepted sockets inherit the sizes, and the window is negotiated by them, so they are set before `listen`.
    if let Some(bytes) = config.send_buffer_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = config.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(config.backlog)?;
    Ok(socket.into())
}

/// How a started thread tells that it is ready; dropping it unsent says that it will never be.
pub(crate) type Ready = mpsc::SyncSender<io::Result<()>>;

/// Starts a named thread and waits until it says that it is ready.
pub(crate) fn start_thread<T: Send + 'static>(
    name: &str,
    body: impl FnOnce(Ready) -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>, StartError> {
    let (ready, is_ready) = mpsc::sync_channel(1);
    let failed = |source| StartError::Thread { thread: name.to_owned(), source };
    let thread =
        std::thread::Builder::new().name(name.to_owned()).spawn(move || body(ready)).map_err(failed)?;
    match is_ready.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(source)) => Err(failed(source)),
        Err(mpsc::RecvError) => Err(StartError::Factory { thread: name.to_owned() }),
    }
}
