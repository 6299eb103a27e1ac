//! How committed metadata reaches the broker: a feed of images, and the place where the broker publishes the image
//! that it has applied. Where the records come from (the embedded controller, a quorum, Kafka's controllers) is the
//! feed's affair; that partitions change before the image is published is the broker's.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use arc_swap::ArcSwap;
use ottla_model::{LeaderEpoch, NodeId, Offset};
use tokio::sync::watch;

use crate::delta::MetadataDelta;
use crate::image::MetadataImage;

/// A future of a feed or link; it belongs to no runtime.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a feed tells, in the order in which it became true.
#[derive(Debug, Clone)]
pub enum FeedEvent {
    /// The image after one more committed batch, or after a snapshot that replaces everything before.
    /// [`MetadataDelta::between`] says what it changes.
    Image(Arc<MetadataImage>),
    /// Everything committed up to this offset (exclusive) when the feed began has been delivered.
    CaughtUp {
        /// The first offset that was not yet there.
        end: Offset,
    },
    /// Another controller leads, or the same one in a new epoch.
    Leader {
        /// The controller.
        id: NodeId,
        /// Its epoch.
        epoch: LeaderEpoch,
    },
}

/// Why no further metadata will come.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FeedError {
    /// The controller was shut down.
    #[error("the metadata controller has stopped")]
    Stopped,
    /// The controller ended because of a fault.
    #[error("the metadata controller has failed: {reason}")]
    Failed {
        /// What went wrong first.
        reason: String,
    },
}

/// A stream of committed metadata.
pub trait MetadataFeed: Send {
    /// The next event. Dropping the future loses none.
    fn next(&mut self) -> BoxFuture<'_, Result<FeedEvent, FeedError>>;

    /// The next event, if there is one already.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    fn try_next(&mut self) -> Result<Option<FeedEvent>, FeedError>;
}

/// The image that the broker has applied: read by every request, exchanged by one owner.
#[derive(Debug)]
pub struct AppliedImage {
    current: ArcSwap<MetadataImage>,
    applied: watch::Sender<Offset>,
}

impl Default for AppliedImage {
    fn default() -> Self {
        Self::new()
    }
}

impl AppliedImage {
    /// Holds the empty image until the first is published.
    #[must_use]
    pub fn new() -> Self {
        Self {
            current: ArcSwap::from_pointee(MetadataImage::empty()),
            applied: watch::Sender::new(Offset::UNKNOWN),
        }
    }

    /// The image in force.
    #[must_use]
    pub fn load(&self) -> Arc<MetadataImage> {
        self.current.load_full()
    }

    /// The image in force, without counting a reference: for a look that does not outlive the call.
    #[must_use]
    pub fn peek(&self) -> arc_swap::Guard<Arc<MetadataImage>> {
        self.current.load()
    }

    /// What an image would change.
    #[must_use]
    pub fn delta_to(&self, image: &MetadataImage) -> MetadataDelta {
        MetadataDelta::between(&self.peek(), image)
    }

    /// Puts an image in force, after its changes to partitions were made, and wakes those who wait for its offset.
    pub fn publish(&self, image: Arc<MetadataImage>) {
        let offset = image.position().offset;
        self.current.store(image);
        self.applied.send_replace(offset);
    }

    /// Returns once an image that contains this offset is in force: what an admin reply waits for. Dropping the
    /// future changes nothing.
    pub async fn wait_for(&self, offset: Offset) {
        let mut applied = self.applied.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = applied.wait_for(|applied| *applied >= offset).await;
    }
}
