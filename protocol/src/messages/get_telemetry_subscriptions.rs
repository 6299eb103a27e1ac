//! GetTelemetrySubscriptions (key 71), version 0, flexible (KIP-714).

use compact_str::CompactString;
use ottla_model::{ErrorCode, Uuid};

use crate::Message;

/// A question for the metrics that a client is to push.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 71, versions = 0..=0, flexible = 0)]
pub struct GetTelemetrySubscriptionsRequest {
    /// The client's id; zero to be given one.
    pub client_instance_id: Uuid,
}

/// The metrics that a client is to push.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 71, versions = 0..=0, flexible = 0)]
pub struct GetTelemetrySubscriptionsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The id that the client was given; zero if it has one.
    pub client_instance_id: Uuid,
    /// Names this set of metrics.
    pub subscription_id: i32,
    /// The codecs that the broker reads, the best first.
    pub accepted_compression_types: Vec<i8>,
    /// How long to wait between pushes, in milliseconds.
    pub push_interval_ms: i32,
    /// The most bytes of one push.
    pub telemetry_max_bytes: i32,
    /// Whether counters say what was added since the last push.
    pub delta_temporality: bool,
    /// The prefixes of the metrics wanted; an empty one for all, none at all for nothing.
    pub requested_metrics: Vec<CompactString>,
}
