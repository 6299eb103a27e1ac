//! UpdateFeatures (key 57), versions 0–2, all flexible (KIP-584).
//!
//! * 1: kinds of downgrades, and checking only (KIP-778).
//! * 2: all or nothing, so no longer an answer for each feature.

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// Levels at which features are to be finalised.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 57, versions = 0..=2, flexible = 0)]
pub struct UpdateFeaturesRequest {
    /// How long to wait, in milliseconds.
    #[field(default = 60000)]
    pub timeout_ms: i32,
    /// The features' new levels.
    pub feature_updates: Vec<FeatureUpdateKey>,
    /// Whether to check only, and change nothing.
    #[field(versions = 1..)]
    pub validate_only: bool,
}

/// A feature's new level.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct FeatureUpdateKey {
    /// The feature.
    pub feature: CompactString,
    /// The level at which to finalise it; 0 or below takes the feature back.
    pub max_version_level: i16,
    /// Whether the level may go down.
    #[field(versions = ..=0)]
    pub allow_downgrade: bool,
    /// 1: up only; 2: down where nothing is lost; 3: down though something may be lost.
    #[field(versions = 1.., default = 1)]
    pub upgrade_type: i8,
}

/// What became of the features.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 57, versions = 0..=2, flexible = 0)]
pub struct UpdateFeaturesResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    pub error_code: ErrorCode,
    /// Why the whole request failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// The answers, by feature.
    #[field(versions = ..=1, ignorable)]
    pub results: Vec<UpdatableFeatureResult>,
}

/// What became of one feature.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct UpdatableFeatureResult {
    /// The feature.
    pub feature: CompactString,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
}
