//! The cluster's metadata: Kafka's `__cluster_metadata` records, the image that replaying them makes, and the
//! controller that writes them. A broker sees a [`ControllerLink`] to ask, a [`MetadataFeed`] of committed images, and
//! nothing of where the controller lives. This crate opens the metadata log and no socket; it serves no client.

mod shards;
