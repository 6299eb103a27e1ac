//! What the controller must know about configs. The tables of keys, types and bounds are the broker's; the
//! controller only asks them, before anything is written.

use std::collections::BTreeSet;

use compact_str::CompactString;
use ottla_model::ErrorCode;

use crate::image::{ConfigMap, ConfigResource, MetadataImage};

/// One config of a topic as CreateTopics 5 and later return it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveConfig {
    /// The key.
    pub name: CompactString,
    /// The value in force; none if there is none, or if it is sensitive.
    pub value: Option<CompactString>,
    /// Whether it cannot be altered.
    pub read_only: bool,
    /// Where the value is from: 1 topic, 3 default of all brokers, 4 the broker's file, 5 built in.
    pub source: i8,
    /// Whether the value is secret.
    pub sensitive: bool,
}

/// The broker's table of topic configs, as the controller uses it.
pub trait TopicConfigRules: Send + Sync {
    /// Whether this topic may have these configs, all together.
    ///
    /// # Errors
    /// The message for the client; the error code is 40. It names the key, and the value or the rule.
    fn check(&self, configs: &ConfigMap) -> Result<(), String>;

    /// All configs of a topic that has these set, with those in force for the rest. `cluster_defaults` are the
    /// dynamic defaults of all brokers.
    fn effective(&self, configs: &ConfigMap, cluster_defaults: &ConfigMap) -> Vec<EffectiveConfig>;
}

/// Why a resource keeps the configs that it has: an error code, and the message for the client.
pub type ConfigRefusal = (ErrorCode, String);

/// A change of one resource's configs that somebody asks for.
pub struct ConfigChange<'a> {
    /// Whose configs; for a topic, one that exists.
    pub resource: &'a ConfigResource,
    /// What it has.
    pub before: &'a ConfigMap,
    /// What it would have.
    pub after: &'a ConfigMap,
    /// The keys of `after` that somebody has just set, also to what they were.
    pub set: &'a BTreeSet<CompactString>,
    /// The metadata in which all of it is to be.
    pub image: &'a MetadataImage,
}

/// What can be done to a list beside setting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOperation {
    /// Words are added.
    Append,
    /// Words are taken out.
    Subtract,
}

/// The broker's tables of all kinds of configs, as the controller uses them when one changes.
pub trait ConfigRules: Send + Sync {
    /// The list that a resource has of a key while it has none of its own.
    ///
    /// # Errors
    /// If the key is no list, or not one that can be changed so.
    fn inherited_list(
        &self,
        resource: &ConfigResource,
        key: &str,
        image: &MetadataImage,
        operation: ListOperation,
    ) -> Result<Vec<CompactString>, ConfigRefusal>;

    /// Whether a resource may have what it would have.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check_change(&self, change: &ConfigChange<'_>) -> Result<(), ConfigRefusal>;
}
