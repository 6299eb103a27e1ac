//! The layers that values come from, one above the other, and what remains of them: for each known key its value and
//! where it came from. Reads files and lists of pairs; gives no value a meaning.
//!
//! Lowest first: default, file, environment (`KAFKA_…`, then `OTTLA_…`), `--override`, other flags.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use ottla_cluster::ConfigMap;

use super::broker_table::BROKER_PROPERTIES;
use super::obsolete;
use super::properties_file::{self, MalformedEscape};
use super::property::{Effect, InvalidValue, Property, Value};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of a properties file.
    File(PathBuf, usize),
    /// An environment variable.
    Environment(String),
    /// `--override key=value`.
    Override,
    /// Another flag of the command line.
    Flag(&'static str),
    /// An earlier start chose it and wrote it down in `meta.properties`.
    Kept,
    /// The dynamic config of this broker, in the cluster's metadata.
    Node,
    /// The dynamic default of all brokers, in the cluster's metadata.
    Cluster,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "the default"),
            Self::File(path, line) => write!(f, "{}, line {line}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Override => write!(f, "--override"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Kept => write!(f, "meta.properties"),
            Self::Node => write!(f, "the dynamic config of this broker"),
            Self::Cluster => write!(f, "the dynamic default of all brokers"),
        }
    }
}

/// A key and a value as somebody gave them; nothing is checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// The key, Kafka's name if it is a known one.
    pub(super) key: String,
    /// The text of the value.
    pub(super) value: String,
    /// Who gave it.
    pub(super) origin: Origin,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    /// The file cannot be read.
    #[error("The configuration file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no properties file.
    #[error("The configuration file {} is malformed: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong where.
        source: MalformedEscape,
    },
    /// A value is of the wrong type or out of its bounds.
    #[error("{invalid} ({origin}).")]
    Invalid {
        /// Key, value and bounds.
        invalid: InvalidValue,
        /// Who gave the value.
        origin: Origin,
    },
    /// A strict source names a key that does not exist.
    #[error("{origin} names {key}, and there is no such configuration.")]
    UnknownKey {
        /// The key.
        key: String,
        /// Who gave it.
        origin: Origin,
    },
    /// An unknown key that is nearly a known one.
    #[error("{key} ({origin}) is no known configuration: did you mean {nearest}?")]
    Misspelt {
        /// The key.
        key: String,
        /// The known one.
        nearest: &'static str,
        /// Who gave it.
        origin: Origin,
    },
    /// No directory for the data was given and the user has no home to put one in.
    #[error("No directory for the data is known, since HOME is not set: name one with --data DIR.")]
    NoHome,
}

/// Something in a configuration that its author should know and that does not stop the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// No such key.
    UnknownKey(String, Origin),
    /// A key of older Kafkas or other builds, and why it means nothing.
    Obsolete(String, Origin, &'static str),
    /// A key of Kafka's that this version does not act on.
    NotYet(&'static str, Origin),
    /// A key of Kafka's without a meaning here, and why.
    Meaningless(&'static str, Origin, &'static str),
    /// Variables that begin with `KAFKA_` and name no key.
    IgnoredVariables(Vec<String>),
    /// The data lies where systems delete files on their own.
    TemporaryDirectory(PathBuf),
    /// A listener of the controller, which needs none here.
    ControllerListener(String),
    /// Anybody who reaches this listener may read and write everything.
    OpenToEverybody(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey(key, origin) => {
                write!(f, "{key} ({origin}) is no known configuration and is ignored")
            }
            Self::Obsolete(key, origin, reason) => {
                write!(f, "{key} ({origin}) has no effect here: {reason}")
            }
            Self::NotYet(key, origin) => {
                write!(f, "{key} ({origin}) has no effect: this version does not act on it yet")
            }
            Self::Meaningless(key, origin, reason) => {
                write!(f, "{key} ({origin}) has no effect here: {reason}")
            }
            Self::IgnoredVariables(names) => {
                write!(
                    f,
                    "environment variables that name no configuration are ignored: {}",
                    names.join(", ")
                )
            }
            Self::TemporaryDirectory(path) => {
                write!(
                    f,
                    "the data is in {}, whose content many systems delete when they start",
                    path.display()
                )
            }
            Self::ControllerListener(name) => {
                write!(
                    f,
                    "the listener {name} is not opened: the controller is within this process and needs no port"
                )
            }
            Self::OpenToEverybody(address) => write!(
                f,
                "the listener {address} can be reached from other machines and asks nobody who they are: whoever \
                 reaches it may read, write and delete everything"
            ),
        }
    }
}

