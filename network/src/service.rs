//! What a server of frames must offer, and what it answers with. The words of the seam between the network and the
//! broker; nothing here touches a socket.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

/// Turns frames into replies. Each reactor has one instance of its own, made by the factory that
/// [`Server::start`](crate::Server::start) is given; it never leaves its thread and need not be `Send`.
pub trait Service: 'static {
    /// What the service keeps for each connection: client, principal, session.
    type Connection: 'static;

    /// A connection has been accepted. Called on the reactor that will serve it.
    fn connect(&self, info: &ConnectionInfo) -> Self::Connection;

    /// Takes one frame (without its length). The future resolves once the request's place is fixed in every order
    /// that it takes part in (each log it appends to); only then is the connection's next frame dispatched. What the
    /// answer still waits for is [`Outcome::Later`].
    ///
    /// The bytes of the frame count against the server's memory budget until the last slice of them is dropped: let
    /// go of them as soon as they are used, and copy what outlives the request.
    ///
    /// The future is part of its connection's task, idle or not, so its size is paid for each connection: what is
    /// large and rarely waits is better boxed.
    ///
    /// Cancelling: a connection that ends awaits its dispatch first, so that a request is done whole or not at all;
    /// only the end of the reactor (a shutdown past its deadline) drops the future.
    fn dispatch(&self, connection: &mut Self::Connection, frame: Bytes) -> impl Future<Output = Outcome>;

    /// The bytes of the frames that are dispatched next came at this time. Called once for each receipt.
    fn received(&self, _connection: &mut Self::Connection, _at: Instant) {}

    /// The system has taken the last byte of a reply that bore this course, or there was nothing to send. Not called for
    /// replies that never left.
    fn sent(&self, _connection: &Self::Connection, _course: &Course, _at: Instant) {}

    /// What holds for the connection at present; asked before each frame. A limit that stands in the way of those
    /// who have not logged in is set here.
    fn limits(&self, _connection: &Self::Connection) -> ConnectionLimits {
        ConnectionLimits::default()
    }

    /// How the log speaks of this connection, for instance its client and its last request, when a request of its
    /// panicked.
    fn describe(&self, _connection: &Self::Connection) -> String {
        String::new()
    }

    /// The connection has ended, for whatever reason, its unanswered replies dropped. Not called at a shutdown past
    /// its deadline.
    fn disconnect(&self, _connection: Self::Connection) {}

    /// The server is going to stop: replies that wait for something that may take long are to be answered now. Called
    /// once, on the reactor.
    fn drain(&self) {}
}

/// Who is at the other end.
#[derive(Debug, Clone)]
pub struct ConnectionInfo {
    /// Unique within the server's run.
    pub id: u64,
    /// Name of the listener that accepted it.
    pub listener: Arc<str>,
    /// Address of the peer.
    pub peer: SocketAddr,
    /// Our own address, as the peer reached it.
    pub local: SocketAddr,
}

/// Limits that a connection's state decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionLimits {
    /// A limit for the next frame that is tighter than the server's own, in bytes.
    pub request_bytes_max: Option<usize>,
    /// The next frame waits until every earlier one is answered.
    pub one_at_a_time: bool,
}

/// A reply that is not ready yet. It is passive: what it waits for moves on whether it is polled or not, and it may
/// be dropped at any time. It is polled only once every earlier reply of its connection has been taken.
pub type LaterReply = Pin<Box<dyn Future<Output = Reply>>>;

/// What became of a frame.
pub enum Outcome {
    /// The answer.
    Ready(Reply),
    /// The answer will come.
    Later(LaterReply),
}

impl Outcome {
    /// An answer that is still to come.
    pub fn later(reply: impl Future<Output = Reply> + 'static) -> Self {
        Self::Later(Box::pin(reply))
    }
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self::Ready(reply)
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(reply) => f.debug_tuple("Ready").field(reply).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

/// One frame to send, without its length, which the network adds; and what follows.
#[derive(Debug, Clone)]
pub struct Reply {
    body: Body,
    then: Then,
    course: Option<Course>,
}

/// When a request was at which point. A service that wants to know when an answer has left gives it along with the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// The service's own mark for what was asked.
    pub tag: u32,
    /// Its bytes came.
    pub received: Instant,
    /// From then until its turn came, in nanoseconds.
    pub begun_ns: u64,
    /// From then until it was dealt with: its answer was there, or had to wait for others.
    pub handled_ns: u64,
    /// From then until its answer was there.
    pub ready_ns: u64,
}

#[derive(Debug, Clone)]
enum Body {
    Nothing,
    One(Bytes),
    Many(Vec<Piece>),
}

impl Reply {
    /// No answer at all, not even an empty frame.
    #[must_use]
    pub const fn nothing() -> Self {
        Self::of(Body::Nothing)
    }

    /// A frame of these bytes.
    #[must_use]
    pub const fn bytes(frame: Bytes) -> Self {
        Self::of(Body::One(frame))
    }

    /// A frame of these pieces, one after the other.
    #[must_use]
    pub const fn pieces(pieces: Vec<Piece>) -> Self {
        Self::of(Body::Many(pieces))
    }

    /// The same answer, followed by something else.
    #[must_use]
    pub fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    /// No answer, and the connection is closed.
    #[must_use]
    pub const fn close() -> Self {
        Self { body: Body::Nothing, then: Then::Close, course: None }
    }

    const fn of(body: Body) -> Self {
        Self { body, then: Then::Continue, course: None }
    }

    /// The same answer, of which the service is told when it has left.
    #[must_use]
    pub const fn with_course(mut self, course: Course) -> Self {
        self.course = Some(course);
        self
    }

    pub(crate) const fn course(&self) -> Option<Course> {
        self.course
    }

    /// What follows the answer.
    #[must_use]
    pub const fn what_follows(&self) -> Then {
        self.then
    }

    /// Length of the frame that will be sent, without its head; `None` if nothing is sent.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match &self.body {
            Body::Nothing => None,
            Body::One(bytes) => Some(bytes.len() as u64),
            Body::Many(pieces) => Some(pieces.iter().map(Piece::length).sum()),
        }
    }

    /// Bytes of it that lie in memory rather than in a file.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.body {
            Body::Nothing => 0,
            Body::One(bytes) => bytes.len(),
            Body::Many(pieces) => pieces.iter().map(Piece::memory_bytes).sum(),
        }
    }

    /// Takes it apart; empty if nothing is sent.
    #[must_use]
    pub fn into_pieces(self) -> Vec<Piece> {
        match self.body {
            Body::Nothing => Vec::new(),
            Body::One(bytes) => vec![Piece::Bytes(bytes)],
            Body::Many(pieces) => pieces,
        }
    }
}

/// Part of a reply.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes of a file, sent without being copied through the process.
    File(FileSlice),
}

impl Piece {
    /// Its length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(slice) => slice.length,
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File(_) => 0,
        }
    }
}

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<FileSlice> for Piece {
    fn from(slice: FileSlice) -> Self {
        Self::File(slice)
    }
}

/// A range of a file. The file may grow meanwhile, but the range must stay as it is: if the file turns out shorter,
/// the connection is closed, since the announced length can no longer be kept.
#[derive(Debug, Clone)]
pub struct FileSlice {
    /// The file, open for reading.
    pub file: Arc<File>,
    /// Where the range begins.
    pub position: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// What follows a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Then {
    /// The next one.
    #[default]
    Continue,
    /// The answer goes out at once; then the connection is not read for this long.
    Mute(Duration),
    /// The connection is closed after the answer, and the replies behind it are dropped.
    Close,
}
