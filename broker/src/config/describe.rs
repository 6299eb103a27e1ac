//! What DescribeConfigs says of a topic, a broker, a group, a subscription: value, where it comes from, what else would have given one.
//! Values only; the handler makes the response of them and picks the keys that were asked for.
//!
//! The order of the sources and the synonyms are those of Kafka 4.4: a value's synonyms begin at the first of the very
//! name that the property goes by in a broker's file, so that `log.roll.hours` alone is no synonym of `segment.ms`.

use compact_str::CompactString;
use ottla_cluster::ConfigMap;

use super::broker::BrokerConfig;
use super::broker_table::BROKER_PROPERTIES;
use super::client_metrics::CLIENT_METRICS_PROPERTIES;
use super::group_table::{GROUP_PROPERTIES, GroupProperty};
use super::property::{Effect, Property, Value};
use super::settings::{self, Settings};
use super::topic::{self, Synonym, TOPIC_PROPERTIES};

/// The dynamic configs that every topic of a node inherits, both of them records of the cluster's metadata.
#[derive(Debug, Clone, Copy, Default)]
pub struct DynamicConfigs<'a> {
    /// Those of this broker.
    pub node: Option<&'a ConfigMap>,
    /// The default of all brokers, the resource with the empty name.
    pub cluster: Option<&'a ConfigMap>,
}

impl DynamicConfigs<'static> {
    /// Neither the node nor the cluster has any.
    pub const NONE: Self = Self { node: None, cluster: None };
}

impl<'a> DynamicConfigs<'a> {
    /// Both, the one that counts first in front.
    fn maps(self) -> impl Iterator<Item = (&'a ConfigMap, Source)> {
        let node = self.node.map(|map| (map, Source::Node));
        node.into_iter().chain(self.cluster.map(|map| (map, Source::Cluster)))
    }

    /// The value of a broker property, where one of the two sets it.
    pub(super) fn value(self, key: &str) -> Option<Value> {
        let text =
            self.node.and_then(|map| map.get(key)).or_else(|| self.cluster.and_then(|map| map.get(key)))?;
        settings::find(key)?.parse(text).ok()
    }
}

/// Where a described value comes from, as DescribeConfigs numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Source {
    /// The topic's own.
    Topic = 1,
    /// The node's dynamic configs.
    Node = 2,
    /// The cluster's dynamic configs.
    Cluster = 3,
    /// File, environment or command line.
    Static = 4,
    /// Nobody set it.
    Default = 5,
    /// The level of a logger.
    Logger = 6,
    /// The subscription's own.
    ClientMetrics = 7,
    /// The group's own.
    Group = 8,
}

/// A property that gives, or would give, a described one its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedSynonym {
    /// The name.
    pub name: CompactString,
    /// The value; `None` for a secret.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

/// What DescribeConfigs says of one property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedConfig {
    /// The name.
    pub name: CompactString,
    /// The value; `None` where there is none, and for a secret.
    pub value: Option<String>,
    /// Whether it can only be set in the file.
    pub read_only: bool,
    /// Where the value comes from.
    pub source: Source,
    /// Whether the value is a secret.
    pub sensitive: bool,
    /// Everything that gives it a value, the one that counts first.
    pub synonyms: Vec<DescribedSynonym>,
    /// Kafka's number of the type.
    pub config_type: i8,
    /// A sentence.
    pub documentation: &'static str,
}

/// Every property of a topic whose own configs these are.
#[must_use]
pub fn describe_topic(
    broker: &BrokerConfig,
    dynamic: DynamicConfigs<'_>,
    own: Option<&ConfigMap>,
) -> Vec<DescribedConfig> {
    let describe = |row: &'static topic::TopicProperty| {
        let property = &row.property;
        let own = own.and_then(|map| map.get(property.name)).map(|text| property.canonical(text));
        let mut synonyms = inherited_synonyms(row.synonyms, broker.settings(), dynamic);
        if let Some(text) = &own {
            synonyms.insert(0, synonym_of(property, text, Source::Topic));
        }
        let value = own.unwrap_or_else(|| topic::inherited(row, broker, dynamic).to_string());
        described(property, Some(value), synonyms)
    };
    TOPIC_PROPERTIES.iter().map(describe).collect()
}

/// Every property of this broker.
#[must_use]
pub fn describe_broker(broker: &BrokerConfig, dynamic: DynamicConfigs<'_>) -> Vec<DescribedConfig> {
    let describe = |property: &'static Property| {
        let names = broker_synonyms(property.name);
        let synonyms = inherited_synonyms(&names, broker.settings(), dynamic);
        let value = synonyms.first().and_then(|first| first.value.clone());
        described(property, value, synonyms)
    };
    let is_set = |name: &str| dynamic.maps().any(|(map, _)| map.contains_key(name));
    let shown = BROKER_PROPERTIES.iter().filter(|property| !property.internal || is_set(property.name));
    shown.map(describe).chain(unknown(dynamic.maps())).collect()
}

/// The dynamic configs that all brokers have in common: what describing the broker with the empty name shows. Only
/// what was set is among them.
#[must_use]
pub fn describe_broker_defaults(dynamic: DynamicConfigs<'_>) -> Vec<DescribedConfig> {
    let describe = |property: &'static Property| {
        let synonym = synonym_of(property, dynamic.cluster?.get(property.name)?, Source::Cluster);
        Some(described(property, synonym.value.clone(), vec![synonym]))
    };
    let cluster = dynamic.cluster.into_iter().map(|map| (map, Source::Cluster));
    BROKER_PROPERTIES.iter().filter_map(describe).chain(unknown(cluster)).collect()
}

