//! The configuration as it now is: the file's with the cluster's dynamic values above it, exchanged as a whole when one of
//! them changes. Readers never wait. What a change sets in motion is not done here.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use ottla_cluster::{ConfigMap, ConfigResource, MetadataImage};
use ottla_model::NodeId;
use parking_lot::Mutex;

use super::broker::{BrokerConfig, UnusableConfig};
use super::describe::DynamicConfigs;
use super::settings::Origin;

/// The configuration of a running broker. Clones are the same one.
#[derive(Debug, Clone)]
pub struct LiveConfig {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// What the file, the environment and the command line say.
    fixed: ArcSwap<BrokerConfig>,
    /// The same under the dynamic values.
    now: ArcSwap<BrokerConfig>,
    /// The dynamic values; held while either of the two above is exchanged.
    dynamic: Mutex<Dynamic>,
}

/// The dynamic values of this broker and of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Dynamic {
    node: Option<Arc<ConfigMap>>,
    cluster: Option<Arc<ConfigMap>>,
}

impl Dynamic {
    fn of(image: &MetadataImage, node: NodeId) -> Self {
        Self {
            node: image.configs(&ConfigResource::broker(node)).cloned(),
            cluster: image.configs(&ConfigResource::default_broker()).cloned(),
        }
    }

    fn configs(&self) -> DynamicConfigs<'_> {
        DynamicConfigs { node: self.node.as_deref(), cluster: self.cluster.as_deref() }
    }
}

/// One key whose value in force is another now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: &'static str,
    /// What was in force, if anything; a secret is masked.
    pub before: Option<String>,
    /// What is.
    pub after: Option<String>,
    /// Who says so.
    pub origin: Origin,
}

impl LiveConfig {
    /// A broker's configuration before anything dynamic is known.
    #[must_use]
    pub fn new(config: Arc<BrokerConfig>) -> Self {
        let shared = Shared {
            fixed: ArcSwap::new(Arc::clone(&config)),
            now: ArcSwap::new(config),
            dynamic: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The configuration in force. Not to be held for long: it does not change any more.
    #[must_use]
    pub fn now(&self) -> Arc<BrokerConfig> {
        self.shared.now.load_full()
    }

    /// The same for a look on a hot path.
    #[must_use]
    pub fn peek(&self) -> Guard<Arc<BrokerConfig>> {
        self.shared.now.load()
    }

    /// What file, environment and command line say, without anything dynamic: for those who describe.
    #[must_use]
    pub fn fixed(&self) -> Arc<BrokerConfig> {
        self.shared.fixed.load_full()
    }

    /// Takes over the dynamic values of an image, and says which keys have another value now.
    ///
    /// # Errors
    /// When the values contradict each other, as those of another version may: the configuration stays as it is.
    pub fn follow(&self, image: &MetadataImage, node: NodeId) -> Result<Vec<Change>, UnusableConfig> {
        let mut dynamic = self.shared.dynamic.lock();
        let new = Dynamic::of(image, node);
        if *dynamic == new {
            return Ok(Vec::new());
        }
        *dynamic = new;
        self.exchange(&dynamic, None)
    }

    /// Takes over what a file now says, as far as it can be changed while the broker runs, and says which keys have
    /// another value now.
    ///
    /// # Errors
    /// When the values contradict the dynamic ones: the configuration stays as it is.
    pub fn reload(&self, file: &BrokerConfig) -> Result<Vec<Change>, UnusableConfig> {
        let dynamic = self.shared.dynamic.lock();
        let fixed = self.fixed().with_reloaded(file)?;
        self.exchange(&dynamic, Some(fixed))
    }

    fn exchange(
        &self,
        dynamic: &Dynamic,
        new_fixed: Option<BrokerConfig>,
    ) -> Result<Vec<Change>, UnusableConfig> {
        let fixed = new_fixed.map_or_else(|| self.fixed(), Arc::new);
        let new = Arc::new(fixed.with_dynamic(dynamic.configs())?);
        self.shared.fixed.store(fixed);
        let old = self.shared.now.swap(Arc::clone(&new));
        Ok(changes(&old, &new))
    }
}

/// The keys whose texts differ.
fn changes(old: &BrokerConfig, new: &BrokerConfig) -> Vec<Change> {
    let change = |property: &super::Property| {
        let (before, after) = (old.settings().text(property.name), new.settings().text(property.name));
        let shown = |text: Option<&str>| text.map(|text| property.shown(text).to_owned());
        (before != after).then(|| Change {
            key: property.name,
            before: shown(before),
            after: shown(after),
            origin: new.settings().origin(property.name),
        })
    };
    super::broker_properties().iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(pairs: &[(&str, &str)]) -> LiveConfig {
        LiveConfig::new(Arc::new(BrokerConfig::from_pairs(pairs.iter().copied()).unwrap()))
    }

    fn image(records: &[(&str, &str, &str)]) -> MetadataImage {
        let mut builder = ottla_cluster::ImageBuilder::default();
        let record = |(name, key, value): &(&str, &str, &str)| {
            ottla_protocol::metadata::MetadataRecord::Config(ottla_protocol::metadata::ConfigRecord {
                resource_type: ConfigResource::BROKER,
                resource_name: (*name).into(),
                name: (*key).into(),
                value: Some((*value).into()),
            })
        };
        let records: Vec<_> = records.iter().map(record).collect();
        builder
            .replay_batch(ottla_model::Offset::ZERO, ottla_model::LeaderEpoch::new(1), 0, &records)
            .unwrap();
        builder.current().clone()
    }

    #[test]
    fn the_nodes_value_counts_before_the_clusters_and_that_before_the_files() {
        let live = live(&[("message.max.bytes", "1000")]);
        let node = NodeId::new(1);
        assert_eq!(live.follow(&image(&[]), node).unwrap(), []);
        let changes = live.follow(&image(&[("", "message.max.bytes", "2000")]), node).unwrap();
        let change = Change {
            key: "message.max.bytes",
            before: Some("1000".into()),
            after: Some("2000".into()),
            origin: Origin::Cluster,
        };
        assert_eq!(changes, [change]);
        let both = image(&[("", "message.max.bytes", "2000"), ("1", "message.max.bytes", "3000")]);
        assert_eq!(live.follow(&both, node).unwrap()[0].origin, Origin::Node);
        assert_eq!(live.now().settings().text("message.max.bytes"), Some("3000"));
        assert_eq!(live.fixed().settings().text("message.max.bytes"), Some("1000"));
        assert_eq!(live.follow(&both, node).unwrap(), []);
        live.follow(&image(&[]), node).unwrap();
        assert_eq!(live.now().settings().text("message.max.bytes"), Some("1000"));
    }

    #[test]
    fn what_is_no_value_or_not_dynamic_counts_as_not_there() {
        let live = live(&[]);
        let odd =
            image(&[("1", "message.max.bytes", "many"), ("1", "num.partitions", "7"), ("1", "no.such", "1")]);
        assert_eq!(live.follow(&odd, NodeId::new(1)).unwrap(), []);
    }

    #[test]
    fn a_reloaded_file_changes_what_can_be_changed() {
        let live = live(&[("num.io.threads", "4"), ("num.partitions", "2")]);
        let file = BrokerConfig::from_pairs([("num.io.threads", "5"), ("num.partitions", "3")]).unwrap();
        let keys: Vec<_> = live.reload(&file).unwrap().iter().map(|change| change.key).collect();
        assert_eq!(keys, ["num.io.threads"]);
        assert_eq!(live.now().network.blocking_threads, 5);
        assert_eq!(live.now().topics.default_partitions, 2);
    }
}
