//! What the controller must know about topic configs. The table of keys, types and bounds is the broker's; the
//! controller only asks it, before anything is written.

use compact_str::CompactString;

use crate::image::ConfigMap;

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
