//! What can go wrong before a server runs, and with a connection that we opened. How a served connection ended is
//! [`End`](crate::End), which is no error of the server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::frame::FrameLengthError;

/// Why a server could not start.
#[cfg(feature = "server")]
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Somebody else listens there.
    #[error("listener {listener}: address {address} is already in use")]
    AddressInUse {
        /// The listener's name.
        listener: std::sync::Arc<str>,
        /// The address asked for.
        address: SocketAddr,
    },
    /// The system refused the address.
    #[error("listener {listener}: cannot listen on {address}: {source}")]
    Bind {
        /// The listener's name.
        listener: std::sync::Arc<str>,
        /// The address asked for.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// A thread or its runtime could not be made.
    #[error("cannot start thread {thread}: {source}")]
    Thread {
        /// The thread's name.
        thread: String,
        /// The reason.
        source: io::Error,
    },
    /// The service factory panicked.
    #[error("thread {thread} ended while it started")]
    Factory {
        /// The thread's name.
        thread: String,
    },
    /// A value of the configuration makes no sense.
    #[error("{what} is {value}, but must be at least {min}")]
    TooSmall {
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: usize,
        /// The least that works.
        min: usize,
    },
}

/// Why a connection that we opened cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RequesterError {
    /// The address could not be reached.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The address did not answer in time.
    #[error("no connection to {address} within {limit:?}")]
    ConnectTimedOut {
        /// The address.
        address: SocketAddr,
        /// How long we waited.
        limit: Duration,
    },
    /// Reading or writing failed.
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    /// The peer closed the connection.
    #[error("connection closed by the peer, {missing} bytes short of a frame")]
    Closed {
        /// Bytes that the frame it was sending still lacked; 0 between frames.
        missing: usize,
    },
    /// The peer announced a frame that we do not accept.
    #[error(transparent)]
    Length(#[from] FrameLengthError),
    /// The frame to send is longer than a length can say.
    #[error("a frame of {length} bytes cannot be sent, the limit is {limit}")]
    TooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
}
