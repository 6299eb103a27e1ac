//! What a connection does when it is woken, without its service: which half is due, and when it must look at itself
//! again. Limits that hold for one connection are kept here; what is read is dispatched by the caller.

use std::future::Future;
use std::net::Shutdown;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use socket2::SockRef;
use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::end::End;
use super::leaving::Leaving;
use super::read::Input;
use super::ring::{ReplyPanicked, Ring};
use super::write::{Output, Sent};
use crate::metrics::add;
use crate::reactor::Reactor;
use crate::sendfile::FILE_STEP_BYTES;
use crate::service::{ConnectionLimits, Course, Outcome, Reply, Then};

/// Bytes received in one turn, before others run.
const TURN_BYTES: usize = 256 * 1024;

/// Frames dispatched in one turn, before others run.
const TURN_FRAMES: usize = 128;

/// Bytes thrown away at an orderly close, so that they do not make the system tear up the last reply.
const DISCARD_BYTES_MAX: usize = 256 * 1024;

/// What the connection does next.
pub(super) enum Turn {
    Frame(Bytes),
    Yield,
    End(End),
}

/// How far answering got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answering {
    /// Everything that is ready has been sent.
    Done,
    /// The socket or the disk is waited for, and the context will be woken.
    Waiting,
    /// Others are to run first.
    Turn,
}

/// What a deadline is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// The connection is read again.
    Unmute,
    /// Nobody will read the replies that are not ready: they make room for the frames behind them.
    Forget,
    /// The connection ends.
    End(End),
}

