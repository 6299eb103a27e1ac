//! The controller of a single node, inside the broker's process: a thread of its own around the state machine and the
//! metadata log. A request is a message to that thread, its reply leaves after the fsync; there is no port and no
//! heartbeat.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use ottla_model::{Clock, NodeId, Offset, Uuid};
use ottla_protocol::metadata::MetadataRecord;
use ottla_storage::io::Directory;
use ottla_storage::io::posix::PosixDirectory;
use ottla_storage::{Log, LogConfig, LogDir};
use tokio::sync::{oneshot, watch};
use tracing::{error, warn};

use crate::builder::ImageBuilder;
use crate::controller::{ControllerSettings, Decision, Occasion, RECORDS_PER_REQUEST_MAX, decide, farewell};
use crate::features::METADATA_VERSION;
use crate::feed::{BoxFuture, FeedError, FeedEvent, MetadataFeed};
use crate::image::{Endpoint, MetadataImage};
use crate::link::{ControllerLink, ControllerReply, ControllerRequest, ControllerResponse, LinkError};
use crate::metadata_log::{
    EmbeddedError, METADATA_FOLDER, MetadataLog, MetadataRetention, Owner, refuse_lost,
};

/// Requests that may wait for the controller; each is bounded by the largest frame that the broker accepts.
pub const WAITING_REQUESTS_MAX: usize = 1000;
/// Requests whose records share one fsync.
const GROUP_REQUESTS_MAX: usize = 256;

/// Where random identifiers come from: 16 fresh random bytes a call.
pub type Entropy = Arc<dyn Fn() -> [u8; 16] + Send + Sync>;

/// Who this node is, from `meta.properties` and the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    /// `node.id`.
    pub node_id: NodeId,
    /// `directory.id` of the log directory that holds the metadata log.
    pub directory_id: Uuid,
}

/// What the embedded controller needs.
#[derive(Clone)]
pub struct EmbeddedConfig {
    /// Who this node is.
    pub identity: NodeIdentity,
    /// The address that the voter set names for this node. Nothing listens there: it is for the Kafka that takes the
    /// directory over.
    pub voter_endpoint: Endpoint,
    /// Defaults and rules for topics.
    pub controller: ControllerSettings,
    /// `min.insync.replicas`: a new cluster's dynamic default.
    pub min_insync_replicas: i32,
    /// A snapshot is written when the log has grown by so much since the last one
    /// (`metadata.log.max.record.bytes.between.snapshots`, 20 MiB in Kafka).
    pub snapshot_after_bytes: u64,
    /// What of the log goes once snapshots hold it; looked at after each snapshot and at the start.
    pub retention: MetadataRetention,
    /// The settings of the log (`metadata.log.segment.*`).
    pub log: LogConfig,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes.
    pub entropy: Entropy,
}

/// A running controller with its two ends.
pub struct Embedded {
    /// Ends the controller; keep it as long as the broker runs.
    pub controller: EmbeddedController,
    /// For requests.
    pub link: Arc<dyn ControllerLink>,
    /// For the broker's one consumer of metadata. The replayed image is in it already.
    pub feed: Box<dyn MetadataFeed>,
}

/// The thread of the controller.
#[derive(Debug)]
pub struct EmbeddedController {
    requests: Sender<Message>,
    thread: Option<JoinHandle<Result<(), EmbeddedError>>>,
}

impl EmbeddedController {
    /// Opens the metadata log in a log directory, which is locked, replays it, begins a new epoch in it, and starts
    /// the thread.
    ///
    /// # Errors
    /// Whatever stands against carrying this log on. Nothing was started then.
    pub fn start(config: EmbeddedConfig, directory: &LogDir) -> Result<Embedded, EmbeddedError> {
        let now_ms = config.clock.now_ms();
        refuse_lost(directory)?;
        let (log, _) = directory.open_internal(METADATA_FOLDER, config.log.clone(), now_ms)?;
        let folder = PosixDirectory::new(&directory.path().join(METADATA_FOLDER));
        Self::start_on(config, Box::new(log), Arc::new(folder))
    }

