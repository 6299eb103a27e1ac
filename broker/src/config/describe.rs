//! What DescribeConfigs says of a topic and of a broker: value, where it comes from, what else would have given one.
//! Values only; the handler makes the response of them and picks the keys that were asked for.
//!
//! The order of the sources and the synonyms are those of Kafka 4.4: a value's synonyms begin at the first of the very
//! name that the property goes by in a broker's file, so that `log.roll.hours` alone is no synonym of `segment.ms`.

use ottla_cluster::ConfigMap;

use super::broker::BrokerConfig;
use super::broker_table::BROKER_PROPERTIES;
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

impl DynamicConfigs<'_> {
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
}

/// A property that gives, or would give, a described one its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedSynonym {
    /// The name.
    pub name: &'static str,
    /// The value; `None` for a secret.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

/// What DescribeConfigs says of one property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedConfig {
    /// The name.
    pub name: &'static str,
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
    let describe = |row: &topic::TopicProperty| {
        let property = &row.property;
        let own = own.and_then(|map| map.get(property.name)).map(|text| text.as_str().to_owned());
        let mut synonyms = inherited_synonyms(row.synonyms, broker.settings(), dynamic);
        if let Some(text) = &own {
            let synonym =
                DescribedSynonym { name: property.name, value: Some(text.clone()), source: Source::Topic };
            synonyms.insert(0, synonym);
        }
        let value = own.unwrap_or_else(|| text_of(&topic::inherited(row, broker, dynamic)));
        described(property, Some(value), synonyms)
    };
    TOPIC_PROPERTIES.iter().map(describe).collect()
}

/// Every property of this broker.
#[must_use]
pub fn describe_broker(broker: &BrokerConfig, dynamic: DynamicConfigs<'_>) -> Vec<DescribedConfig> {
    let describe = |property: &Property| {
        let names = broker_synonyms(property.name);
        let synonyms = inherited_synonyms(&names, broker.settings(), dynamic);
        let value = synonyms.first().and_then(|first| first.value.clone());
        described(property, value, synonyms)
    };
    BROKER_PROPERTIES.iter().filter(|property| !property.internal).map(describe).collect()
}

/// The dynamic configs that all brokers have in common: what describing the broker with the empty name shows. Only
/// what was set is among them.
#[must_use]
pub fn describe_broker_defaults(dynamic: DynamicConfigs<'_>) -> Vec<DescribedConfig> {
    let describe = |property: &'static Property| {
        let text = dynamic.cluster?.get(property.name)?;
        let synonym = synonym_of(property, text, Source::Cluster);
        Some(described(property, Some(text.to_string()), vec![synonym]))
    };
    BROKER_PROPERTIES.iter().filter_map(describe).collect()
}

fn described(property: &Property, value: Option<String>, synonyms: Vec<DescribedSynonym>) -> DescribedConfig {
    DescribedConfig {
        name: property.name,
        value: value.filter(|_| !property.is_sensitive()),
        read_only: !property.dynamic,
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
    let value = (!property.is_sensitive()).then(|| text.to_owned());
    DescribedSynonym { name: property.name, value, source }
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

/// The text of a value as DescribeConfigs prints it.
fn text_of(value: &Value) -> String {
    match value {
        Value::Boolean(boolean) => boolean.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Double(double) => format!("{double:?}"),
        Value::Text(text) => text.clone(),
        Value::List(list) => list.join(","),
    }
}
