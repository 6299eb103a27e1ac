//! The thread that takes over each newer image of the metadata. It may wait for a disk, so it is neither a reactor nor
//! the controller. Decides nothing: what an image changes is `reconcile.rs`'s.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use ottla_cluster::{FeedError, FeedEvent, MetadataFeed, MetadataImage};
use ottla_model::Offset;
use tokio::sync::oneshot;

use crate::context::Broker;

/// Why a running broker can no longer go on.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No more metadata comes.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// No log directory works any more.
    #[error("every log directory has failed")]
    NoDirectory,
    /// The directory of the cluster's metadata has failed.
    #[error("the directory of the cluster's metadata has failed: {0}")]
    MetadataDirectory(std::sync::Arc<ottla_storage::DirectoryFailure>),
    /// A newer image could not be taken over.
    #[error("the thread that takes over metadata panicked")]
    Panicked,
}

/// The image that the metadata log holds as it is opened.
pub(crate) async fn first_image(feed: &mut dyn MetadataFeed) -> Result<Arc<MetadataImage>, FeedError> {
    let mut image = Arc::new(MetadataImage::empty());
    loop {
        match feed.next().await? {
            FeedEvent::Image(newer) => image = newer,
            FeedEvent::CaughtUp { .. } => return Ok(image),
            FeedEvent::Leader { .. } => {}
        }
    }
}

/// Takes over images until the one that contains this offset.
pub(crate) async fn apply_until(
    broker: &Broker,
    feed: &mut dyn MetadataFeed,
    offset: Offset,
) -> Result<(), FeedError> {
    while broker.image().position().offset < offset {
        if let FeedEvent::Image(image) = feed.next().await? {
            broker.apply(image);
        }
    }
    Ok(())
}

/// Takes over each new image until it is told to stop.
async fn take_over(
    broker: &Broker,
    feed: &mut dyn MetadataFeed,
    stopped: &mut oneshot::Receiver<()>,
) -> Result<(), FeedError> {
    loop {
        tokio::select! {
            biased;
            // Also when the sender was dropped: the broker is gone.
            _ = &mut *stopped => return Ok(()),
            event = feed.next() => {
                if let FeedEvent::Image(image) = event? {
                    broker.apply(image);
                }
            }
        }
    }
}

/// The thread that takes over each new image. It may wait for a disk, so it is neither a reactor nor the controller.
pub(crate) struct ImageThread {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl ImageThread {
    pub(crate) fn start(
        broker: Arc<Broker>,
        mut feed: Box<dyn MetadataFeed>,
        on_fault: impl FnOnce(Fault) + Send + 'static,
    ) -> Result<Self, std::io::Error> {
        let (stop, mut stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("ottla-metadata".to_owned()).spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            drop(ready.send(Ok(())));
            let taken_over =
                AssertUnwindSafe(|| runtime.block_on(take_over(&broker, &mut *feed, &mut stopped)));
            match panic::catch_unwind(taken_over) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => on_fault(Fault::Feed(error)),
                Err(_) => on_fault(Fault::Panicked),
            }
        })?;
        match is_ready.recv() {
            Ok(result) => result.map(|()| Self { stop, thread }),
            Err(mpsc::RecvError) => Err(std::io::Error::other("the thread for metadata ended at once")),
        }
    }

    pub(crate) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the thread for metadata panicked");
        }
    }
}
