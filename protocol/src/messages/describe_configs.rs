//! DescribeConfigs (key 32), versions 1–4.
//!
//! * 1: synonyms and where each value comes from (KIP-226).
//! * 2: nothing; the throttle time is acted on after the answer was sent.
//! * 3: types and documentation (KIP-569).
//! * 4: flexible.

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::Message;

/// A question for configs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 32, versions = 1..=4, flexible = 4)]
pub struct DescribeConfigsRequest {
    /// The resources asked for.
    pub resources: Vec<DescribeConfigsResource>,
    /// Whether to list every place that the value could come from.
    pub include_synonyms: bool,
    /// Whether to say what each config means.
    #[field(versions = 3..)]
    pub include_documentation: bool,
}

/// A resource whose configs are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeConfigsResource {
    /// What kind of resource: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// The configs asked for; null for all.
    #[field(nullable, default = empty)]
    pub configuration_keys: Option<Vec<CompactString>>,
}

/// Configs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 32, versions = 1..=4, flexible = 4)]
pub struct DescribeConfigsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// The answers, by resource.
    pub results: Vec<DescribeConfigsResult>,
}

/// One resource's configs.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeConfigsResult {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// Why it failed, in words; null if there is nothing to say.
    #[field(nullable, default = empty)]
    pub error_message: Option<CompactString>,
    /// What kind of resource: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: CompactString,
    /// The configs.
    pub configs: Vec<DescribeConfigsResourceResult>,
}

/// One config.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeConfigsResourceResult {
    /// The config's name.
    pub name: CompactString,
    /// Its value; null if it has none or is sensitive.
    #[field(nullable, default = empty)]
    pub value: Option<CompactString>,
    /// Whether it cannot be changed while the broker runs.
    pub read_only: bool,
    /// Where the value comes from: 1 topic, 2 this broker, 3 all brokers by default, 4 the properties file, 5
    /// default, 6 broker logger, 7 client metrics, 8 group; −1 if it is not said.
    #[field(default = -1)]
    pub config_source: i8,
    /// Whether the value is secret.
    pub is_sensitive: bool,
    /// Every place that the value could come from, the one in force first.
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// 0 unknown, 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password.
    #[field(versions = 3.., ignorable)]
    pub config_type: i8,
    /// What the config means, or null.
    #[field(versions = 3.., nullable, default = empty, ignorable)]
    pub documentation: Option<CompactString>,
}

/// A place that a config's value could come from.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeConfigsSynonym {
    /// The config's name at that place.
    pub name: CompactString,
    /// Its value there, or null.
    #[field(nullable, default = empty)]
    pub value: Option<CompactString>,
    /// The place, numbered as [`config_source`](DescribeConfigsResourceResult::config_source).
    pub source: i8,
}
