//! The replies of one connection in the order of their requests. Only the head is polled; what stands behind it waits
//! its turn, ready or not. Sends nothing.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use crate::service::{LaterReply, Outcome, Reply};

/// A reply future panicked.
#[derive(Debug)]
pub(crate) struct ReplyPanicked;

/// Outstanding replies, the oldest first.
#[derive(Default)]
pub(crate) struct Ring {
    slots: VecDeque<Slot>,
    memory_bytes: usize,
}

enum Slot {
    Ready(Reply),
    Later(LaterReply),
}

impl Ring {
    pub(crate) fn push(&mut self, outcome: Outcome) {
        self.slots.push_back(match outcome {
            Outcome::Ready(reply) => {
                self.memory_bytes += reply.memory_bytes();
                Slot::Ready(reply)
            }
            Outcome::Later(reply) => Slot::Later(reply),
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes in memory of the replies that are ready and wait for others.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Gives up every reply.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.memory_bytes = 0;
    }

    /// The oldest reply, once it is ready; `None` if there is none outstanding.
    pub(crate) fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Reply>, ReplyPanicked>> {
        let reply = match self.slots.front_mut() {
            None => {
                // A burst of requests must not be remembered by an idle connection.
                self.slots.shrink_to(SLOTS_KEPT);
                return Poll::Ready(Ok(None));
            }
            Some(Slot::Later(reply)) => match catch_unwind(AssertUnwindSafe(|| reply.as_mut().poll(cx))) {
                Ok(Poll::Ready(reply)) => reply,
                Ok(Poll::Pending) => return Poll::Pending,
                Err(_) => return Poll::Ready(Err(ReplyPanicked)),
            },
            Some(Slot::Ready(reply)) => {
                self.memory_bytes -= reply.memory_bytes();
                std::mem::replace(reply, Reply::nothing())
            }
        };
        self.slots.pop_front();
        Poll::Ready(Ok(Some(reply)))
    }
}

/// Slots whose memory an empty ring keeps.
const SLOTS_KEPT: usize = 4;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::task::Waker;

    use bytes::Bytes;

    use super::*;

    fn head(ring: &mut Ring) -> Poll<Option<Vec<u8>>> {
        match ring.poll_head(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(reply) => Poll::Ready(reply.expect("no panic").map(|reply| {
                reply
                    .into_pieces()
                    .into_iter()
                    .flat_map(|piece| match piece {
                        crate::Piece::Bytes(bytes) => bytes.to_vec(),
                        crate::Piece::File(_) => Vec::new(),
                    })
                    .collect()
            })),
        }
    }

    #[test]
    fn a_ready_reply_waits_for_the_one_before_it() {
        let mut ring = Ring::default();
        let gate = Rc::new(Cell::new(false));
        let opened = Rc::clone(&gate);
        ring.push(Outcome::later(std::future::poll_fn(move |_| {
            if opened.get() { Poll::Ready(Reply::bytes(Bytes::from_static(b"one"))) } else { Poll::Pending }
        })));
        ring.push(Reply::bytes(Bytes::from_static(b"two")).into());
        assert_eq!(ring.memory_bytes(), 3);
        assert_eq!(head(&mut ring), Poll::Pending);
        gate.set(true);
        assert_eq!(head(&mut ring), Poll::Ready(Some(b"one".to_vec())));
        assert_eq!(head(&mut ring), Poll::Ready(Some(b"two".to_vec())));
        assert_eq!(ring.memory_bytes(), 0);
        assert_eq!(head(&mut ring), Poll::Ready(None));
    }
}
