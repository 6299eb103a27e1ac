//! What a change of the configuration sets in motion: the settings in force are exchanged, every change is told in the log
//! (one event each, with the old value, the new one and its source), and those act that hold a copy. A topic's changed
//! settings reach its partitions in `reconcile.rs`, a group's its coordinator in `machine_host`.

use std::collections::BTreeSet;

use ottla_cluster::{ConfigMap, ConfigResource, MetadataDelta, MetadataImage};
use ottla_model::NodeId;

use crate::config::{self, Change, LiveConfig};
use crate::context::Broker;

/// Lays the dynamic values of the first image above the file's.
pub(crate) fn begin(live: &LiveConfig, image: &MetadataImage, node: NodeId) {
    match live.follow(image, node) {
        Ok(changes) => tell(&changes),
        Err(error) => {
            tracing::error!(%error, "the dynamic broker configs contradict the file: they are left aside");
        }
    }
}

/// Takes over what an image changes of any configuration, before the partitions are told.
pub(crate) fn follow(broker: &Broker, image: &MetadataImage, delta: &MetadataDelta) {
    if delta.configs.is_empty() {
        return;
    }
    let old = broker.image();
    for resource in &delta.configs {
        match resource.kind {
            ConfigResource::BROKER => tell_unknown(&old, image, resource),
            _ => tell_resource(&old, image, resource),
        }
    }
    if delta.configs.iter().any(|resource| resource.kind == ConfigResource::BROKER) {
        match broker.live.follow(image, broker.node_id) {
            Ok(changes) => {
                tell(&changes);
                if !changes.is_empty() {
                    broker.reconfigured();
                }
            }
            Err(error) => {
                tracing::error!(%error, "the dynamic broker configs contradict the file: nothing changes");
            }
        }
    }
}

/// One event for each changed setting of this broker.
pub(crate) fn tell(changes: &[Change]) {
    for Change { key, before, after, origin } in changes {
        let (old, new) = (shown(before.as_deref()), shown(after.as_deref()));
        tracing::info!(key, old, new, source = %origin, "a broker setting has changed");
    }
}

fn shown(value: Option<&str>) -> &str {
    value.unwrap_or("none")
}

/// What belongs to a topic, a group or a subscription; that of a topic that is new or gone is no change.
fn tell_resource(old: &MetadataImage, new: &MetadataImage, resource: &ConfigResource) {
    let has = |image: &MetadataImage| image.topic(&resource.name).map(|topic| topic.id);
    if resource.kind == ConfigResource::TOPIC && (has(old).is_none() || has(old) != has(new)) {
        return;
    }
    let kind = match resource.kind {
        ConfigResource::TOPIC => "topic",
        ConfigResource::GROUP => "group",
        ConfigResource::CLIENT_METRICS => "client-metrics",
        _ => return,
    };
    for (key, before, after) in differences(old, new, resource) {
        let (old, new) = (before.unwrap_or("none"), after.unwrap_or("none"));
        tracing::info!(kind, name = %resource.name, key, old, new, source = "dynamic config", "a setting has changed");
    }
}

/// Keys of a broker that nobody acts upon: their values are not shown, since nobody knows whether they are secrets.
fn tell_unknown(old: &MetadataImage, new: &MetadataImage, resource: &ConfigResource) {
    for (key, _, after) in differences(old, new, resource) {
        if config::broker_properties().binary_search_by(|property| property.name.cmp(key)).is_err() {
            let is_set = after.is_some();
            tracing::warn!(broker = %resource.name, key, is_set, "a broker setting that nobody knows has changed: it is kept, and nothing acts on it");
        }
    }
}

/// The keys whose values differ, before and after.
fn differences<'a>(
    old: &'a MetadataImage,
    new: &'a MetadataImage,
    resource: &ConfigResource,
) -> Vec<(&'a str, Option<&'a str>, Option<&'a str>)> {
    let map = |image: &'a MetadataImage| image.configs(resource).map(AsRef::as_ref);
    let (old, new): (Option<&ConfigMap>, Option<&ConfigMap>) = (map(old), map(new));
    let keys: BTreeSet<&str> =
        old.into_iter().chain(new).flat_map(|map| map.keys()).map(|key| key.as_str()).collect();
    let value = |map: Option<&'a ConfigMap>, key: &str| map?.get(key).map(|value| value.as_str());
    let found = keys.into_iter().map(|key| (key, value(old, key), value(new, key)));
    found.filter(|(_, before, after)| before != after).collect()
}