/// Every value that somebody set, checked against its property, with its origin; the rest are defaults.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    set: BTreeMap<&'static str, Setting>,
    /// Defaults that depend on the machine or the user, instead of the table's.
    machine_defaults: BTreeMap<&'static str, String>,
}

#[derive(Debug, Clone)]
struct Setting {
    text: String,
    value: Value,
    origin: Origin,
}

impl Settings {
    #[cfg(test)]
    fn resolve(given: Vec<Given>) -> Result<(Self, Vec<Warning>), Vec<ConfigError>> {
        let (settings, warnings, errors) = Self::resolve_all(given);
        if errors.is_empty() { Ok((settings, warnings)) } else { Err(errors) }
    }

    /// The values that remain when later ones of `given` replace earlier ones, what their author should know, and an
    /// error for each value that its property does not allow and for each key that cannot be meant.
    pub(super) fn resolve_all(given: Vec<Given>) -> (Self, Vec<Warning>, Vec<ConfigError>) {
        let mut settings = Self::default();
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        let (mut ignored_variables, mut warned) = (Vec::new(), BTreeSet::new());
        for Given { key, value, origin } in given {
            let Some(property) = find(&key) else {
                match origin {
                    Origin::Environment(name) if name.starts_with(KAFKA_PREFIX) => {
                        ignored_variables.push(name)
                    }
                    Origin::Environment(_) => errors.push(unknown(key, origin)),
                    _ if !warned.insert(key.clone()) => {}
                    _ if key.starts_with("listener.name.") => {
                        warnings.push(Warning::NotYet("listener.name.*", origin));
                    }
                    _ => match (obsolete::reason(&key), obsolete::nearest(&key)) {
                        (Some(reason), _) => warnings.push(Warning::Obsolete(key, origin, reason)),
                        (None, Some(_)) => errors.push(unknown(key, origin)),
                        (None, None) => warnings.push(Warning::UnknownKey(key, origin)),
                    },
                }
                continue;
            };
            match property.effect {
                Effect::Acts => {}
                _ if !warned.insert(key) => {}
                Effect::NotYet => warnings.push(Warning::NotYet(property.name, origin.clone())),
                Effect::Meaningless(why) => {
                    warnings.push(Warning::Meaningless(property.name, origin.clone(), why));
                }
            }
            match property.parse_written(&value) {
                Ok(parsed) => {
                    let is_number = matches!(parsed, Value::Number(_));
                    let text = if is_number { parsed.to_string() } else { value.trim().to_owned() };
                    let setting = Setting { text, value: parsed, origin };
                    settings.set.insert(property.name, setting);
                }
                Err(invalid) => errors.push(ConfigError::Invalid { invalid, origin }),
            }
        }
        if !ignored_variables.is_empty() {
            warnings.push(Warning::IgnoredVariables(ignored_variables));
        }
        (settings, warnings, errors)
    }

    /// Replaces the table's default of a key by one that only this machine or user can give.
    pub(super) fn set_default(&mut self, key: &'static str, text: String) {
        self.machine_defaults.insert(key, text);
    }

    /// Sets a key to one path, whatever characters are in it.
    pub(super) fn set_path(&mut self, key: &'static str, path: &Path, origin: Origin) {
        let text = path.display().to_string();
        self.set.insert(key, Setting { value: Value::List(vec![text.clone()]), text, origin });
    }

    /// Lays dynamic values above all others. One that is no value, or whose key cannot be changed while the broker runs,
    /// counts as not there: another version may have written it.
    pub(super) fn lay_above(&mut self, values: &ConfigMap, origin: &Origin) {
        for (key, text) in values {
            let Some(property) = find(key).filter(|property| property.is_dynamic()) else { continue };
            let Ok(value) = property.parse(text) else { continue };
            let text = text.trim().to_owned();
            self.set.insert(property.name, Setting { text, value, origin: origin.clone() });
        }
    }