/// A connection without its service: socket, both halves, and what the limits need.
pub(super) struct Io {
    reactor: Rc<Reactor>,
    stream: TcpStream,
    id: u64,
    known_to_reactor: bool,
    input: Input,
    ring: Ring,
    output: Output,
    /// A reply in the ring closes or mutes, so nothing is dispatched behind it.
    held: bool,
    muted_until: Option<Instant>,
    /// The last reply has been accepted.
    closing: bool,
    /// Nothing more is received, for this reason.
    input_over: Option<End>,
    /// Since when the peer is known to send no more, although frames of its own wait to be dispatched.
    silent_since: Option<Instant>,
    /// The connection cannot go on; known while something else was awaited.
    failed: Option<End>,
    received_in_turn: usize,
    frames_in_turn: usize,
    /// When bytes last moved, in either direction, or the connection last was busy.
    active_at: Instant,
    received_at: Instant,
    sent_at: Instant,
    /// When bytes came that nobody was told of.
    untold_receipt: Option<Instant>,
    leaving: Leaving,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Io {
    pub(super) fn new(reactor: Rc<Reactor>, stream: TcpStream, id: u64) -> Self {
        let now = Instant::now();
        Self {
            reactor,
            stream,
            id,
            known_to_reactor: false,
            input: Input::default(),
            ring: Ring::default(),
            output: Output::default(),
            held: false,
            muted_until: None,
            closing: false,
            input_over: None,
            silent_since: None,
            failed: None,
            received_in_turn: 0,
            frames_in_turn: 0,
            active_at: now,
            received_at: now,
            sent_at: now,
            untold_receipt: None,
            leaving: Leaving::default(),
            timer: None,
        }
    }

    pub(super) fn push(&mut self, outcome: Outcome) {
        if let Outcome::Ready(reply) = &outcome {
            self.held |= reply.what_follows() != Then::Continue;
        }
        self.ring.push(outcome);
    }

    /// When the last bytes came, once for each receipt.
    pub(super) fn take_received_at(&mut self) -> Option<std::time::Instant> {
        self.untold_receipt.take().map(Instant::into_std)
    }

    /// The next reply that has left, and when.
    pub(super) fn next_left(&mut self) -> Option<(Course, std::time::Instant)> {
        let course = self.leaving.pop(self.output.sent_bytes())?;
        Some((course, self.sent_at.into_std()))
    }

    /// See [`Input::leave_block`].
    pub(super) fn leave_block(&mut self) {
        self.input.leave_block();
    }

    pub(super) fn poll_turn(
        &mut self,
        cx: &mut Context<'_>,
        limits: impl Fn() -> ConnectionLimits,
    ) -> Poll<Turn> {
        if !self.known_to_reactor {
            self.known_to_reactor = true;
            self.reactor.connection_polled(self.id, cx.waker());
        }
        loop {
            if let Some(end) = self.failed {
                return Poll::Ready(Turn::End(end));
            }
            let limits = limits();
            let open = self.may_dispatch(limits);
            if open
                && self.frames_in_turn < TURN_FRAMES
                && let Some(frame) = self.next_frame(cx, limits)
            {
                self.frames_in_turn += 1;
                return Poll::Ready(Turn::Frame(frame));
            }
            let turn_over = self.received_in_turn >= TURN_BYTES || self.frames_in_turn >= TURN_FRAMES;
            // What has arrived meanwhile is served first, so that one write answers all of it.
            if !turn_over && self.may_receive(limits) && self.poll_receive(cx) {
                continue;
            }
            if !turn_over && self.is_parked(limits) && self.poll_gone(cx) {
                continue;
            }
            if self.poll_answer(cx) == Answering::Turn {
                return Poll::Ready(Turn::Yield);
            }
            if self.failed.is_some() {
                continue;
            }
            if let Some(end) = self.finished() {
                return Poll::Ready(Turn::End(end));
            }
            if turn_over {
                self.received_in_turn = 0;
                self.frames_in_turn = 0;
                return Poll::Ready(Turn::Yield);
            }
            if self.may_dispatch(limits) {
                if !open {
                    // Room was made for frames that may be there already.
                    continue;
                }
            } else {
                // Whoever cannot use memory must not stand in the queue for it.
                self.input.stop_waiting();
            }
            self.received_in_turn = 0;
            self.frames_in_turn = 0;
            self.input.leave_block();
            if self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// The next frame may be taken.
    fn may_dispatch(&self, limits: ConnectionLimits) -> bool {
        let config = &self.reactor.config;
        let in_turn = !limits.one_at_a_time || self.ring.is_empty();
        let has_room = self.ring.len() < config.replies_in_flight_max
            && self.ring.memory_bytes() + self.output.memory_bytes() < config.unsent_bytes_max;
        // A frame that has its memory gives it back soonest when it is served.
        self.takes_input()
            && in_turn
            && !self.held
            && self.muted_until.is_none()
            && (has_room || self.input.holds_memory())
    }

    /// The socket may be read, there being no whole frame left: a frame is wanted, or one has memory already.
    fn may_receive(&self, limits: ConnectionLimits) -> bool {
        self.input.lacks_body() && self.takes_input()
            || !self.input.holds_memory() && !self.input.waits_for_memory() && self.may_dispatch(limits)
    }

    /// The next frame waits for the answer of the one before, which may take long.
    fn is_parked(&self, limits: ConnectionLimits) -> bool {
        limits.one_at_a_time
            && !self.ring.is_empty()
            && self.muted_until.is_none()
            && self.silent_since.is_none()
            && self.takes_input()
            && self.input.is_at_head()
    }

    /// Listens for the end of the stream on a connection whose frames wait. One read's worth of them is taken in, so that
    /// an end behind that is seen too; one behind more is not, and shows when they are served. Whether anything changed.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> bool {
        if self.input.is_empty() {
            return self.poll_receive(cx);
        }
        let mut byte = [0; 1];
        match self.stream.poll_peek(cx, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(0)) => self.silent_since = Some(Instant::now()),
            Poll::Ready(Err(_)) => self.failed = Some(End::ConnectionFailed),
            Poll::Ready(Ok(_)) | Poll::Pending => return false,
        }
        true
    }

    fn takes_input(&self) -> bool {
        !self.closing && self.input_over.is_none() && !self.reactor.draining.get()
    }

    fn next_frame(&mut self, cx: &mut Context<'_>, limits: ConnectionLimits) -> Option<Bytes> {
        let config_max = self.reactor.config.request_bytes_max;
        let bytes_max = limits.request_bytes_max.map_or(config_max, |max| max.min(config_max));
        let waited = self.input.waits_for_memory();
        match self.input.next_frame(cx, bytes_max, &self.reactor.admission) {
            Ok(Some(frame)) => {
                add(&self.reactor.metrics.frames, 1);
                Some(frame)
            }
            Ok(None) => {
                let waits = self.input.waits_for_memory();
                if waits && !waited {
                    add(&self.reactor.metrics.admission_waits, 1);
                } else if waited && !waits {
                    // The time in the queue is not the peer's.
                    self.received_at = Instant::now();
                }
                None
            }
            Err(error) => {
                tracing::debug!(peer = ?self.stream.peer_addr().ok(), %error, "connection closed for a frame's length");
                self.stop_receiving(End::BadLength);
                None
            }
        }
    }

    /// Receives once; whether anything has changed.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut block = self.reactor.block.borrow_mut();
        match self.input.poll_receive(cx, &mut self.stream, &mut block) {
            Poll::Pending => return false,
            Poll::Ready(Ok(received)) if received.bytes > 0 => {
                add(&self.reactor.metrics.bytes_in, received.bytes as u64);
                self.received_in_turn += received.bytes;
                let now = Instant::now();
                self.active_at = now;
                self.untold_receipt = Some(now);
                if received.progress {
                    self.received_at = now;
                }
            }
            Poll::Ready(Ok(_)) => {
                drop(block);
                self.stop_receiving(End::PeerClosed);
            }
            Poll::Ready(Err(_)) => self.failed = Some(End::ConnectionFailed),
        }
        true
    }

