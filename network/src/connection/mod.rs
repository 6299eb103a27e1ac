//! One connection, one task: frames are dispatched in order, replies leave in order, and everything that a connection
//! may keep has a limit. A wake-up serves every whole frame that is there, then writes once. What frames mean is the
//! service's business; bytes are read.rs's and write.rs's, the order of things turn.rs's.

mod end;
mod leaving;
mod read;
mod ring;
mod turn;
mod write;

use std::future::{Future, poll_fn};
use std::net::TcpStream as StdTcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::task::yield_now;

pub use self::end::End;
use self::turn::{Answering, Io, Turn};
use crate::acceptor::ConnectionSlot;
use crate::metrics::add;
use crate::reactor::Reactor;
use crate::service::{ConnectionInfo, Outcome, Service};

/// A connection's place in its reactor; falls with it, however it ends.
pub(crate) struct Life {
    reactor: Rc<Reactor>,
    id: u64,
    end: End,
    _slot: ConnectionSlot,
}

impl Life {
    pub(crate) fn begin(reactor: Rc<Reactor>, id: u64, slot: ConnectionSlot) -> Self {
        add(&reactor.metrics.opened, 1);
        reactor.connection_began(id);
        Self { reactor, id, end: End::CutOff, _slot: slot }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(counter) = self.reactor.metrics.ended.get(self.end.index()) {
            add(counter, 1);
        }
        // At the deadline the reactor has taken stock already; until then it waits for this.
        self.reactor.connection_ended(self.id);
    }
}

/// Serves a connection until it ends.
///
/// Cancelling drops a dispatch half done; only the end of the reactor does that.
pub(crate) async fn serve<S: Service>(
    service: Rc<S>,
    mut life: Life,
    stream: StdTcpStream,
    info: ConnectionInfo,
) {
    let reactor = Rc::clone(&life.reactor);
    let Ok(stream) = TcpStream::from_std(stream) else {
        life.end = End::ConnectionFailed;
        return;
    };
    let mut io = Io::new(reactor, stream, info.id);
    let Ok(mut state) = catch_unwind(AssertUnwindSafe(|| service.connect(&info))) else {
        tracing::error!(peer = %info.peer, listener = %info.listener, "the service panicked at a new connection");
        life.end = End::Panicked;
        return;
    };
    let end = loop {
        let turn = poll_fn(|cx| {
            let turn = io.poll_turn(cx, || service.limits(&state));
            tell_sent(&*service, &state, &mut io);
            turn
        });
        match turn.await {
            Turn::Frame(frame) => {
                if let Some(at) = io.take_received_at() {
                    service.received(&mut state, at);
                }
                match dispatch(&*service, &mut state, frame, &mut io).await {
                    Ok(outcome) => io.push(outcome),
                    Err(Panicked) => break End::Panicked,
                }
            }
            Turn::Yield => yield_now().await,
            Turn::End(end) => break end,
        }
    };
    match end {
        End::Panicked => {
            if let Some(left_out) = life.reactor.metrics.panics.due() {
                let client = service.describe(&state);
                tracing::error!(
                    peer = %info.peer,
                    listener = %info.listener,
                    client,
                    left_out,
                    "a request panicked, which is a fault of ours; its connection is closed"
                );
            }
        }
        end => tracing::debug!(peer = %info.peer, listener = %info.listener, ?end, "connection ended"),
    }
    life.end = end;
    io.close(end);
    service.disconnect(state);
    // Last, so that who is counted out is really gone.
    drop(life);
}

fn tell_sent<S: Service>(service: &S, state: &S::Connection, io: &mut Io) {
    while let Some((course, at)) = io.next_left() {
        service.sent(state, &course, at);
    }
}

struct Panicked;

/// Dispatches one frame; while that waits, earlier replies leave.
async fn dispatch<S: Service>(
    service: &S,
    state: &mut S::Connection,
    frame: Bytes,
    io: &mut Io,
) -> Result<Outcome, Panicked> {
    // Some services do their work before they return a future.
    let dispatched =
        catch_unwind(AssertUnwindSafe(|| service.dispatch(state, frame))).map_err(|_| Panicked)?;
    let mut dispatched = pin!(dispatched);
    loop {
        let step = poll_fn(|cx| {
            match catch_unwind(AssertUnwindSafe(|| dispatched.as_mut().poll(cx))) {
                Ok(Poll::Ready(outcome)) => return Poll::Ready(Ok(Some(outcome))),
                Ok(Poll::Pending) => {}
                Err(_) => return Poll::Ready(Err(Panicked)),
            }
            io.leave_block();
            match io.poll_answer(cx) {
                Answering::Turn => Poll::Ready(Ok(None)),
                Answering::Waiting | Answering::Done => Poll::Pending,
            }
        });
        match step.await? {
            Some(outcome) => return Ok(outcome),
            None => yield_now().await,
        }
    }
}
