//! The network layer: frames in, replies out, in order. It knows a length prefix and nothing else of Kafka; what a
//! frame means is the business of a [`Service`].
//!
//! - [`Server`] binds listeners and starts the reactors: N OS threads, each with a local runtime and one service of
//!   its own. An acceptor hands every socket to the reactor that has fewest. One task and one ring of replies serve a
//!   connection; no task, channel or timer is made for a request.
//! - [`BlockingPool`] is where a reactor sends what may wait for a disk.
//! - [`Requester`] is the other side of a connection. It is there without the feature `server`, on any system.
//!
//! Lock order: none of the locks here is held while another is taken, nor across an `.await`.

#[cfg(feature = "server")]
mod acceptor;
#[cfg(feature = "server")]
mod admission;
#[cfg(feature = "server")]
mod blocking;
#[cfg(feature = "server")]
mod config;
#[cfg(feature = "server")]
mod connection;
mod error;
mod frame;
#[cfg(feature = "server")]
mod metrics;
#[cfg(feature = "server")]
mod reactor;
#[cfg(feature = "server")]
mod repeats;
mod requester;
#[cfg(feature = "server")]
mod sendfile;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod service;
#[cfg(feature = "server")]
mod shutdown;

#[cfg(feature = "server")]
pub use acceptor::{AcceptLimits, ConnectionSlots};
pub use blocking::{BlockingPool, PoolError};
#[cfg(feature = "server")]
pub use config::{ListenerConfig, SMALL_FRAME_BYTES_MAX, ServerConfig};
#[cfg(feature = "server")]
pub use connection::End;
pub use error::RequesterError;
#[cfg(feature = "server")]
pub use error::StartError;
pub use frame::{FRAME_HEAD_BYTES, FrameLengthError};
#[cfg(feature = "server")]
pub use metrics::{NetworkMeters, NetworkSnapshot};
#[cfg(feature = "server")]
pub use reactor::ReactorContext;
#[cfg(feature = "server")]
pub use repeats::{REPEATS_PAUSE, Repeats, RepeatsBy};
pub use requester::{FrameReceiver, FrameSender, Requester, RequesterConfig};
#[cfg(feature = "server")]
pub use server::Server;
#[cfg(feature = "server")]
pub use service::{
    ConnectionInfo, ConnectionLimits, Course, FileSlice, LaterReply, Outcome, Piece, Reply, Service, Then,
};
#[cfg(feature = "server")]
pub use shutdown::{ServerHandle, ShutdownReport};
