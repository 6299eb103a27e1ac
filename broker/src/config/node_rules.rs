//! Which of a broker's own keys can be changed while it runs, and to what: the rules of Kafka's dynamic broker configs,
//! for one broker and for the default of all, with its messages.

use ottla_cluster::ConfigResource;
use ottla_cluster::controller::ConfigChange;

use super::broker::BrokerConfig;
use super::describe::DynamicConfigs;
use super::live::LiveConfig;
use super::property::{Effect, Property, Scope};
use super::settings;

/// What belongs to a single listener.
const LISTENER_PREFIX: &str = "listener.name.";

/// Keys that Kafka takes for a single listener alone.
const PER_LISTENER: &[&str] = &[
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

/// Numbers of threads, which may be halved or doubled in one step.
const THREADS: &[&str] =
    &["background.threads", "num.io.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers"];

/// The least memory for keys that a thread of the cleaner works with.
const DEDUPE_BYTES_MIN: u64 = 1 << 20;

/// Checks what would become of a broker's dynamic configs, or of the default of all.
///
/// # Errors
/// The message for the client.
pub(super) fn check(live: &LiveConfig, change: &ConfigChange<'_>) -> Result<(), String> {
    let is_default = change.resource.name.is_empty();
    let keys = || change.set.iter().map(|key| key.as_str());
    let known = || keys().filter_map(settings::find);
    refuse("Cannot update these configs dynamically", known().filter(|found| !found.is_dynamic()))?;
    let per_listener = known().filter(|found| PER_LISTENER.contains(&found.name));
    refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        per_listener,
    )?;
    if is_default {
        let of_one = known().filter(|found| found.scope == Scope::Broker);
        refuse("Cannot update these configs at default cluster level, broker id must be specified", of_one)?;
    }
    for key in keys() {
        let Some(text) = change.after.get(key) else { continue };
        check_value(key, text)?;
    }
    let of = |resource| change.image.configs(&resource).map(AsRef::as_ref);
    let dynamic = match is_default {
        true => DynamicConfigs { node: None, cluster: Some(change.after) },
        false => DynamicConfigs { node: Some(change.after), cluster: of(ConfigResource::default_broker()) },
    };
    let new = live.fixed().with_dynamic(dynamic).map_err(|error| error.to_string())?;
    check_numbers(change, &new)?;
    check_threads(change, &live.peek(), &new)
}

fn refuse(why: &str, found: impl Iterator<Item = &'static Property>) -> Result<(), String> {
    let names: Vec<_> = found.map(|property| property.name).collect();
    if names.is_empty() { Ok(()) } else { Err(format!("{why}: [{}]", names.join(", "))) }
}

fn check_value(key: &str, text: &str) -> Result<(), String> {
    if key.starts_with(LISTENER_PREFIX) {
        return Err(format!(
            "The configuration {key} cannot be set: this version has none of single listeners."
        ));
    }
    // A key that nobody knows is kept, as Kafka keeps it for a plug-in.
    let Some(property) = settings::find(key) else { return Ok(()) };
    property.parse(text).map_err(|invalid| String::from(invalid.kafka))?;
    if property.effect == Effect::NotYet {
        return Err(format!("The configuration {key} cannot be set: this version does not act on it yet."));
    }
    Ok(())
}

/// Bounds that Kafka's types do not have and its rules do.
fn check_numbers(change: &ConfigChange<'_>, new: &BrokerConfig) -> Result<(), String> {
    let number = |key: &str| change.set.contains(key).then(|| new.settings().number(key));
    if number("log.retention.ms") == Some(0) {
        return Err("log.retention.ms must be unlimited (-1) or, greater than or equal to 1".to_owned());
    }
    if number("log.roll.ms").is_some_and(|ms| ms < 1) {
        return Err("log.roll.ms must be greater than or equal to 1".to_owned());
    }
    if number("log.roll.jitter.ms").is_some_and(|ms| ms < 0) {
        return Err("log.roll.jitter.ms must be greater than or equal to 0".to_owned());
    }
    let cleaner = &new.storage.cleaner;
    let concerns_cleaner =
        ["log.cleaner.dedupe.buffer.size", "log.cleaner.threads"].iter().any(|key| change.set.contains(*key));
    if concerns_cleaner && cleaner.dedupe_bytes / (cleaner.threads.max(1) as u64) < DEDUPE_BYTES_MIN {
        return Err("log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.".to_owned());
    }
    Ok(())
}

fn check_threads(change: &ConfigChange<'_>, now: &BrokerConfig, new: &BrokerConfig) -> Result<(), String> {
    for key in THREADS.iter().filter(|key| change.set.contains(**key)) {
        let (current, wanted) = (now.settings().number(key), new.settings().number(key));
        let failed = format!("Dynamic thread count update validation failed for {key}={wanted}");
        if wanted < current / 2 {
            return Err(format!("{failed}, value should be at least half the current value {current}"));
        }
        if wanted > current.saturating_mul(2) {
            return Err(format!(
                "{failed}, value should not be greater than double the current value {current}"
            ));
        }
    }
    const CLEANERS: &str = "log.cleaner.threads";
    if change.set.contains(CLEANERS) {
        let (current, wanted) = (now.settings().number(CLEANERS), new.settings().number(CLEANERS));
        if wanted < 1 {
            return Err("Log cleaner threads should be at least 1".to_owned());
        }
        if wanted < current / 2 {
            return Err(format!(
                "Log cleaner threads cannot be reduced to less than half the current value {current}"
            ));
        }
        if wanted > current.saturating_mul(2) {
            return Err(format!(
                "Log cleaner threads cannot be increased to more than double the current value {current}"
            ));
        }
    }
    Ok(())
}
