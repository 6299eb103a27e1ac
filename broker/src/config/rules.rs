//! The table of topic properties as the controller asks it, before it writes a topic's configs down. Decides nothing
//! that the table does not say.

use std::sync::Arc;

use compact_str::CompactString;
use ottla_cluster::ConfigMap;
use ottla_cluster::controller::{EffectiveConfig, TopicConfigRules};

use super::broker::BrokerConfig;
use super::describe::{DynamicConfigs, describe_topic};
use super::topic::TopicConfig;

/// The topic properties over this broker's configuration.
#[derive(Debug, Clone)]
pub struct TopicTable {
    broker: Arc<BrokerConfig>,
}

impl TopicTable {
    /// The table, with the broker's own values for what a topic leaves open.
    #[must_use]
    pub const fn new(broker: Arc<BrokerConfig>) -> Self {
        Self { broker }
    }
}

impl TopicConfigRules for TopicTable {
    fn check(&self, configs: &ConfigMap) -> Result<(), String> {
        let asked = configs.iter().map(|(key, value)| (key.as_str(), Some(value.as_str())));
        let own = configs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        TopicConfig::check(asked)
            .and_then(|()| TopicConfig::resolve(&self.broker, DynamicConfigs::NONE, own).check_together())
            .map_err(|error| error.to_string())
    }

    fn effective(&self, configs: &ConfigMap, cluster_defaults: &ConfigMap) -> Vec<EffectiveConfig> {
        let dynamic = DynamicConfigs { node: None, cluster: Some(cluster_defaults) };
        let described = describe_topic(&self.broker, dynamic, Some(configs));
        let effective = described.into_iter().map(|config| EffectiveConfig {
            name: CompactString::const_new(config.name),
            value: config.value.map(CompactString::from),
            read_only: config.read_only,
            source: config.source as i8,
            sensitive: config.sensitive,
        });
        effective.collect()
    }
}