    /// What was received in part is given up, memory of the budget with it.
    fn stop_receiving(&mut self, end: End) {
        self.input = Input::default();
        self.input_over = Some(end);
        self.received_at = Instant::now();
    }

    /// Takes replies that are ready and sends them.
    pub(super) fn poll_answer(&mut self, cx: &mut Context<'_>) -> Answering {
        if self.failed.is_some() {
            return Answering::Done;
        }
        let mut file_bytes_left = FILE_STEP_BYTES;
        let mut sent_something = false;
        let answering = loop {
            if let Err(end) = self.take_replies(cx) {
                self.failed = Some(end);
                break Answering::Done;
            }
            if self.output.is_empty() {
                break Answering::Done;
            }
            let Reactor { pool, metrics, .. } = &*self.reactor;
            match self.output.poll_send(cx, &mut self.stream, pool, metrics, &mut file_bytes_left) {
                Poll::Ready(Ok(Sent::Turn)) => break Answering::Turn,
                Poll::Ready(Ok(Sent::All | Sent::Some)) => sent_something = true,
                Poll::Ready(Err(end)) => {
                    self.failed = Some(end);
                    break Answering::Done;
                }
                Poll::Pending => break Answering::Waiting,
            }
        };
        if sent_something {
            let now = Instant::now();
            self.sent_at = now;
            self.active_at = now;
        }
        answering
    }

    fn take_replies(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        // A file ends the taking: its bytes are not counted, and what stands behind it can wait in the ring, which is.
        while !self.closing
            && !self.output.has_files()
            && self.output.memory_bytes() < self.reactor.config.unsent_bytes_max
        {
            match self.ring.poll_head(cx) {
                Poll::Pending | Poll::Ready(Ok(None)) => break,
                Poll::Ready(Err(ReplyPanicked)) => return Err(End::Panicked),
                Poll::Ready(Ok(Some(reply))) => self.take_reply(reply)?,
            }
        }
        Ok(())
    }