/// Every property of a group whose own configs these are.
#[must_use]
pub fn describe_group(
    broker: &BrokerConfig,
    dynamic: DynamicConfigs<'_>,
    own: Option<&ConfigMap>,
) -> Vec<DescribedConfig> {
    let describe = |row: &'static GroupProperty| {
        let property = &row.property;
        let own = own.and_then(|map| map.get(property.name));
        let own = own.map(|text| synonym_of(property, text, Source::Group));
        let inherited = match row.broker {
            Some(name) => inherited_synonyms(&[Synonym { name, factor: 1 }], broker.settings(), dynamic),
            None => {
                property.default.map(|text| synonym_of(property, text, Source::Default)).into_iter().collect()
            }
        };
        let synonyms: Vec<_> = own.into_iter().chain(inherited).collect();
        let value = synonyms.first().and_then(|first| first.value.clone());
        described(property, value, synonyms)
    };
    GROUP_PROPERTIES.iter().map(describe).collect()
}

/// Every property of a subscription to clients' metrics whose own configs these are. A default is no synonym here.
#[must_use]
pub fn describe_client_metrics(own: Option<&ConfigMap>) -> Vec<DescribedConfig> {
    let describe = |property: &'static Property| {
        let own = own.and_then(|map| map.get(property.name));
        let own = own.map(|text| synonym_of(property, text, Source::ClientMetrics));
        let value = own.as_ref().map(|own| own.value.clone());
        let value = value.unwrap_or_else(|| property.default.map(str::to_owned));
        described(property, value, own.into_iter().collect())
    };
    CLIENT_METRICS_PROPERTIES.iter().map(describe).collect()
}

/// The level of a logger.
#[must_use]
pub fn describe_logger(name: &str, level: &str) -> DescribedConfig {
    DescribedConfig {
        name: name.into(),
        value: Some(level.to_owned()),
        read_only: false,
        source: Source::Logger,
        sensitive: false,
        synonyms: Vec::new(),
        config_type: UNKNOWN_TYPE,
        documentation: "",
    }
}

/// Kafka's number of a type that it does not know.
const UNKNOWN_TYPE: i8 = 0;

/// What somebody set without anybody knowing it: it may be a secret, so nothing of it is shown.
fn unknown<'a>(maps: impl Iterator<Item = (&'a ConfigMap, Source)>) -> Vec<DescribedConfig> {
    let mut found: Vec<DescribedConfig> = Vec::new();
    for (map, source) in maps {
        for name in map.keys().filter(|name| settings::find(name).is_none()) {
            let synonym = DescribedSynonym { name: name.clone(), value: None, source };
            match found.iter_mut().find(|config| config.name == *name) {
                Some(config) => config.synonyms.push(synonym),
                None => found.push(DescribedConfig {
                    name: name.clone(),
                    value: None,
                    read_only: true,
                    source,
                    sensitive: true,
                    synonyms: vec![synonym],
                    config_type: UNKNOWN_TYPE,
                    documentation: "",
                }),
            }
        }
    }
    found
}

fn described(property: &Property, value: Option<String>, synonyms: Vec<DescribedSynonym>) -> DescribedConfig {
    DescribedConfig {
        name: CompactString::const_new(property.name),
        value: value.filter(|_| !property.is_sensitive()),
        read_only: !property.is_dynamic(),
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        sensitive: property.is_sensitive(),
        synonyms,
        config_type: property.wire_type(),
        documentation: match property.effect {
            Effect::Acts => property.doc,
            Effect::NotYet => "This version does not act on it yet.",
            Effect::Meaningless(_) => "It has no meaning here.",
        },
    }
}

/// The values of these broker properties, dynamic before static before default. Those ahead of the first that bears
/// the first name are left out, as Kafka leaves them out.
fn inherited_synonyms(
    names: &[Synonym],
    settings: &Settings,
    dynamic: DynamicConfigs<'_>,
) -> Vec<DescribedSynonym> {
    let Some(first) = names.first() else { return Vec::new() };
    let known = || names.iter().filter_map(|synonym| settings::find(synonym.name));
    let from_map = |map: Option<&ConfigMap>, source| {
        let found = known().filter_map(|property| Some((property, map?.get(property.name)?.as_str())));
        found.map(|(property, text)| synonym_of(property, text, source)).collect::<Vec<_>>()
    };
    let set = known().filter(|property| settings.is_set(property.name));
    let set =
        set.filter_map(|property| Some(synonym_of(property, settings.text(property.name)?, Source::Static)));
    let defaults = known().filter_map(|property| {
        Some(synonym_of(property, settings.default_text(property.name)?, Source::Default))
    });
    let all = from_map(dynamic.node, Source::Node)
        .into_iter()
        .chain(from_map(dynamic.cluster, Source::Cluster))
        .chain(set)
        .chain(defaults);
    all.skip_while(|synonym| synonym.name != first.name).collect()
}

fn synonym_of(property: &'static Property, text: &str, source: Source) -> DescribedSynonym {
    let value = (!property.is_sensitive()).then(|| property.canonical(text));
    DescribedSynonym { name: CompactString::const_new(property.name), value, source }
}

/// The properties that a broker's own property shares its value with: those of the topic property that both stand
/// for, if there are several; the later ones of them are no synonyms of the earlier.
fn broker_synonyms(name: &'static str) -> Vec<Synonym> {
    let shared = TOPIC_PROPERTIES
        .iter()
        .map(|row| row.synonyms)
        .find(|synonyms| synonyms.len() > 1 && synonyms.iter().any(|synonym| synonym.name == name));
    match shared {
        Some(synonyms) => synonyms.iter().copied().skip_while(|synonym| synonym.name != name).collect(),
        None => vec![Synonym { name, factor: 1 }],
    }
}