    /// The same on a log that is open, and the folder that it lies in.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_on(
        config: EmbeddedConfig,
        log: Box<dyn Log>,
        folder: Arc<dyn Directory>,
    ) -> Result<Embedded, EmbeddedError> {
        let owner = Owner {
            node_id: config.identity.node_id,
            directory_id: config.identity.directory_id,
            endpoint: &config.voter_endpoint,
        };
        let now_ms = config.clock.now_ms();
        let (log, builder) = MetadataLog::open(log, folder, owner, config.min_insync_replicas, now_ms)?;
        let image = Arc::new(builder.current().clone());
        let (images, receiver) = watch::channel(Arc::clone(&image));
        let outcome = Arc::new(OnceLock::new());
        let waiting = Arc::new(AtomicUsize::new(0));
        let start = [
            FeedEvent::Leader { id: config.identity.node_id, epoch: log.epoch() },
            FeedEvent::Image(image),
            FeedEvent::CaughtUp { end: log.end() },
        ];
        let feed =
            EmbeddedFeed { start: VecDeque::from(start), images: receiver, outcome: Arc::clone(&outcome) };
        let (sender, requests) = channel();
        let link = EmbeddedLink {
            requests: sender.clone(),
            waiting: Arc::clone(&waiting),
            outcome: Arc::clone(&outcome),
        };
        let worker = Worker { config, log, builder, images, outcome, waiting, pending: Vec::new() };
        let thread = std::thread::Builder::new()
            .name("ottla-controller".to_owned())
            .spawn(move || worker.run(&requests))
            .map_err(EmbeddedError::Thread)?;
        let controller = Self { requests: sender, thread: Some(thread) };
        Ok(Embedded { controller, link: Arc::new(link), feed: Box::new(feed) })
    }

    /// Answers what has been asked, fences the broker, closes the log, and ends the thread.
    ///
    /// # Errors
    /// If the log could not be closed in good order, or had failed before.
    pub fn shutdown(mut self) -> Result<(), EmbeddedError> {
        self.stop(Stop::InGoodOrder)
    }

    fn stop(&mut self, how: Stop) -> Result<(), EmbeddedError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        // Without a receiver the thread has ended already.
        let _ = self.requests.send(Message::Stop(how));
        thread.join().unwrap_or(Err(EmbeddedError::Panicked))
    }
}

/// Without [`shutdown`](EmbeddedController::shutdown) the log is left as a crash leaves it.
impl Drop for EmbeddedController {
    fn drop(&mut self) {
        if let Err(error) = self.stop(Stop::AtOnce) {
            error!(%error, "the controller has failed");
        }
    }
}

enum Message {
    Call(Call),
    Stop(Stop),
}

/// How the thread is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    InGoodOrder,
    AtOnce,
}

struct Call {
    request: ControllerRequest,
    reply: oneshot::Sender<Result<ControllerReply, LinkError>>,
}

/// Why the controller no longer runs; none inside: it was stopped.
type Ending = Option<String>;

struct EmbeddedLink {
    requests: Sender<Message>,
    waiting: Arc<AtomicUsize>,
    outcome: Arc<OnceLock<Ending>>,
}

impl ControllerLink for EmbeddedLink {
    fn call(&self, request: ControllerRequest) -> BoxFuture<'static, Result<ControllerReply, LinkError>> {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        if waiting >= WAITING_REQUESTS_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Box::pin(async move { Err(LinkError::Busy { waiting }) });
        }
        let (reply, answer) = oneshot::channel();
        let sent = self.requests.send(Message::Call(Call { request, reply }));
        if sent.is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        let outcome = Arc::clone(&self.outcome);
        // A request that the thread did not take drops its sender, and is answered as one that came too late.
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(link_error(&outcome))) })
    }
}

fn link_error(outcome: &OnceLock<Ending>) -> LinkError {
    match outcome.get() {
        Some(Some(reason)) => LinkError::Failed { reason: reason.clone() },
        _ => LinkError::Stopped,
    }
}

/// Images follow each other so fast at times that the broker skips some: a delta is computed between the two that it
/// sees, so nothing is lost, and nothing queues up.
struct EmbeddedFeed {
    start: VecDeque<FeedEvent>,
    images: watch::Receiver<Arc<MetadataImage>>,
    outcome: Arc<OnceLock<Ending>>,
}

impl EmbeddedFeed {
    fn ended(&self) -> FeedError {
        match self.outcome.get() {
            Some(Some(reason)) => FeedError::Failed { reason: reason.clone() },
            _ => FeedError::Stopped,
        }
    }
}

impl MetadataFeed for EmbeddedFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<FeedEvent, FeedError>> {
        Box::pin(async move {
            if let Some(event) = self.start.pop_front() {
                return Ok(event);
            }
            match self.images.changed().await {
                Ok(()) => Ok(FeedEvent::Image(Arc::clone(&self.images.borrow_and_update()))),
                Err(_) => Err(self.ended()),
            }
        })
    }

    fn try_next(&mut self) -> Result<Option<FeedEvent>, FeedError> {
        if let Some(event) = self.start.pop_front() {
            return Ok(Some(event));
        }
        match self.images.has_changed() {
            Ok(true) => Ok(Some(FeedEvent::Image(Arc::clone(&self.images.borrow_and_update())))),
            Ok(false) => Ok(None),
            Err(_) => Err(self.ended()),
        }
    }
}