    fn take_reply(&mut self, reply: Reply) -> Result<(), End> {
        if self.output.is_empty() {
            // The peer's time to read begins now.
            self.sent_at = Instant::now();
            self.active_at = self.sent_at;
        }
        add(&self.reactor.metrics.replies, u64::from(reply.length().is_some()));
        match reply.what_follows() {
            Then::Continue => {}
            Then::Mute(time) => {
                // A reply that holds is the last one in the ring.
                self.held &= !self.ring.is_empty();
                self.muted_until = self.muted_until.max(Instant::now().checked_add(time));
            }
            Then::Close => {
                self.closing = true;
                self.ring.clear();
            }
        }
        let course = reply.course();
        self.output.accept(reply)?;
        if let Some(course) = course {
            self.leaving.push(self.output.accepted_bytes(), course);
        }
        Ok(())
    }

    fn finished(&self) -> Option<End> {
        if !self.output.is_empty() {
            return None;
        }
        if self.closing {
            return Some(End::ServiceClosed);
        }
        if !self.ring.is_empty() {
            return None;
        }
        self.input_over.or_else(|| self.reactor.draining.get().then_some(End::Drained))
    }

    /// Ready when a time has come that changes something; the one timer of the connection is set to the next.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some((at, what)) = self.next_deadline() else {
                // The timer fires for nothing, and finds so.
                return Poll::Pending;
            };
            if Instant::now() >= at {
                match what {
                    Due::Unmute => self.muted_until = None,
                    Due::Forget => {
                        self.silent_since = None;
                        self.ring.clear();
                    }
                    Due::End(end) => self.failed = Some(end),
                }
                return Poll::Ready(());
            }
            match &mut self.timer {
                // Later is early enough: when it fires, the time is looked at again. So a busy connection sets its
                // timer once in a long while.
                Some(timer) if timer.deadline() <= at && !timer.is_elapsed() => {}
                Some(timer) => timer.as_mut().reset(at),
                None => self.timer = Some(Box::pin(sleep_until(at))),
            }
            let Some(timer) = &mut self.timer else { return Poll::Pending };
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// When the connection must look at itself again, and what for.
    fn next_deadline(&self) -> Option<(Instant, Due)> {
        let config = &self.reactor.config;
        let after = |start: Instant, time: Duration, due: Due| Some((start.checked_add(time)?, due));
        let unmuted = self.muted_until.map(|until| (until, Due::Unmute));
        let gone = self
            .silent_since
            .and_then(|since| after(since.max(self.sent_at), config.half_closed_time_max, Due::Forget));
        let mut stalled = None;
        if !self.output.is_empty() && !self.output.waits_for_disk() {
            stalled = after(self.sent_at, config.write_stall_time_max, Due::End(End::WriteStalled));
        }
        let mut ends = None;
        if let Some(end) = self.input_over {
            if self.output.is_empty() {
                ends = after(self.received_at.max(self.sent_at), config.half_closed_time_max, Due::End(end));
            }
        } else if self.input.lacks_body() {
            ends = after(self.received_at, config.read_stall_time_max, Due::End(End::ReadStalled));
        } else if self.ring.is_empty()
            && self.output.is_empty()
            && self.muted_until.is_none()
            && !self.input.waits_for_memory()
        {
            ends = after(self.active_at, config.idle_time_max, Due::End(End::Idle));
        }
        [unmuted, gone, stalled, ends].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Ends the stream: what was written arrives, if anything can.
    pub(super) fn close(self, end: End) {
        if !end.is_orderly() {
            return;
        }
        // Each of these may find the peer gone, which is no matter any more.
        drop(SockRef::from(&self.stream).shutdown(Shutdown::Write));
        let mut buffer = [0; 8 * 1024];
        let mut discarded = 0;
        while let Ok(bytes) = self.stream.try_read(&mut buffer)
            && bytes > 0
            && discarded < DISCARD_BYTES_MAX
        {
            discarded += bytes;
        }
    }
}
