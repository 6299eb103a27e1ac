//! One blocking connection that speaks in frames, well-formed or not: bytes as they are, frames, and requests with
//! their answers.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::Request;
use ottla_protocol::header::{decode_response, encode_request, response_correlation_id};

/// How long a test waits for anything that must come.
pub const TIME_MAX: Duration = Duration::from_secs(30);
/// What the connection calls itself.
const CLIENT_ID: &str = "ottla-testkit";

/// A connection to a broker.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    next_correlation_id: i32,
}

impl Connection {
    /// Connects.
    #[must_use]
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, TIME_MAX)
            .unwrap_or_else(|error| panic!("{address} cannot be connected to: {error}"));
        let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(TIME_MAX)));
        set.and_then(|()| stream.set_write_timeout(Some(TIME_MAX))).expect("a socket takes its options");
        Self { stream, next_correlation_id: 1 }
    }

    /// The socket itself.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.try_send_bytes(bytes).expect("the broker takes the bytes");
    }

    /// Sends bytes as they are, to a broker that may have closed the connection.
    ///
    /// # Errors
    ///
    /// When it has.
    pub fn try_send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a frame: its length, then these bytes.
    pub fn send_frame(&mut self, frame: &[u8]) {
        let length = i32::try_from(frame.len()).expect("a test's frame is shorter than 2 GiB");
        let mut bytes = Vec::with_capacity(4 + frame.len());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(frame);
        self.send_bytes(&bytes);
    }

    /// Sends a request and returns its number.
    pub fn send<R: Request>(&mut self, request: &R, version: i16) -> i32 {
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id += 1;
        self.send_frame(&frame(request, version, correlation_id));
        correlation_id
    }

    /// Sends a request to a broker that may be gone, and returns its number; none if it is.
    #[must_use]
    pub fn try_send<R: Request>(&mut self, request: &R, version: i16) -> Option<i32> {
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id += 1;
        let frame = frame(request, version, correlation_id);
        let length = i32::try_from(frame.len()).expect("a test's frame is shorter than 2 GiB");
        let sent = self.try_send_bytes(&[&length.to_be_bytes()[..], &frame].concat());
        sent.ok().map(|()| correlation_id)
    }

    /// Receives the answer to the request of this number, which must be the next one, from a broker that may be gone;
    /// none if it is.
    #[must_use]
    pub fn try_receive<R: Request>(&mut self, version: i16, correlation_id: i32) -> Option<R::Response> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).ok()?;
        let mut frame =
            vec![0; usize::try_from(u32::from_be_bytes(length)).expect("a length fits the memory")];
        self.stream.read_exact(&mut frame).ok()?;
        let frame = Bytes::from(frame);
        let found = response_correlation_id(&frame).expect("a frame begins with the number of its request");
        assert_eq!(found, correlation_id, "answers come in the order of the requests");
        Some(
            decode_response::<R>(frame, version).unwrap_or_else(|error| panic!("{} answer: {error}", R::API)),
        )
    }

    /// Receives the next frame, without its length.
    #[must_use]
    pub fn receive_frame(&mut self) -> Bytes {
        let mut length = [0; 4];
        self.read_exact(&mut length);
        let length = u32::from_be_bytes(length);
        let mut frame = vec![0; usize::try_from(length).expect("a length fits the memory")];
        self.read_exact(&mut frame);
        Bytes::from(frame)
    }

    /// Receives the answer to the request of this number, which must be the next one.
    #[must_use]
    pub fn receive<R: Request>(&mut self, version: i16, correlation_id: i32) -> R::Response {
        let frame = self.receive_frame();
        let found = response_correlation_id(&frame).expect("a frame begins with the number of its request");
        assert_eq!(found, correlation_id, "answers come in the order of the requests");
        decode_response::<R>(frame, version).unwrap_or_else(|error| panic!("{} answer: {error}", R::API))
    }

    /// Sends a request and receives its answer.
    #[must_use]
    pub fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        let correlation_id = self.send(request, version);
        self.receive::<R>(version, correlation_id)
    }

    /// Says that nothing more will be sent. The other side stays open.
    pub fn finish_sending(&mut self) {
        self.stream.shutdown(Shutdown::Write).expect("a connection can be closed in one direction");
    }

    /// Requires that the broker closes the connection without sending anything more.
    pub fn expect_end(&mut self) {
        let mut byte = [0; 1];
        match self.stream.read(&mut byte) {
            Ok(0) => {}
            // The broker closed with bytes of ours unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Ok(_) => panic!("the broker sent {:#04x} instead of closing the connection", byte[0]),
            Err(error) => panic!("the broker has not closed the connection: {error}"),
        }
    }

    /// Requires that the broker sends nothing, and does not close, for so long.
    pub fn expect_silence(&mut self, time: Duration) {
        self.stream.set_read_timeout(Some(time)).expect("a socket takes a timeout");
        let mut byte = [0; 1];
        match self.stream.read(&mut byte) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            other => panic!("the broker was to be silent for {time:?}: {other:?}"),
        }
        self.stream.set_read_timeout(Some(TIME_MAX)).expect("a socket takes a timeout");
    }

    fn read_exact(&mut self, buffer: &mut [u8]) {
        self.stream.read_exact(buffer).unwrap_or_else(|error| panic!("no answer from the broker: {error}"));
    }
}

/// The frame of a request, without its length.
#[must_use]
pub fn frame<R: Request>(request: &R, version: i16, correlation_id: i32) -> Bytes {
    let encoded = encode_request(request, version, correlation_id, Some(CLIENT_ID));
    let encoded = encoded.unwrap_or_else(|error| panic!("{} request: {error}", R::API));
    encoded.into_bytes().unwrap_or_else(|error| panic!("{} request: {error}", R::API))
}
