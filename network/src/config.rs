//! What the server is told: typed values, each with its unit. Names and texts of Kafka's properties are the
//! broker's business.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// One address to listen on.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// Its name, which each connection carries.
    pub name: Arc<str>,
    /// Where; port 0 takes a free one.
    pub address: SocketAddr,
}

/// Limits and sizes of a [`Server`](crate::Server).
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen, at least one.
    pub listeners: Vec<ListenerConfig>,
    /// Reactor threads, at least one.
    pub reactors: usize,
    /// Longest frame that is accepted, in bytes (`socket.request.max.bytes`). A longer one closes its connection.
    pub request_bytes_max: usize,
    /// Bytes of frames above [`SMALL_FRAME_BYTES_MAX`](crate::config::SMALL_FRAME_BYTES_MAX) that may be in memory at
    /// once, over all connections (`queued.max.request.bytes`). While none is left, sockets are not read.
    pub request_memory_bytes_max: usize,
    /// Replies of one connection that may be outstanding; beyond it the socket is not read.
    pub replies_in_flight_max: usize,
    /// Bytes in memory of one connection's finished and unsent replies; beyond it the socket is not read.
    pub unsent_bytes_max: usize,
    /// How long a connection may do nothing (`connections.max.idle.ms`).
    pub idle_time_max: Duration,
    /// How long a half-read frame may hold memory of the budget without moving on.
    pub read_stall_time_max: Duration,
    /// How long a peer may leave a reply unread.
    pub write_stall_time_max: Duration,
    /// How long a peer that sends no more is kept for the sake of replies that are not ready; it may have gone.
    pub half_closed_time_max: Duration,
    /// Connections at once (`max.connections`); beyond it none is accepted until one ends.
    pub connections_max: usize,
    /// Connections from one address (`max.connections.per.ip`); one more is closed when accepted.
    pub connections_per_ip_max: usize,
    /// Exceptions from it (`max.connections.per.ip.overrides`).
    pub connections_per_ip_overrides: HashMap<IpAddr, usize>,
    /// Connections the system may keep for us until we accept them (`socket.listen.backlog.size`).
    pub backlog: i32,
    /// Size of the sockets' send buffer (`socket.send.buffer.bytes`); `None` leaves it to the system.
    pub send_buffer_bytes: Option<usize>,
    /// Size of the sockets' receive buffer (`socket.receive.buffer.bytes`); `None` leaves it to the system.
    pub receive_buffer_bytes: Option<usize>,
}

/// Frames up to this length use their connection's own share of memory and take nothing from the budget.
pub const SMALL_FRAME_BYTES_MAX: usize = 16 * 1024;

impl Default for ServerConfig {
    /// Kafka's defaults where it has them, on a free port of the loopback address.
    fn default() -> Self {
        Self {
            listeners: vec![ListenerConfig {
                name: Arc::from("PLAINTEXT"),
                address: SocketAddr::from(([127, 0, 0, 1], 0)),
            }],
            reactors: std::thread::available_parallelism().map_or(1, usize::from),
            request_bytes_max: 100 * 1024 * 1024,
            request_memory_bytes_max: 256 * 1024 * 1024,
            replies_in_flight_max: 128,
            unsent_bytes_max: 1024 * 1024,
            idle_time_max: Duration::from_secs(10 * 60),
            read_stall_time_max: Duration::from_secs(30),
            write_stall_time_max: Duration::from_secs(10 * 60),
            half_closed_time_max: Duration::from_secs(10),
            connections_max: usize::MAX,
            connections_per_ip_max: usize::MAX,
            connections_per_ip_overrides: HashMap::new(),
            backlog: 1024,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
        }
    }
}
