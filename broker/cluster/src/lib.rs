//! The cluster's metadata: Kafka's `__cluster_metadata` records, the image that replaying them makes, and the
//! controller that writes them. A broker sees a [`ControllerLink`] to ask, a [`MetadataFeed`] of committed images, and
//! nothing of where the controller lives. This crate opens the metadata log and no socket; it serves no client.
//!
//! A change's way: [`ControllerRequest`] → the controller's state machine decides ([`controller::decide`]) → records →
//! one batch of the metadata log, durable → the image in which they are replayed → the feed → the broker changes its
//! partitions by the [`MetadataDelta`] and publishes the image ([`AppliedImage`]) → only then does the answer that
//! waits for its offset leave.

mod batches;
mod builder;
pub mod controller;
mod delta;
mod embedded;
pub mod features;
mod feed;
mod image;
mod image_records;
mod link;
mod metadata_log;
mod quorum_state;
mod replay;
mod shards;
mod snapshot;

pub use batches::{BatchError, ContentError};
pub use builder::ImageBuilder;
pub use delta::{MetadataDelta, PartitionDelta, RemovedPartition};
pub use embedded::{
    Embedded, EmbeddedConfig, EmbeddedController, Entropy, NodeIdentity, WAITING_REQUESTS_MAX,
};
pub use feed::{AppliedImage, BoxFuture, FeedError, FeedEvent, MetadataFeed};
pub use image::{
    BrokerImage, ConfigMap, ConfigResource, Endpoint, FeatureRange, ImagePosition, KeptRecords,
    MetadataImage, PartitionImage, QuotaKey, TopicImage,
};
pub use link::{ControllerLink, ControllerReply, ControllerRequest, ControllerResponse, LinkError};
pub use metadata_log::{EmbeddedError, METADATA_FOLDER, MetadataRetention};
pub use quorum_state::QuorumStateError;
pub use replay::ReplayError;
pub use snapshot::SnapshotError;