    /// The same with the dynamic keys as another one has them.
    pub(super) fn with_dynamic_keys_of(&self, other: &Self) -> Self {
        let is_dynamic = |key: &str| find(key).is_some_and(Property::is_dynamic);
        let kept = self.set.iter().filter(|(key, _)| !is_dynamic(key));
        let taken = other.set.iter().filter(|(key, _)| is_dynamic(key));
        let set = kept.chain(taken).map(|(key, setting)| (*key, setting.clone())).collect();
        Self { set, machine_defaults: self.machine_defaults.clone() }
    }

    /// The keys that somebody set.
    pub fn set_keys(&self) -> impl Iterator<Item = &'static str> {
        self.set.keys().copied()
    }

    /// Gives a number that somebody else settled, unless the key has one of its own.
    pub(super) fn settle(&mut self, key: &'static str, number: &str, origin: Origin) {
        if let Ok(value) = number.parse().map(Value::Number) {
            self.set.entry(key).or_insert(Setting { text: number.to_owned(), value, origin });
        }
    }

    /// Who set the key; [`Origin::Default`] when nobody did.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.set.get(key).map_or(Origin::Default, |setting| setting.origin.clone())
    }

    /// Whether somebody set the key.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        self.set.contains_key(key)
    }

    /// The text of the key's value, set or default.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.set.get(key).map(|setting| setting.text.as_str()).or_else(|| self.default_text(key))
    }

    /// The text of the key's default on this machine.
    #[must_use]
    pub fn default_text(&self, key: &str) -> Option<&str> {
        self.machine_defaults
            .get(key)
            .map(String::as_str)
            .or_else(|| find(key).and_then(|found| found.default))
    }

    /// The key's value, set or default; `None` when there is neither.
    ///
    /// # Panics
    ///
    /// When the table has no such key or its default breaks its own bounds.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Value> {
        if let Some(setting) = self.set.get(key) {
            return Some(setting.value.clone());
        }
        let property = find(key).expect("the table has every key that the code asks for");
        let default = self.default_text(key)?;
        Some(property.parse(default).expect("a default is within its bounds"))
    }

    /// A whole number that has a default.
    pub(super) fn number(&self, key: &str) -> i64 {
        self.optional_number(key).expect("the number has a default")
    }

    /// A whole number, if it is set or has a default.
    pub(super) fn optional_number(&self, key: &str) -> Option<i64> {
        match self.value(key)? {
            Value::Number(number) => Some(number),
            other => unreachable!("{key} is a number in the table, not {other:?}"),
        }
    }

    /// A floating-point number that has a default.
    pub(super) fn double(&self, key: &str) -> f64 {
        match self.value(key) {
            Some(Value::Double(double)) => double,
            other => unreachable!("{key} is a floating-point number in the table, not {other:?}"),
        }
    }

    /// A truth value.
    pub(super) fn boolean(&self, key: &str) -> bool {
        self.value(key) == Some(Value::Boolean(true))
    }

    /// The words of a list; empty when it is neither set nor has a default.
    pub(super) fn list(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::List(list)) => list,
            _ => Vec::new(),
        }
    }
}

/// The error for a key that its source must not name.
fn unknown(key: String, origin: Origin) -> ConfigError {
    match obsolete::nearest(&key) {
        Some(nearest) => ConfigError::Misspelt { key, nearest, origin },
        None => ConfigError::UnknownKey { key, origin },
    }
}

const KAFKA_PREFIX: &str = "KAFKA_";
const OTTLA_PREFIX: &str = "OTTLA_";

/// Variables that begin like a configuration and are something else.
const OTHER_VARIABLES: &[&str] = &["OTTLA_LOG"];

/// The broker property of this name.
pub(super) fn find(key: &str) -> Option<&'static Property> {
    let at = BROKER_PROPERTIES.binary_search_by(|property| property.name.cmp(key)).ok()?;
    BROKER_PROPERTIES.get(at)
}

/// The entries of a properties file.
///
/// # Errors
///
/// When the file cannot be read or is malformed.
pub(super) fn from_file(path: &Path) -> Result<Vec<Given>, ConfigError> {
    let bytes =
        std::fs::read(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    // Java reads such a file as Latin-1; most are ASCII, and those that are not are UTF-8 today.
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().map(|byte| char::from(*byte)).collect());
    let entries = properties_file::parse(&text)
        .map_err(|source| ConfigError::Malformed { path: path.to_owned(), source })?;
    let given = |entry: properties_file::Entry| Given {
        key: entry.key,
        value: entry.value,
        origin: Origin::File(path.to_owned(), entry.line),
    };
    Ok(entries.into_iter().map(given).collect())
}

