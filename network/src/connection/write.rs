//! The sending half of a connection: replies to bytes on the socket. Memory goes out by one vectored write, files by
//! `sendfile` in steps, never before the step is in the page cache. The order was fixed by the ring.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;

use super::End;
use crate::blocking::{BlockingPool, PoolError};
use crate::metrics::{ReactorMetrics, add};
use crate::sendfile::{self, FILE_STEP_BYTES, Probe, WARM_BYTES};
use crate::service::{FileSlice, Piece, Reply};

/// Pieces up to this length are copied together; a slice in the vector costs about as much.
const COPIED_BYTES_MAX: usize = 4 * 1024;

/// Pieces of files up to this length are read and copied: one call instead of two probes, a send and a sendfile.
const COPIED_FILE_BYTES_MAX: usize = 16 * 1024;

/// Slices handed to one vectored write.
const SLICES_MAX: usize = 32;

/// Room made at first for small pieces.
const GATHER_BYTES: usize = 512;

/// Accepted and not yet sent.
#[derive(Default)]
pub(crate) struct Output {
    queue: VecDeque<Chunk>,
    /// Small pieces behind the queue, copied together.
    gather: BytesMut,
    memory_bytes: usize,
    files: usize,
    warming: Option<Warming>,
    /// Since the connection began, and all of which has gone in the end.
    accepted_bytes: u64,
    sent_bytes: u64,
}

enum Chunk {
    Memory(Bytes),
    File(FileChunk),
}

struct FileChunk {
    slice: FileSlice,
    /// Bytes at the slice's front that are known to be cached.
    cached: u64,
}

type Warming = Pin<Box<dyn Future<Output = Result<io::Result<()>, PoolError>>>>;

/// What a call to [`Output::poll_send`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Everything has gone.
    All,
    /// Something has gone; there may be more.
    Some,
    /// The turn's share of files has gone; others are to run first.
    Turn,
}

