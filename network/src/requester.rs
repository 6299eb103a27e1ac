//! The other side of a connection: sends frames and receives frames, for whoever calls a server. Which reply belongs
//! to which request, and what either means, is the caller's business. Builds wherever tokio does.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::error::RequesterError;
use crate::frame::{FRAME_BYTES_MAX, FRAME_HEAD_BYTES, frame_length};

/// Room made for each read while nothing says that more is coming.
const READ_BYTES: usize = 8 * 1024;

/// Most room made at once for an announced frame: memory follows the bytes that arrive, not those that are claimed.
const READ_STEP_BYTES_MAX: usize = 1024 * 1024;

/// Limits of a [`Requester`].
#[derive(Debug, Clone)]
pub struct RequesterConfig {
    /// Longest frame that is accepted, in bytes.
    pub reply_bytes_max: usize,
    /// How long connecting may take.
    pub connect_time_max: Duration,
}

impl Default for RequesterConfig {
    fn default() -> Self {
        Self { reply_bytes_max: 100 * 1024 * 1024, connect_time_max: Duration::from_secs(10) }
    }
}

/// A connection to a server of frames.
#[derive(Debug)]
pub struct Requester {
    sender: FrameSender<OwnedWriteHalf>,
    receiver: FrameReceiver<OwnedReadHalf>,
    peer: SocketAddr,
    local: SocketAddr,
}

impl Requester {
    /// Connects.
    ///
    /// # Errors
    /// If the address does not answer in time or refuses.
    pub async fn connect(address: SocketAddr, config: &RequesterConfig) -> Result<Self, RequesterError> {
        let failed = |source| RequesterError::Connect { address, source };
        let stream = tokio::time::timeout(config.connect_time_max, TcpStream::connect(address))
            .await
            .map_err(|_| RequesterError::ConnectTimedOut { address, limit: config.connect_time_max })?
            .map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        SockRef::from(&stream).set_keepalive(true).map_err(failed)?;
        let local = stream.local_addr().map_err(failed)?;
        let (read, write) = stream.into_split();
        Ok(Self {
            sender: FrameSender::new(write),
            receiver: FrameReceiver::new(read, config.reply_bytes_max),
            peer: address,
            local,
        })
    }

    /// The server's address.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Our address.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends one frame; see [`FrameSender::send`].
    ///
    /// # Errors
    /// As there.
    pub async fn send(&mut self, pieces: &[Bytes]) -> Result<(), RequesterError> {
        self.sender.send(pieces).await
    }

    /// Receives one frame; see [`FrameReceiver::receive`].
    ///
    /// # Errors
    /// As there.
    pub async fn receive(&mut self) -> Result<Bytes, RequesterError> {
        self.receiver.receive().await
    }

    /// Both directions, to be used at the same time.
    #[must_use]
    pub fn split(self) -> (FrameSender<OwnedWriteHalf>, FrameReceiver<OwnedReadHalf>) {
        (self.sender, self.receiver)
    }
}

/// Writes frames to a stream.
#[derive(Debug)]
pub struct FrameSender<W> {
    stream: W,
    /// Part of a frame has been written and its rest is lost.
    torn: bool,
}

impl<W: AsyncWrite + Unpin> FrameSender<W> {
    /// Over this stream.
    pub const fn new(stream: W) -> Self {
        Self { stream, torn: false }
    }

    /// Sends these pieces as one frame, its length before them.
    ///
    /// Cancelling it, or an error, may leave half a frame in the stream; every later send then fails.
    ///
    /// # Errors
    /// If the frame is empty or too long, or the stream fails.
    pub async fn send(&mut self, pieces: &[Bytes]) -> Result<(), RequesterError> {
        let length = pieces.iter().map(Bytes::len).sum();
        let head = match i32::try_from(length) {
            Ok(head) if head > 0 => head.to_be_bytes(),
            _ => return Err(RequesterError::TooLong { length, limit: FRAME_BYTES_MAX }),
        };
        if std::mem::replace(&mut self.torn, true) {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "an earlier frame was sent in part").into());
        }
        let mut slices = Vec::with_capacity(1 + pieces.len());
        slices.push(IoSlice::new(&head));
        slices.extend(pieces.iter().map(|piece| IoSlice::new(piece)));
        let mut left = slices.as_mut_slice();
        // Empty slices at the front would make a write of nothing look like a closed stream.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let written = self.stream.write_vectored(left).await?;
            if written == 0 {
                return Err(io::Error::from(io::ErrorKind::WriteZero).into());
            }
            IoSlice::advance_slices(&mut left, written);
        }
        self.stream.flush().await?;
        self.torn = false;
        Ok(())
    }

    /// Tells the peer that nothing more will come.
    ///
    /// # Errors
    /// If the stream fails.
    pub async fn close(&mut self) -> Result<(), RequesterError> {
        Ok(self.stream.shutdown().await?)
    }
}

