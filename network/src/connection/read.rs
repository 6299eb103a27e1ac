//! The receiving half of a connection: bytes to frames. Small frames are slices of the reactor's block; large ones
//! get memory of the budget first and a buffer of their own. What a frame means is not known here.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::admission::{Admission, Share, ShareWait, bind};
use crate::config::SMALL_FRAME_BYTES_MAX;
use crate::frame::{FRAME_HEAD_BYTES, FrameLengthError, frame_length};

/// Bytes that one read of small frames takes at most.
const BLOCK_BYTES: usize = 64 * 1024;

/// With less room than this left in it, the block is replaced.
const BLOCK_ROOM_MIN: usize = 16 * 1024;

/// Room made at first for a large frame, whatever it claims; doubled as the bytes arrive.
const BODY_STEP_BYTES: usize = 1024 * 1024;

/// A frame that holds memory of the budget has moved on once this many more bytes of it are there.
const PROGRESS_BYTES: usize = 16 * 1024;

const _: () = assert!(SMALL_FRAME_BYTES_MAX + FRAME_HEAD_BYTES <= BLOCK_BYTES);

/// Received and not yet dispatched.
#[derive(Default)]
pub(crate) struct Input {
    /// Heads and small frames.
    pending: BytesMut,
    /// `pending` is a slice of the reactor's block and keeps all of it in memory.
    of_block: bool,
    stage: Stage,
    /// The last frame was large, so the next may be: its head is read alone, and its body straight into its buffer.
    after_large: bool,
}

#[derive(Default)]
enum Stage {
    /// `pending` begins with a head, as far as it has come.
    #[default]
    Head,
    /// A large frame's head is there, and its share is waited for.
    Waiting { length: usize, share: ShareWait },
    /// A large frame is being read.
    Body(Box<Body>),
}

struct Body {
    /// Up to a head more than the frame: under load the next one's length comes with the same read.
    bytes: BytesMut,
    length: usize,
    share: Share,
    progress_mark: usize,
}

/// What a read did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Bytes read; 0 at the end of the stream.
    pub(crate) bytes: usize,
    /// It counts as moving on; a few bytes of a frame that holds memory do not.
    pub(crate) progress: bool,
}

impl Input {
    /// The next frame that is there whole. `None`: more must be received, or (see [`Self::waits_for_memory`]) the
    /// context will be woken once there is memory.
    pub(crate) fn next_frame(
        &mut self,
        cx: &mut Context<'_>,
        bytes_max: usize,
        admission: &Admission,
    ) -> Result<Option<Bytes>, FrameLengthError> {
        loop {
            match &mut self.stage {
                Stage::Head => {
                    let Some(length) = frame_length(&self.pending, bytes_max)? else { return Ok(None) };
                    if length <= SMALL_FRAME_BYTES_MAX {
                        if self.pending.len() < FRAME_HEAD_BYTES + length {
                            return Ok(None);
                        }
                        self.after_large = false;
                        return Ok(Some(self.take_pending(length)));
                    }
                    self.after_large = true;
                    match admission.try_take(length) {
                        Some(share) => {
                            if let Some(frame) = self.begin_body(length, share) {
                                return Ok(Some(frame));
                            }
                        }
                        None => self.stage = Stage::Waiting { length, share: admission.take(length) },
                    }
                }
                Stage::Waiting { length, share } => {
                    let Poll::Ready(share) = share.as_mut().poll(cx) else { return Ok(None) };
                    let length = *length;
                    if let Some(frame) = self.begin_body(length, share) {
                        return Ok(Some(frame));
                    }
                }
                Stage::Body(body) => {
                    if body.bytes.len() < body.length {
                        return Ok(None);
                    }
                    let Stage::Body(body) = std::mem::take(&mut self.stage) else {
                        unreachable!("matched above")
                    };
                    let Body { mut bytes, length, share, .. } = *body;
                    self.pending.extend_from_slice(bytes.get(length..).unwrap_or_default());
                    bytes.truncate(length);
                    return Ok(Some(bind(bytes.freeze(), share)));
                }
            }
        }
    }