/// The variables that name a configuration: first those of Kafka's container image, above them our own.
#[must_use]
pub(super) fn from_environment(variables: &[(String, String)]) -> Vec<Given> {
    let with_prefix = |prefix: &'static str| {
        variables.iter().filter_map(move |(name, value)| {
            let suffix = name.strip_prefix(prefix).filter(|suffix| !suffix.is_empty())?;
            let is_other = OTHER_VARIABLES.contains(&name.as_str());
            (!is_other).then(|| Given {
                key: key_of_variable(suffix),
                value: value.clone(),
                origin: Origin::Environment(name.clone()),
            })
        })
    };
    with_prefix(KAFKA_PREFIX).chain(with_prefix(OTTLA_PREFIX)).collect()
}

/// Kafka's container image writes `.` as `_`, `_` as `__` and `-` as `___`.
fn key_of_variable(suffix: &str) -> String {
    suffix.to_ascii_lowercase().replace("___", "-").replace("__", "\0").replace('_', ".").replace('\0', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(key: &str, value: &str, origin: Origin) -> Given {
        Given { key: key.to_owned(), value: value.to_owned(), origin }
    }

    #[test]
    fn variables_are_mapped_as_kafkas_container_image_maps_them() {
        for (suffix, key) in [
            ("LOG_DIRS", "log.dirs"),
            ("NODE_ID", "node.id"),
            ("A__B", "a_b"),
            ("A___B", "a-b"),
            ("LISTENER_NAME_INTERNAL_SSL_KEYSTORE_LOCATION", "listener.name.internal.ssl.keystore.location"),
        ] {
            assert_eq!(key_of_variable(suffix), key);
        }
    }

    #[test]
    fn the_last_layer_wins_and_its_origin_is_kept() {
        let file = Origin::File(PathBuf::from("server.properties"), 3);
        let (settings, warnings) = Settings::resolve(vec![
            given("num.partitions", "2", file),
            given("num.partitions", "3", Origin::Override),
        ])
        .unwrap();
        assert_eq!(settings.number("num.partitions"), 3);
        assert_eq!(settings.origin("num.partitions"), Origin::Override);
        assert_eq!(settings.origin("message.max.bytes"), Origin::Default);
        assert_eq!(warnings, []);
    }

    #[test]
    fn own_variables_lie_above_kafkas_and_an_unknown_one_is_an_error() {
        let variables = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        };
        let environment = variables(&[
            ("OTTLA_NUM_PARTITIONS", "5"),
            ("KAFKA_NUM_PARTITIONS", "4"),
            ("KAFKA_HEAP_OPTS", "-Xmx1g"),
            ("OTTLA_LOG", "debug"),
            ("PATH", "/bin"),
        ]);
        let (settings, warnings) = Settings::resolve(from_environment(&environment)).unwrap();
        assert_eq!(settings.number("num.partitions"), 5);
        assert_eq!(warnings, [Warning::IgnoredVariables(vec!["KAFKA_HEAP_OPTS".to_owned()])]);

        let unknown = from_environment(&variables(&[("OTTLA_NUM_PARTITION", "5")]));
        let errors = Settings::resolve(unknown).unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "num.partition (environment variable OTTLA_NUM_PARTITION) is no known configuration: did you mean \
             num.partitions?"
        );
    }

    #[test]
    fn an_unknown_or_idle_key_is_warned_about_once() {
        let twice = |key| vec![given(key, "1", Origin::Override), given(key, "1", Origin::Override)];
        for key in ["no.such.key", "log.local.retention.bytes", "background.threads", "listener.name.x.y"] {
            let (_, warnings) = Settings::resolve(twice(key)).unwrap();
            assert_eq!(warnings.len(), 1, "{key}");
        }
    }

    #[test]
    fn every_bad_value_is_reported_with_its_origin() {
        let file = Origin::File(PathBuf::from("server.properties"), 7);
        let errors = Settings::resolve(vec![
            given("num.partitions", "0", file),
            given("auto.create.topics.enable", "maybe", Origin::Override),
        ])
        .unwrap_err();
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "Invalid value 0 for configuration num.partitions: it must be a whole number from 1 to 2147483647 \
                 (server.properties, line 7).",
                "Invalid value maybe for configuration auto.create.topics.enable: it must be true or false \
                 (--override).",
            ]
        );
    }
}
