//! Takes connections from the listeners and hands each to the reactor that has fewest. The limits on their number are
//! kept here, by guards that fall with the connection however it ends. Reads no byte of any.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use socket2::SockRef;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Notify, watch};

use crate::config::ServerConfig;
use crate::error::StartError;
use crate::metrics::{AcceptorMetrics, add};
use crate::reactor::ReactorHandle;
use crate::repeats::Repeats;
use crate::server::{Ready, start_thread};
use crate::service::ConnectionInfo;
use crate::shutdown::Phase;

/// Pause after a failure that is ours, such as having no descriptor left; the system keeps who waits.
const ACCEPT_RETRY_TIME: Duration = Duration::from_millis(50);

/// A socket that listens.
#[derive(Debug)]
pub(crate) struct BoundListener {
    pub(crate) name: Arc<str>,
    pub(crate) address: SocketAddr,
    pub(crate) socket: TcpListener,
}

/// A connection on its way to a reactor.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    pub(crate) info: ConnectionInfo,
    pub(crate) slot: ConnectionSlot,
}

pub(crate) struct Acceptor {
    pub(crate) listeners: Vec<BoundListener>,
    pub(crate) reactors: Vec<ReactorHandle>,
    pub(crate) slots: Arc<ConnectionSlots>,
    pub(crate) metrics: Arc<AcceptorMetrics>,
    pub(crate) phase: watch::Receiver<Phase>,
}

impl Acceptor {
    pub(crate) fn start(self) -> Result<std::thread::JoinHandle<()>, StartError> {
        start_thread("ottla-acceptor", move |ready| {
            let runtime =
                match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                    Ok(runtime) => runtime,
                    Err(error) => {
                        drop(ready.send(Err(error)));
                        return;
                    }
                };
            runtime.block_on(self.run(ready));
        })
    }

    async fn run(self, ready: Ready) {
        let Self { listeners, reactors, slots, metrics, mut phase } = self;
        let desk = Arc::new(Desk {
            reactors,
            slots,
            metrics,
            next_id: AtomicUsize::new(0),
            accept_warnings: Repeats::default(),
            address_warnings: Repeats::default(),
            total_warnings: Repeats::default(),
        });
        for listener in listeners {
            match tokio::net::TcpListener::from_std(listener.socket) {
                Ok(socket) => {
                    tokio::task::spawn_local(accept_from(listener.name, socket, Arc::clone(&desk)));
                }
                Err(error) => {
                    drop(ready.send(Err(error)));
                    return;
                }
            }
        }
        drop(ready.send(Ok(())));
        // An error means that the handle is gone, which also ends the server. Returning drops the listeners.
        drop(phase.wait_for(|phase| *phase != Phase::Serving).await);
    }
}

/// What the listeners' tasks share.
struct Desk {
    reactors: Vec<ReactorHandle>,
    slots: Arc<ConnectionSlots>,
    metrics: Arc<AcceptorMetrics>,
    next_id: AtomicUsize,
    accept_warnings: Repeats,
    address_warnings: Repeats,
    total_warnings: Repeats,
}

async fn accept_from(listener: Arc<str>, socket: tokio::net::TcpListener, desk: Arc<Desk>) {
    loop {
        match socket.accept().await.and_then(|(stream, peer)| Ok((stream.into_std()?, peer))) {
            Ok((stream, peer)) => desk.admit(&listener, stream, peer).await,
            // The peer gave up while it waited.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => {
                add(&desk.metrics.accept_failures, 1);
                if let Some(left_out) = desk.accept_warnings.due() {
                    tracing::warn!(%listener, %error, left_out, "cannot accept connections; trying on");
                }
                tokio::time::sleep(ACCEPT_RETRY_TIME).await;
            }
        }
    }
}

impl Desk {
    /// Waits for a slot if all are taken; then nobody else is accepted on this listener either.
    async fn admit(&self, listener: &Arc<str>, stream: TcpStream, peer: SocketAddr) {
        let Some(of_address) = self.slots.take_address(peer.ip()) else {
            add(&self.metrics.refused_per_ip, 1);
            if let Some(left_out) = self.address_warnings.due() {
                tracing::warn!(%listener, %peer, left_out, "connection refused: its address has as many as it may");
            }
            return;
        };
        let local = match prepare(&stream) {
            Ok(local) => local,
            // It has gone already.
            Err(error) => {
                tracing::debug!(%listener, %peer, %error, "connection lost before it was served");
                return;
            }
        };
        if self.slots.is_full()
            && let Some(left_out) = self.total_warnings.due()
        {
            let connections = self.slots.open();
            tracing::warn!(%listener, connections, left_out, "as many connections as there may be: others wait until one ends");
        }
        let in_total = self.slots.take_total().await;
        let Some(reactor) = self.reactors.iter().min_by_key(|reactor| reactor.load.get()) else { return };
        let slot =
            ConnectionSlot { _of_address: of_address, _in_total: in_total, _of_reactor: reactor.load.take() };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) as u64;
        let info = ConnectionInfo { id, listener: Arc::clone(listener), peer, local };
        // A reactor that has ended drops the connection, and with it the slot.
        drop(reactor.inbox.send(Accepted { stream, info, slot }));
    }
}

/// Sets what holds for the socket's whole life. It does not block already.
fn prepare(stream: &TcpStream) -> io::Result<SocketAddr> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_keepalive(true)?;
    stream.local_addr()
}

/// How many connections there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptLimits {
    /// At once (`max.connections`).
    pub connections_max: usize,
    /// From one address (`max.connections.per.ip`).
    pub connections_per_ip_max: usize,
    /// Exceptions from it (`max.connections.per.ip.overrides`).
    pub connections_per_ip_overrides: HashMap<IpAddr, usize>,
}

