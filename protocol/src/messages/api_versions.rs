//! ApiVersions (key 18), versions 0–5. Its answers always have response header 0, so that a client that knows nothing of
//! the broker can read them; a request of an unknown version is answered in version 0.
//!
//! * 1: throttle time.
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: flexible; the client says what software it is, the answer shows features (KIP-511, KIP-584).
//! * 4: supported features may have 0 as their lowest level.
//! * 5: the client may say which cluster and node it expects (KIP-1242).

use compact_str::CompactString;
use ottla_model::{ErrorCode, NodeId};

use crate::Message;

/// A question for the requests that the broker serves: the first on most connections.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 18, versions = 0..=5, flexible = 3)]
pub struct ApiVersionsRequest {
    /// The client's software, such as `apache-kafka-java`.
    #[field(versions = 3.., ignorable)]
    pub client_software_name: CompactString,
    /// The version of the client's software.
    #[field(versions = 3.., ignorable)]
    pub client_software_version: CompactString,
    /// The cluster that the client expects, or null.
    #[field(versions = 5.., nullable, ignorable)]
    pub cluster_id: Option<CompactString>,
    /// The node that the client expects; −1 for any.
    #[field(versions = 5.., default = -1, ignorable)]
    pub node_id: NodeId,
}

/// The requests that the broker serves, and its features.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 18, versions = 0..=5, flexible = 3)]
pub struct ApiVersionsResponse {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The requests that are served, each with its versions.
    pub api_keys: Vec<ApiVersion>,
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    #[field(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// The features that the broker supports.
    #[field(versions = 3.., tag = 0, ignorable)]
    pub supported_features: Vec<SupportedFeatureKey>,
    /// The metadata offset up to which the finalised features are true; −1 if it is unknown.
    #[field(versions = 3.., tag = 1, default = -1, ignorable)]
    pub finalized_features_epoch: i64,
    /// The features that are in force cluster-wide.
    #[field(versions = 3.., tag = 2, ignorable)]
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// Whether a migration from ZooKeeper may begin; never, since 4.0.
    #[field(versions = 3.., tag = 3, ignorable)]
    pub zk_migration_ready: bool,
}

/// One kind of request with the versions served.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct ApiVersion {
    /// The API key.
    pub api_key: i16,
    /// The oldest version, or lowest level.
    pub min_version: i16,
    /// The newest version, or highest level.
    pub max_version: i16,
}

/// A feature with the levels that the broker supports.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct SupportedFeatureKey {
    /// The name.
    pub name: CompactString,
    /// The oldest version, or lowest level.
    pub min_version: i16,
    /// The newest version, or highest level.
    pub max_version: i16,
}

/// A feature with the level that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct FinalizedFeatureKey {
    /// The name.
    pub name: CompactString,
    /// The level that is in force.
    pub max_version_level: i16,
    /// The lowest level that is in force.
    pub min_version_level: i16,
}