impl Output {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.gather.is_empty()
    }

    /// Bytes in memory that wait to be sent.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Bytes that were taken to be sent since the connection began, heads included.
    pub(crate) fn accepted_bytes(&self) -> u64 {
        self.accepted_bytes
    }

    /// Those of them that have gone.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Some of what waits lies in files.
    pub(crate) fn has_files(&self) -> bool {
        self.files > 0
    }

    /// It is the disk that is waited for, not the peer.
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.warming.is_some()
    }

    /// Takes a reply, its length before it.
    pub(crate) fn accept(&mut self, reply: Reply) -> Result<(), End> {
        let Some(length) = reply.length() else { return Ok(()) };
        let Ok(head) = i32::try_from(length) else { return Err(End::ReplyTooLong) };
        let head = head.to_be_bytes();
        self.accepted_bytes += head.len() as u64 + length;
        self.copy(&head);
        for piece in reply.into_pieces() {
            match piece {
                Piece::Bytes(bytes) if bytes.len() <= COPIED_BYTES_MAX => self.copy(&bytes),
                Piece::Bytes(bytes) => {
                    self.memory_bytes += bytes.len();
                    self.seal();
                    self.queue.push_back(Chunk::Memory(bytes));
                }
                Piece::File(slice) => self.accept_file(slice),
            }
        }
        Ok(())
    }

    /// Sends as much as one call sends.
    pub(crate) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut TcpStream,
        pool: &BlockingPool,
        metrics: &ReactorMetrics,
        file_bytes_left: &mut u64,
    ) -> Poll<Result<Sent, End>> {
        self.seal();
        match self.queue.front() {
            None => {
                // A burst must not be remembered by an idle connection.
                self.queue.shrink_to(CHUNKS_KEPT);
                return Poll::Ready(Ok(Sent::All));
            }
            Some(Chunk::Memory(_)) => {
                let sent = ready!(self.poll_send_memory(cx, stream)).map_err(|_| End::ConnectionFailed)?;
                add(&metrics.bytes_out, sent as u64);
                self.sent_bytes += sent as u64;
                self.advance_memory(sent);
            }
            Some(Chunk::File(_)) => {
                if *file_bytes_left == 0 {
                    return Poll::Ready(Ok(Sent::Turn));
                }
                ready!(self.poll_cached(cx, pool, metrics))?;
                let sent = ready!(self.poll_send_file(cx, stream, *file_bytes_left, metrics))?;
                add(&metrics.bytes_out, sent);
                self.sent_bytes += sent;
                add(&metrics.file_bytes_out, sent);
                *file_bytes_left -= sent;
            }
        }
        Poll::Ready(Ok(if self.is_empty() { Sent::All } else { Sent::Some }))
    }

    fn copy(&mut self, bytes: &[u8]) {
        if self.gather.capacity() == 0 {
            self.gather.reserve(GATHER_BYTES.max(bytes.len()));
        }
        self.gather.extend_from_slice(bytes);
        self.memory_bytes += bytes.len();
    }

    fn accept_file(&mut self, slice: FileSlice) {
        if slice.length == 0 {
            return;
        }
        if let Ok(length) = usize::try_from(slice.length)
            && length <= COPIED_FILE_BYTES_MAX
        {
            let before = self.gather.len();
            self.gather.resize(before + length, 0);
            let room = self.gather.get_mut(before..).unwrap_or_default();
            if matches!(sendfile::read_cached(&slice.file, room, slice.position), Ok(read) if read == length)
            {
                self.memory_bytes += length;
                return;
            }
            // Cold, cut or failing: it takes the long way, which tells these apart.
            self.gather.truncate(before);
        }
        self.seal();
        self.queue.push_back(Chunk::File(FileChunk { slice, cached: 0 }));
        self.files += 1;
    }

    fn seal(&mut self) {
        if !self.gather.is_empty() {
            self.queue.push_back(Chunk::Memory(std::mem::take(&mut self.gather).freeze()));
        }
    }

    fn poll_send_memory(&self, cx: &mut Context<'_>, stream: &mut TcpStream) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        let mut file_follows = false;
        for chunk in &self.queue {
            match (chunk, slices.get_mut(count)) {
                (Chunk::Memory(bytes), Some(slice)) => {
                    *slice = IoSlice::new(bytes);
                    count += 1;
                }
                (Chunk::Memory(_), None) => break,
                (Chunk::File(_), _) => {
                    file_follows = true;
                    break;
                }
            }
        }
        let slices = slices.get(..count).unwrap_or_default();
        if !file_follows {
            return Pin::new(stream).poll_write_vectored(cx, slices);
        }
        // The file's first bytes are to share a packet with what stands before them.
        poll_write_with(cx, stream, |stream| {
            Ok(sendmsg(
                stream.as_fd(),
                slices,
                &mut SendAncillaryBuffer::default(),
                SendFlags::MORE | SendFlags::NOSIGNAL,
            )?)
        })
    }

    fn advance_memory(&mut self, mut sent: usize) {
        self.memory_bytes -= sent;
        while let Some(Chunk::Memory(bytes)) = self.queue.front_mut() {
            if sent < bytes.len() {
                bytes.advance(sent);
                return;
            }
            sent -= bytes.len();
            self.queue.pop_front();
            if sent == 0 {
                return;
            }
        }
    }

    /// Ready once some of the file at the front is in the page cache.
    fn poll_cached(
        &mut self,
        cx: &mut Context<'_>,
        pool: &BlockingPool,
        metrics: &ReactorMetrics,
    ) -> Poll<Result<(), End>> {
        let Some(Chunk::File(FileChunk { slice, cached })) = self.queue.front_mut() else {
            return Poll::Ready(Ok(()));
        };
        if *cached > 0 {
            return Poll::Ready(Ok(()));
        }
        if self.warming.is_none() {
            let step = slice.length.min(FILE_STEP_BYTES);
            match sendfile::probe(&slice.file, slice.position, step) {
                Ok(Probe::Cached) => {
                    *cached = step;
                    return Poll::Ready(Ok(()));
                }
                Ok(Probe::Cut) => return Poll::Ready(Err(End::FileCut)),
                Ok(Probe::Cold) => {}
                Err(error) => return Poll::Ready(Err(file_failed(&error, metrics))),
            }
            add(&metrics.cold_file_steps, 1);
            let (pool, file) = (pool.clone(), Arc::clone(&slice.file));
            let (position, length) = (slice.position, slice.length.min(WARM_BYTES));
            self.warming =
                Some(Box::pin(
                    async move { pool.run(move || sendfile::warm(&file, position, length)).await },
                ));
        }
        let Some(warming) = &mut self.warming else { return Poll::Ready(Ok(())) };
        let warmed = ready!(warming.as_mut().poll(cx));
        self.warming = None;
        Poll::Ready(match warmed {
            Ok(Ok(())) => {
                // Not probed again: under memory pressure that could go round for ever.
                *cached = slice.length.min(WARM_BYTES);
                Ok(())
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Err(End::FileCut),
            Ok(Err(error)) => Err(file_failed(&error, metrics)),
            Err(error) => Err(file_failed(&io::Error::other(error), metrics)),
        })
    }

    fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut TcpStream,
        bytes_max: u64,
        metrics: &ReactorMetrics,
    ) -> Poll<Result<u64, End>> {
        let Some(Chunk::File(FileChunk { slice, cached })) = self.queue.front_mut() else {
            return Poll::Ready(Ok(0));
        };
        let sent = ready!(poll_write_with(cx, stream, |stream| {
            sendfile::send(stream.as_fd(), &slice.file, slice.position, (*cached).min(bytes_max))
        }));
        match sent {
            Ok(0) => Poll::Ready(Err(End::FileCut)),
            Ok(sent) => {
                let sent = sent as u64;
                slice.position += sent;
                slice.length -= sent;
                *cached -= sent;
                if slice.length == 0 {
                    self.queue.pop_front();
                    self.files -= 1;
                }
                Poll::Ready(Ok(sent))
            }
            Err(error) if matches!(error.raw_os_error(), Some(code) if code == rustix::io::Errno::IO.raw_os_error()) => {
                Poll::Ready(Err(file_failed(&error, metrics)))
            }
            Err(_) => Poll::Ready(Err(End::ConnectionFailed)),
        }
    }
}

/// Chunks whose memory an empty queue keeps.
const CHUNKS_KEPT: usize = 4;

fn file_failed(error: &io::Error, metrics: &ReactorMetrics) -> End {
    if let Some(left_out) = metrics.file_failures.due() {
        tracing::warn!(%error, left_out, "a file could not be read for a reply, and its connection is closed: look at the disk");
    }
    End::FileFailed
}

/// Makes a system call on the socket as soon as it is writable.
fn poll_write_with(
    cx: &mut Context<'_>,
    stream: &TcpStream,
    mut call: impl FnMut(&TcpStream) -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(cx))?;
        match stream.try_io(Interest::WRITABLE, || call(stream)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}
