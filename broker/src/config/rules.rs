//! The tables as the controller asks them, before it writes configs down: may a topic, a broker, a group, a subscription
//! to clients' metrics have these? Codes and messages are Kafka's.

use std::collections::BTreeSet;

use compact_str::CompactString;
use ottla_cluster::controller::{
    ConfigChange, ConfigRefusal, ConfigRules, EffectiveConfig, ListOperation, TopicConfigRules,
};
use ottla_cluster::{ConfigMap, ConfigResource, MetadataImage, features};
use ottla_model::{ErrorCode, NodeId};

use super::client_metrics::{self, SubscriptionError};
use super::describe::{DynamicConfigs, describe_topic};
use super::group_table;
use super::live::LiveConfig;
use super::node_rules;
use super::topic::{self, TopicConfig};

const MIN_ISR: &str = "min.insync.replicas";

/// The tables over this broker's configuration.
#[derive(Debug, Clone)]
pub struct Tables {
    live: LiveConfig,
    node: NodeId,
}

impl Tables {
    /// The tables, with the broker's own values for what a topic or a group leaves open.
    #[must_use]
    pub const fn new(live: LiveConfig, node: NodeId) -> Self {
        Self { live, node }
    }

    fn check_topic(&self, asked: &ConfigMap, all: &ConfigMap) -> Result<(), String> {
        let asked = asked.iter().map(|(key, value)| (key.as_str(), Some(value.as_str())));
        let own = all.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        TopicConfig::check(asked)
            .and_then(|()| TopicConfig::resolve(&self.live.now(), DynamicConfigs::NONE, own).check_together())
            .map_err(|error| error.to_string())
    }

    fn check_broker(&self, change: &ConfigChange<'_>) -> Result<(), ConfigRefusal> {
        let wrong = |message: String| (ErrorCode::INVALID_REQUEST, message);
        let name = &change.resource.name;
        if !name.is_empty() {
            let id = name.parse::<i32>();
            let id = id.map_err(|_| wrong(format!("Node id must be an integer, but it is: {name}")))?;
            if id != self.node.get() {
                return Err(wrong(format!(
                    "Unexpected broker id, expected {}, but received {id}",
                    self.node
                )));
            }
        }
        node_rules::check(&self.live, change).map_err(wrong)?;
        if change.image.feature_level(features::ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1 {
            check_min_isr(change)?;
        }
        Ok(())
    }

    fn check_group(&self, change: &ConfigChange<'_>) -> Result<(), ConfigRefusal> {
        let wrong = |message: String| (ErrorCode::INVALID_CONFIG, message);
        if change.resource.name.is_empty() {
            let message = "Default group resources are not allowed.".to_owned();
            return Err((ErrorCode::INVALID_REQUEST, message));
        }
        for (key, text) in set(change) {
            let row = group_table::find(key);
            let row = row.ok_or_else(|| wrong(format!("Unknown group config name: {key}")))?;
            row.check(text, &self.live.peek()).map_err(wrong)?;
        }
        Ok(())
    }
}

impl TopicConfigRules for Tables {
    fn check(&self, configs: &ConfigMap) -> Result<(), String> {
        self.check_topic(configs, configs)
    }

    fn effective(&self, configs: &ConfigMap, cluster_defaults: &ConfigMap) -> Vec<EffectiveConfig> {
        let dynamic = DynamicConfigs { node: None, cluster: Some(cluster_defaults) };
        let described = describe_topic(&self.live.fixed(), dynamic, Some(configs));
        let effective = described.into_iter().map(|config| EffectiveConfig {
            name: config.name,
            value: config.value.map(CompactString::from),
            read_only: config.read_only,
            source: config.source as i8,
            sensitive: config.sensitive,
        });
        effective.collect()
    }
}

impl ConfigRules for Tables {
    fn inherited_list(
        &self,
        resource: &ConfigResource,
        key: &str,
        _: &MetadataImage,
        operation: ListOperation,
    ) -> Result<Vec<CompactString>, ConfigRefusal> {
        let wrong = |message: String| (ErrorCode::INVALID_CONFIG, message);
        let (upper, lower) = match operation {
            ListOperation::Append => ("APPEND", "append"),
            ListOperation::Subtract => ("SUBTRACT", "subtract"),
        };
        let text = match resource.kind {
            ConfigResource::BROKER => {
                let property = super::settings::find(key).filter(|property| property.is_list());
                property.ok_or_else(|| {
                    wrong(format!("Config value {lower} is not allowed for config key: {key}"))
                })?;
                self.live.fixed().settings().text(key).unwrap_or_default().to_owned()
            }
            ConfigResource::TOPIC if topic::find(key).is_some_and(|row| row.property.is_list()) => {
                topic::inherited_text(key, &self.live.peek())
            }
            _ => return Err(wrong(format!("Can't {upper} to key {key} because its type is not LIST."))),
        };
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        Ok(words.map(CompactString::from).collect())
    }

    fn check_change(&self, change: &ConfigChange<'_>) -> Result<(), ConfigRefusal> {
        match change.resource.kind {
            ConfigResource::TOPIC => {
                let asked =
                    set(change).map(|(key, value)| (key.clone(), value.clone())).collect::<ConfigMap>();
                self.check_topic(&asked, change.after).map_err(|message| (ErrorCode::INVALID_CONFIG, message))
            }
            ConfigResource::BROKER => self.check_broker(change),
            ConfigResource::GROUP => self.check_group(change),
            ConfigResource::CLIENT_METRICS => check_subscription(change),
            kind => Err((ErrorCode::INVALID_REQUEST, format!("Unknown resource type {kind}"))),
        }
    }
}

/// What somebody has just set.
fn set<'a>(change: &ConfigChange<'a>) -> impl Iterator<Item = (&'a CompactString, &'a CompactString)> {
    let (keys, after): (&BTreeSet<_>, &ConfigMap) = (change.set, change.after);
    keys.iter().filter_map(|key| Some((key, after.get(key)?)))
}

/// The default of all brokers decides alone how many replicas must be in sync, and it is never taken away (KIP-966).
fn check_min_isr(change: &ConfigChange<'_>) -> Result<(), ConfigRefusal> {
    let message = if change.resource.name.is_empty() {
        let is_removed = change.before.contains_key(MIN_ISR) && !change.after.contains_key(MIN_ISR);
        is_removed.then_some("Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
    } else {
        let is_set = change.set.contains(MIN_ISR);
        is_set.then_some("Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
    };
    message.map_or(Ok(()), |message| Err((ErrorCode::INVALID_CONFIG, message.to_owned())))
}

fn check_subscription(change: &ConfigChange<'_>) -> Result<(), ConfigRefusal> {
    if change.resource.name.is_empty() {
        return Err((ErrorCode::INVALID_REQUEST, "Subscription name can't be empty".to_owned()));
    }
    for (key, text) in set(change) {
        client_metrics::check(key, text).map_err(|error| match error {
            SubscriptionError::Request(message) => (ErrorCode::INVALID_REQUEST, message),
            SubscriptionError::Config(message) => (ErrorCode::INVALID_CONFIG, message),
        })?;
    }
    Ok(())
}