/// Counts of open connections, and their limits, which may change; a connection that is open stays so.
#[derive(Debug)]
pub struct ConnectionSlots {
    state: Mutex<SlotsState>,
    freed: Notify,
}

#[derive(Debug)]
struct SlotsState {
    limits: AcceptLimits,
    open: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl ConnectionSlots {
    pub(crate) fn new(config: &ServerConfig) -> Arc<Self> {
        let limits = AcceptLimits {
            connections_max: config.connections_max,
            connections_per_ip_max: config.connections_per_ip_max,
            connections_per_ip_overrides: config.connections_per_ip_overrides.clone(),
        };
        let state =
            SlotsState { limits: with_canonical_addresses(limits), open: 0, by_address: HashMap::new() };
        Arc::new(Self { state: Mutex::new(state), freed: Notify::new() })
    }

    /// Sets other limits from now on.
    pub fn set_limits(&self, limits: AcceptLimits) {
        self.state.lock().limits = with_canonical_addresses(limits);
        // Whoever begins to wait at this very moment finds the second one.
        self.freed.notify_waiters();
        self.freed.notify_one();
    }

    /// Connections open now.
    pub(crate) fn open(&self) -> usize {
        self.state.lock().open
    }

    fn is_full(&self) -> bool {
        let state = self.state.lock();
        state.open >= state.limits.connections_max
    }

    async fn take_total(self: &Arc<Self>) -> TotalSlot {
        loop {
            let freed = self.freed.notified();
            {
                let mut state = self.state.lock();
                if state.open < state.limits.connections_max {
                    state.open += 1;
                    return TotalSlot(Arc::clone(self));
                }
            }
            freed.await;
        }
    }

    fn take_address(self: &Arc<Self>, address: IpAddr) -> Option<AddressSlot> {
        let address = address.to_canonical();
        let mut state = self.state.lock();
        let limits = &state.limits;
        let exception = limits.connections_per_ip_overrides.get(&address).copied();
        let max = exception.unwrap_or(limits.connections_per_ip_max);
        let open = state.by_address.get(&address).copied().unwrap_or(0);
        if open >= max {
            return None;
        }
        state.by_address.insert(address, open + 1);
        Some(AddressSlot { slots: Arc::clone(self), address })
    }
}

fn with_canonical_addresses(limits: AcceptLimits) -> AcceptLimits {
    let overrides = limits.connections_per_ip_overrides.into_iter();
    let overrides = overrides.map(|(address, max)| (address.to_canonical(), max)).collect();
    AcceptLimits { connections_per_ip_overrides: overrides, ..limits }
}

/// A connection's place in every count; dropping it frees them all.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    _of_address: AddressSlot,
    _in_total: TotalSlot,
    _of_reactor: LoadSlot,
}

#[derive(Debug)]
struct TotalSlot(Arc<ConnectionSlots>);

impl Drop for TotalSlot {
    fn drop(&mut self) {
        self.0.state.lock().open -= 1;
        self.0.freed.notify_one();
    }
}

#[derive(Debug)]
struct AddressSlot {
    slots: Arc<ConnectionSlots>,
    address: IpAddr,
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        let by_address = &mut self.slots.state.lock().by_address;
        match by_address.get_mut(&self.address) {
            Some(open) if *open > 1 => *open -= 1,
            _ => {
                by_address.remove(&self.address);
            }
        }
    }
}

/// How many connections a reactor has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Load(Arc<AtomicUsize>);

impl Load {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn take(&self) -> LoadSlot {
        self.0.fetch_add(1, Ordering::Relaxed);
        LoadSlot(self.clone())
    }
}

#[derive(Debug)]
struct LoadSlot(Load);

impl Drop for LoadSlot {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_own_limit_and_its_slots_return() {
        let exempt = IpAddr::from([10, 0, 0, 2]);
        let config = ServerConfig {
            connections_per_ip_max: 2,
            connections_per_ip_overrides: HashMap::from([(exempt, 1)]),
            ..ServerConfig::default()
        };
        let slots = ConnectionSlots::new(&config);
        let usual = IpAddr::from([10, 0, 0, 1]);
        let mapped = IpAddr::V6(std::net::Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped());
        let first = slots.take_address(usual).expect("below the limit");
        let second = slots.take_address(mapped).expect("below the limit");
        assert!(slots.take_address(usual).is_none());
        let third = slots.take_address(exempt).expect("below the limit");
        assert!(slots.take_address(exempt).is_none());
        drop(first);
        let fourth = slots.take_address(usual).expect("one has gone");
        slots.set_limits(AcceptLimits {
            connections_max: 1,
            connections_per_ip_max: 3,
            connections_per_ip_overrides: HashMap::new(),
        });
        let fifth = slots.take_address(usual).expect("there may be more now");
        drop((second, third, fourth, fifth));
        assert!(slots.state.lock().by_address.is_empty());
    }

    #[test]
    fn whoever_waits_for_a_place_gets_one_when_there_are_more() {
        let slots = ConnectionSlots::new(&ServerConfig { connections_max: 1, ..ServerConfig::default() });
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let first = slots.take_total().await;
            assert!(slots.is_full());
            let raise = async {
                slots.set_limits(AcceptLimits {
                    connections_max: 2,
                    connections_per_ip_max: 1,
                    connections_per_ip_overrides: HashMap::new(),
                });
            };
            let (second, ()) = tokio::join!(slots.take_total(), raise);
            assert_eq!(slots.open(), 2);
            drop((first, second));
        });
        assert_eq!(slots.open(), 0);
    }
}