/// What the thread owns.
struct Worker {
    config: EmbeddedConfig,
    log: MetadataLog,
    /// Ahead of what is published by what is not yet durable.
    builder: ImageBuilder,
    images: watch::Sender<Arc<MetadataImage>>,
    outcome: Arc<OnceLock<Ending>>,
    waiting: Arc<AtomicUsize>,
    /// Not yet answered. They outlive a failed write, so that they are answered after its reason is known.
    pending: Vec<Pending>,
}

/// A decision whose records are written and not yet durable.
struct Pending {
    reply: oneshot::Sender<Result<ControllerReply, LinkError>>,
    response: ControllerResponse,
    offset: Offset,
}

impl Worker {
    fn run(mut self, requests: &Receiver<Message>) -> Result<(), EmbeddedError> {
        self.trim();
        let served = loop {
            let Ok(first) = requests.recv() else { break Ok(Stop::AtOnce) };
            match self.serve(first, requests) {
                Ok(None) => {}
                Ok(Some(stop)) => break Ok(stop),
                Err(error) => break Err(error),
            }
        };
        self.end(served, requests)
    }

    /// Serves what waits, up to a group's size, with one fsync, and says whether to stop then.
    fn serve(&mut self, first: Message, requests: &Receiver<Message>) -> Result<Option<Stop>, EmbeddedError> {
        let mut stop = None;
        let before = self.log.end();
        for message in std::iter::once(first).chain(requests.try_iter()).take(GROUP_REQUESTS_MAX) {
            match message {
                Message::Call(call) => self.decide(call)?,
                Message::Stop(how) => {
                    stop = Some(how);
                    break;
                }
            }
        }
        if self.log.end() > before {
            self.log.flush(self.config.clock.now_ms())?;
            self.images.send_replace(Arc::new(self.builder.current().clone()));
        }
        for Pending { reply, response, offset } in self.pending.drain(..) {
            // Whoever asked may have gone; what was decided stands.
            let _ = reply.send(Ok(ControllerReply { response, offset }));
        }
        if self.log.bytes_since_snapshot() >= self.config.snapshot_after_bytes {
            let written = self.log.write_snapshot(self.builder.current(), self.config.clock.now_ms());
            written.unwrap_or_else(|error| warn!(%error, "no metadata snapshot was written"));
            self.trim();
        }
        Ok(stop)
    }

    /// The log can stay as it is: after an error the next snapshot is the next occasion.
    fn trim(&self) {
        let trimmed = self.log.trim(self.config.retention, self.config.clock.now_ms());
        trimmed.unwrap_or_else(|error| warn!(%error, "the metadata log was not trimmed"));
    }

    fn decide(&mut self, Call { request, reply }: Call) -> Result<(), EmbeddedError> {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let occasion = Occasion { next_offset: self.log.end(), entropy: &*self.config.entropy };
        let Decision { records, response } =
            decide(&self.config.controller, self.builder.current(), &request, &occasion);
        let written = self.write(&records);
        // Also after a failure: whoever asked is answered once its reason is known.
        self.pending.push(Pending { reply, response, offset: self.builder.current().position().offset });
        written
    }

    fn write(&mut self, records: &[MetadataRecord]) -> Result<(), EmbeddedError> {
        for records in records.chunks(RECORDS_PER_REQUEST_MAX) {
            let level = self.builder.current().feature_level(METADATA_VERSION);
            let appended = self.log.append(records, level, self.config.clock.now_ms())?;
            let replayed =
                self.builder.replay_batch(appended.base, appended.epoch, appended.timestamp_ms, records);
            replayed.map_err(|(offset, source)| EmbeddedError::Replay { offset, source })?;
        }
        Ok(())
    }

    fn end(
        self,
        served: Result<Stop, EmbeddedError>,
        requests: &Receiver<Message>,
    ) -> Result<(), EmbeddedError> {
        let reason = served.as_ref().err().map(ToString::to_string);
        if let Some(reason) = &reason {
            error!(reason, "the metadata log takes no more changes");
        }
        // Set before anything is dropped that somebody waits for, so that whoever sees the end finds the reason.
        let _ = self.outcome.set(reason);
        for message in requests.try_iter() {
            if let Message::Call(call) = message {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                let _ = call.reply.send(Err(link_error(&self.outcome)));
            }
        }
        match served? {
            Stop::InGoodOrder => self.leave(),
            Stop::AtOnce => Ok(()),
        }
    }

    fn leave(mut self) -> Result<(), EmbeddedError> {
        let image = self.builder.current();
        let level = image.feature_level(METADATA_VERSION);
        let now_ms = self.config.clock.now_ms();
        if let Some(record) = farewell(image, self.config.identity.node_id) {
            self.log.append(&[record], level, now_ms)?;
            self.log.flush(now_ms)?;
        }
        Ok(self.log.close(now_ms)?)
    }
}