/// Reads frames from a stream.
#[derive(Debug)]
pub struct FrameReceiver<R> {
    stream: R,
    frame_bytes_max: usize,
    received: BytesMut,
}

impl<R: AsyncRead + Unpin> FrameReceiver<R> {
    /// Over this stream, with a limit for each frame in bytes.
    pub fn new(stream: R, frame_bytes_max: usize) -> Self {
        Self { stream, frame_bytes_max, received: BytesMut::new() }
    }

    /// The next frame, without its length.
    ///
    /// Cancelling loses nothing: what has been read is kept for the next call.
    ///
    /// # Errors
    /// If the peer closes, announces a length that is not accepted, or the stream fails; the stream is then of no
    /// further use.
    pub async fn receive(&mut self) -> Result<Bytes, RequesterError> {
        loop {
            let missing = match frame_length(&self.received, self.frame_bytes_max)? {
                None => FRAME_HEAD_BYTES - self.received.len(),
                Some(length) => {
                    let whole = FRAME_HEAD_BYTES + length;
                    if self.received.len() >= whole {
                        self.received.advance(FRAME_HEAD_BYTES);
                        return Ok(self.received.split_to(length).freeze());
                    }
                    whole - self.received.len()
                }
            };
            self.received.reserve(missing.clamp(READ_BYTES, READ_STEP_BYTES_MAX));
            if self.stream.read_buf(&mut self.received).await? == 0 {
                let missing = if self.received.is_empty() { 0 } else { missing };
                return Err(RequesterError::Closed { missing });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(future)
    }

    #[test]
    fn frames_survive_any_cut_of_the_stream() {
        block_on(async {
            for room in [1, 3, 7, 64] {
                let (near, far) = tokio::io::duplex(room);
                let (mut sender, mut receiver) = (FrameSender::new(near), FrameReceiver::new(far, 100));
                let send = async {
                    for length in 1..=20_u8 {
                        let frame = Bytes::from(vec![length; usize::from(length)]);
                        sender.send(&[Bytes::new(), frame.slice(..1), frame.slice(1..)]).await.expect("sent");
                    }
                };
                let receive = async {
                    for length in 1..=20_u8 {
                        let frame = receiver.receive().await.expect("received");
                        assert_eq!(frame, vec![length; usize::from(length)]);
                    }
                };
                tokio::join!(send, receive);
            }
        });
    }

    #[test]
    fn a_stream_that_ends_says_how_much_is_missing() {
        block_on(async {
            for (bytes, missing) in [(&[][..], 0), (&[0, 0], 2), (&[0, 0, 0, 5, 1, 2], 3)] {
                let mut receiver = FrameReceiver::new(bytes, 100);
                match receiver.receive().await {
                    Err(RequesterError::Closed { missing: seen }) => assert_eq!(seen, missing),
                    other => panic!("expected an end, saw {other:?}"),
                }
            }
        });
    }

    #[test]
    fn a_claimed_length_is_refused_or_costs_no_memory_in_advance() {
        block_on(async {
            let mut receiver = FrameReceiver::new(&[0x7f, 0xff, 0xff, 0xff][..], 1000);
            assert!(matches!(receiver.receive().await, Err(RequesterError::Length(_))));
            let mut receiver = FrameReceiver::new(&[0x7f, 0xff, 0xff, 0xff, 1][..], usize::MAX);
            assert!(matches!(receiver.receive().await, Err(RequesterError::Closed { .. })));
            assert!(receiver.received.capacity() <= 2 * READ_STEP_BYTES_MAX);
        });
    }

    #[test]
    fn a_frame_cut_off_by_cancelling_spoils_the_sender() {
        block_on(async {
            let (near, _far) = tokio::io::duplex(8);
            let mut sender = FrameSender::new(near);
            let frame = [Bytes::from(vec![1; 100])];
            {
                let mut send = std::pin::pin!(sender.send(&frame));
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(send.as_mut().poll(&mut context).is_pending());
            }
            assert!(matches!(sender.send(&frame).await, Err(RequesterError::Io(_))));
        });
    }
}
