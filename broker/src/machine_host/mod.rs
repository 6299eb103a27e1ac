//! Coordinators: state machines whose durable state is a partition of an internal topic. `ottla-coordinator` decides, this
//! module gives each machine its partition: it loads it, brings it events, appends what it wants written, and lets an
//! answer go once what it tells of is committed. Knows no request by name; the handlers do.
//!
//! Lock order: a shard's machine, then its partition's log. Answers are sent and work is handed to the pool with neither
//! held.

mod append;
pub(crate) mod census;
mod deadlines;
#[cfg(test)]
mod fragile;
pub(crate) mod group;
mod host;
pub(crate) mod lag;
mod load;
pub(crate) mod markers;
mod shard;
mod topics;
pub(crate) mod transaction;

pub(crate) use shard::{Asked, Delivery, Uncommitted};
