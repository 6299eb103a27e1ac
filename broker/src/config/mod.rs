//! Configuration: one table of Kafka's broker properties and one of its topic properties, read once into typed
//! structs. The layers a value can come from are `settings.rs`'s; nothing below this module ever sees a key.

pub mod broker;
mod broker_table;
pub mod client_metrics;
mod conflicts;
pub mod describe;
pub mod group_table;
mod groups;
mod listener;
mod live;
mod node_rules;
mod obsolete;
mod properties_file;
pub mod property;
mod rules;
mod settings;
mod sight;
pub mod topic;
mod transactions;
mod units;

pub use broker::{BrokerConfig, CleanerConfig, Sources, StorageConfig, UnusableConfig};
pub use describe::{
    DescribedConfig, DescribedSynonym, DynamicConfigs, Source, describe_broker, describe_broker_defaults,
    describe_client_metrics, describe_group, describe_logger, describe_topic,
};
pub use groups::{GroupsConfig, OffsetsTopic};
pub use listener::{HostPort, ListenerConfig};
pub use live::{Change, LiveConfig};
pub use property::{InvalidValue, Property};
pub use rules::Tables;
pub use settings::{Origin, Settings, Warning};
pub use sight::{Compat, HttpConfig, LogFormat, LogOutput};
pub use topic::{TopicConfig, TopicConfigError};
pub use transactions::{TransactionsConfig, TransactionsTopic};

/// Every property of a broker, in the order of their names.
#[must_use]
pub fn broker_properties() -> &'static [Property] {
    broker_table::BROKER_PROPERTIES
}
