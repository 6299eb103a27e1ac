//! PushTelemetry (key 72), version 0, flexible (KIP-714).

use bytes::Bytes;
use ottla_model::{ErrorCode, Uuid};

use crate::Message;

/// A client's metrics.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 72, versions = 0..=0, flexible = 0)]
pub struct PushTelemetryRequest {
    /// The client's id.
    pub client_instance_id: Uuid,
    /// Names the set of metrics that the client knows.
    pub subscription_id: i32,
    /// Whether it is the client's last push.
    pub terminating: bool,
    /// The codec of the metrics.
    pub compression_type: i8,
    /// The metrics, in the format of OpenTelemetry.
    pub metrics: Bytes,
}

/// Whether the metrics were taken.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 72, versions = 0..=0, flexible = 0)]
pub struct PushTelemetryResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
