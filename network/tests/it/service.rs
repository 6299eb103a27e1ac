//! The service under test: the first byte of a frame says how it is to be answered. Most answers are the frame
//! itself, so that each can be told from the others.

use std::cell::RefCell;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes};
use ottla_network::{
    ConnectionInfo, ConnectionLimits, FileSlice, Outcome, Piece, ReactorContext, Reply, Service, Then,
};
use tokio::sync::{Notify, Semaphore};

pub(crate) const ECHO: u8 = b'e';
/// Next byte: the gate that the reply waits for.
pub(crate) const LATER: u8 = b'l';
/// The same, while the frame itself is held in memory.
pub(crate) const KEEP: u8 = b'k';
/// Next byte: the gate that the dispatch waits for.
pub(crate) const DISPATCH: u8 = b'd';
pub(crate) const NOTHING: u8 = b'n';
/// Next four bytes: milliseconds.
pub(crate) const MUTE: u8 = b'm';
pub(crate) const CLOSE: u8 = b'c';
pub(crate) const CLOSE_UNANSWERED: u8 = b'x';
pub(crate) const PANIC: u8 = b'p';
pub(crate) const PANIC_LATER: u8 = b'q';
/// Next four bytes: how many bytes the answer shall have.
pub(crate) const BIG: u8 = b'b';
/// Then pairs of eight bytes: position and length of a slice of the file; each follows the letter `:`.
pub(crate) const FILE: u8 = b'f';
pub(crate) const LISTENER: u8 = b'i';
pub(crate) const REACTOR: u8 = b'r';
pub(crate) const LOG_IN: u8 = b'a';
/// The answer comes when another thread calls the reactor.
pub(crate) const CALL: u8 = b'w';

pub(crate) const GATES: usize = 16;

/// What test and services share.
pub(crate) struct Stage {
    pub(crate) gates: [Semaphore; GATES],
    pub(crate) file: Option<Arc<File>>,
    /// Before the log-in frame: frames up to 100 bytes, one at a time.
    pub(crate) login: bool,
    pub(crate) disconnected: AtomicUsize,
    pub(crate) drained: AtomicUsize,
    pub(crate) call: Notify,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            gates: std::array::from_fn(|_| Semaphore::new(0)),
            file: None,
            login: false,
            disconnected: AtomicUsize::new(0),
            drained: AtomicUsize::new(0),
            call: Notify::new(),
        }
    }

    pub(crate) fn open(&self, gate: u8) {
        self.gates[usize::from(gate)].add_permits(1);
    }

    async fn pass(&self, gate: u8) {
        self.gates[usize::from(gate)].acquire().await.expect("gates are never closed").forget();
    }
}

pub(crate) struct Echo {
    stage: Arc<Stage>,
    context: ReactorContext,
    called: Rc<RefCell<Vec<tokio::sync::oneshot::Sender<()>>>>,
}

pub(crate) struct Guest {
    listener: Arc<str>,
    logged_in: bool,
}

impl Echo {
    pub(crate) fn new(stage: &Arc<Stage>, context: &ReactorContext) -> Self {
        let called = Rc::<RefCell<Vec<tokio::sync::oneshot::Sender<()>>>>::default();
        let (waiters, stage_of_task) = (Rc::clone(&called), Arc::clone(stage));
        context.spawn_local(async move {
            loop {
                stage_of_task.call.notified().await;
                for waiter in waiters.take() {
                    waiter.send(()).expect("who is called waits");
                }
            }
        });
        Self { stage: Arc::clone(stage), context: context.clone(), called }
    }
}

impl Service for Echo {
    type Connection = Guest;

    fn connect(&self, info: &ConnectionInfo) -> Guest {
        Guest { listener: Arc::clone(&info.listener), logged_in: !self.stage.login }
    }

    async fn dispatch(&self, guest: &mut Guest, frame: Bytes) -> Outcome {
        let mut order = frame.clone();
        let stage = Arc::clone(&self.stage);
        match order.get_u8() {
            ECHO => Reply::bytes(frame).into(),
            LOG_IN => {
                guest.logged_in = true;
                Reply::bytes(frame).into()
            }
            LATER => {
                // A copy: the frame's own memory is not to be held.
                let answer = Bytes::copy_from_slice(&frame);
                Outcome::later(async move {
                    stage.pass(order.get_u8()).await;
                    Reply::bytes(answer)
                })
            }
            KEEP => Outcome::later(async move {
                stage.pass(order.get_u8()).await;
                Reply::bytes(frame)
            }),
            DISPATCH => {
                stage.pass(order.get_u8()).await;
                Reply::bytes(frame).into()
            }
            NOTHING => Reply::nothing().into(),
            MUTE => {
                let time = Duration::from_millis(order.get_u32().into());
                Reply::bytes(frame).then(Then::Mute(time)).into()
            }
            CLOSE => Reply::bytes(frame).then(Then::Close).into(),
            CLOSE_UNANSWERED => Reply::close().into(),
            PANIC => panic!("planted in a dispatch"),
            PANIC_LATER => Outcome::later(async { panic!("planted in a reply") }),
            BIG => Reply::bytes(Bytes::from(vec![b'.'; order.get_u32() as usize])).into(),
            FILE => {
                let file = stage.file.as_ref().expect("the test has a file");
                let mut pieces = Vec::new();
                while order.has_remaining() {
                    pieces.push(Piece::Bytes(Bytes::from_static(b":")));
                    let (position, length) = (order.get_u64(), order.get_u64());
                    pieces.push(FileSlice { file: Arc::clone(file), position, length }.into());
                }
                Reply::pieces(pieces).into()
            }
            LISTENER => Reply::bytes(Bytes::copy_from_slice(guest.listener.as_bytes())).into(),
            REACTOR => {
                let index = u8::try_from(self.context.index()).expect("few reactors");
                Reply::bytes(Bytes::copy_from_slice(&[index])).into()
            }
            CALL => {
                let (waiter, called) = tokio::sync::oneshot::channel();
                self.called.borrow_mut().push(waiter);
                Outcome::later(async move {
                    called.await.expect("the caller's task outlives its waiters");
                    Reply::bytes(frame)
                })
            }
            other => panic!("no such order: {other}"),
        }
    }

    fn limits(&self, guest: &Guest) -> ConnectionLimits {
        if guest.logged_in {
            ConnectionLimits::default()
        } else {
            ConnectionLimits { request_bytes_max: Some(100), one_at_a_time: true }
        }
    }

    fn disconnect(&self, _guest: Guest) {
        self.stage.disconnected.fetch_add(1, Ordering::SeqCst);
    }

    fn drain(&self) {
        self.stage.drained.fetch_add(1, Ordering::SeqCst);
    }
}