    /// Nothing has been received beyond the last frame.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_at_head() && self.pending.is_empty()
    }

    /// No large frame has begun.
    pub(crate) fn is_at_head(&self) -> bool {
        matches!(self.stage, Stage::Head)
    }

    /// The next frame's head is there, but no memory for it.
    pub(crate) fn waits_for_memory(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. })
    }

    /// Gives up the place in the queue for memory; the next call of [`Self::next_frame`] takes a new one.
    pub(crate) fn stop_waiting(&mut self) {
        if self.waits_for_memory() {
            self.stage = Stage::Head;
        }
    }

    /// A frame holds memory of the budget.
    pub(crate) fn holds_memory(&self) -> bool {
        matches!(self.stage, Stage::Body(_))
    }

    /// A frame holds memory of the budget and is not whole.
    pub(crate) fn lacks_body(&self) -> bool {
        matches!(&self.stage, Stage::Body(body) if body.bytes.len() < body.length)
    }

    /// Receives once. To be called only when [`Self::next_frame`] has nothing more.
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut TcpStream,
        block: &mut BytesMut,
    ) -> Poll<io::Result<Received>> {
        self.leave_block();
        // No buffer is touched before there is something to put into it.
        ready!(stream.poll_read_ready(cx))?;
        if let Stage::Body(body) = &mut self.stage {
            let bytes = ready!(body.poll_receive(cx, stream))?;
            let progress = body.bytes.len() >= body.progress_mark || body.bytes.len() >= body.length;
            if progress {
                body.progress_mark = body.bytes.len() + PROGRESS_BYTES;
            }
            return Poll::Ready(Ok(Received { bytes, progress }));
        }
        let bytes = if self.after_large && self.pending.len() < FRAME_HEAD_BYTES {
            let missing = FRAME_HEAD_BYTES - self.pending.len();
            self.pending.reserve(missing);
            let mut head = (&mut self.pending).limit(missing);
            ready!(pin!(stream.read_buf(&mut head)).poll(cx))?
        } else {
            ready!(self.poll_receive_block(cx, stream, block))?
        };
        Poll::Ready(Ok(Received { bytes, progress: true }))
    }

    /// Lets go of the reactor's block, before the connection waits for something.
    pub(crate) fn leave_block(&mut self) {
        if self.of_block {
            self.pending = BytesMut::from(&*self.pending);
            self.of_block = false;
        }
    }

    fn take_pending(&mut self, length: usize) -> Bytes {
        self.pending.advance(FRAME_HEAD_BYTES);
        self.pending.split_to(length).freeze()
    }

    /// Goes on with the frame in a buffer of its own, unless all of it has come with the head.
    fn begin_body(&mut self, length: usize, share: Share) -> Option<Bytes> {
        self.stage = Stage::Head;
        if self.pending.len() >= FRAME_HEAD_BYTES + length {
            return Some(bind(self.take_pending(length), share));
        }
        let mut bytes = BytesMut::with_capacity(length.min(BODY_STEP_BYTES) + FRAME_HEAD_BYTES);
        bytes.extend_from_slice(self.pending.get(FRAME_HEAD_BYTES..).unwrap_or_default());
        self.pending = BytesMut::new();
        self.of_block = false;
        let progress_mark = bytes.len() + PROGRESS_BYTES;
        self.stage = Stage::Body(Box::new(Body { bytes, length, share, progress_mark }));
        None
    }

    fn poll_receive_block(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut TcpStream,
        block: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        debug_assert!(block.is_empty());
        // While nobody holds a slice of it, the same warm memory serves again.
        if !block.try_reclaim(BLOCK_BYTES) && block.capacity() < self.pending.len() + BLOCK_ROOM_MIN {
            block.reserve(BLOCK_BYTES);
        }
        block.extend_from_slice(&self.pending);
        match pin!(stream.read_buf(block)).poll(cx) {
            Poll::Ready(Ok(bytes)) if bytes > 0 => {
                self.pending = block.split();
                self.of_block = true;
                Poll::Ready(Ok(bytes))
            }
            other => {
                block.clear();
                other
            }
        }
    }
}

impl Body {
    fn poll_receive(&mut self, cx: &mut Context<'_>, stream: &mut TcpStream) -> Poll<io::Result<usize>> {
        let missing = self.length + FRAME_HEAD_BYTES - self.bytes.len();
        if self.bytes.capacity() == self.bytes.len() {
            self.bytes.reserve(missing.min(self.bytes.len()));
        }
        let mut bytes = (&mut self.bytes).limit(missing);
        pin!(stream.read_buf(&mut bytes)).poll(cx)
    }
}
